// SPDX-License-Identifier: MIT
// Compiled once for each instruction set, as CORDAGE_C_KERNELS. Nothing but kernels here.
#include "cordage/c/kernels.hpp"

constinit const cordage::c::kernels cordage::c::CORDAGE_C_KERNELS =
    cordage::c::kernels_of<cordage::backend::fastest, CORDAGE_C_DOUBLES>::table(CORDAGE_C_NAME);
