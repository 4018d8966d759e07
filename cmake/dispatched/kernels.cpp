// SPDX-License-Identifier: MIT
// Compiled once for each instruction set, as CORDAGE_KERNELS. Nothing but kernels here.
#include "cordage/backend/kernel_table.hpp"

constinit const cordage::backend::kernel_table cordage::backend::CORDAGE_KERNELS =
    cordage::backend::kernels_of<xsimd::default_arch>::table(CORDAGE_KERNELS_NAME);
