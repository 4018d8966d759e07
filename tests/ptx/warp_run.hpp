// SPDX-License-Identifier: MIT
// The lanes of a warp in lockstep, as long as they agree on the next instruction.
#pragma once

#include "ptx/warp.hpp"

namespace cordage_test::ptx {

/// Runs the warp until each of its lanes is at the block's barrier or has ended. Of the lanes that can go on, those
/// with the smallest instruction number do, until they come to another lane's: there, lanes that diverged meet again.
void run_warp(warp& w, u64 most_steps);

}  // namespace cordage_test::ptx
