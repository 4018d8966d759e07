// SPDX-License-Identifier: MIT
// Runs one block: its warps one after another, each until all of its lanes are at the barrier or have ended.
#pragma once

#include <vector>

#include "ptx/warp.hpp"

namespace cordage_test::ptx {

/// The warps of a block of the launch, to run each of its blocks with.
std::vector<warp> warps_of(launch_state& launch);

/// Runs launch.block. A warp that runs more than most_steps instructions between two barriers is ended as endless.
void run_block(launch_state& launch, std::vector<warp>& warps, u64 most_steps);

}  // namespace cordage_test::ptx
