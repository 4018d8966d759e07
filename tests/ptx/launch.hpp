// SPDX-License-Identifier: MIT
// Runs kernels of PTX on the host, with the checks of a sanitizer.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ptx/finding.hpp"
#include "ptx/global_memory.hpp"
#include "ptx/instruction.hpp"

namespace cordage_test::ptx {

struct launch_sizes {
    size3 blocks;
    size3 threads;  // of a block
    std::size_t shared_bytes = 0;
};

/// Runs a kernel; blocks of `memory` are what it may access besides its argument and shared memory.
/// @returns what an instruction did wrong, in the order of occurrence; each instruction once for each kind of fault
/// @throws error  if an argument's size differs from the kernel's, naming both, or a block has too many threads
std::vector<finding> launch(const kernel_code& kernel, const launch_sizes& sizes,
                            const std::vector<std::span<const std::byte>>& arguments, const global_memory& memory,
                            u64 most_steps = u64{1} << 30);

}  // namespace cordage_test::ptx
