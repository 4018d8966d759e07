// SPDX-License-Identifier: MIT
// What the assembler may make of a kernel's products and sums.
#pragma once

#include <vector>

#include "ptx/instruction.hpp"

namespace cordage_test::ptx {

/// The registers that each instruction of a kernel writes, and whether labels stand before it.
struct definitions {
    std::vector<u32> registers;
    bool begins_block = false;
};

/// add and sub of a mul's result, all without .rn, become fma: PTX allows it, and assemblers do it. Kernels must be
/// right either way; this is the way in which the host's code differs from theirs. Within straight code only.
void contract(kernel_code& kernel, const std::vector<definitions>& of_code);

}  // namespace cordage_test::ptx
