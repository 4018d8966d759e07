// SPDX-License-Identifier: MIT
// Compiled once for each instruction set, as CORDAGE_C_KERNELS, by the name of its kernels. Nothing but kernels here.
#include "cordage/c/kernels.hpp"

constinit const cordage::c::kernels cordage::c::CORDAGE_C_KERNELS =
    cordage::c::kernels_of<cordage::backend::fastest>::table(CORDAGE_C_NAME);
