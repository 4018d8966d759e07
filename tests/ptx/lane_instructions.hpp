// SPDX-License-Identifier: MIT
// Instructions between the lanes of a warp: shuffles, votes, matches and bar.warp.sync. `lanes` are those of the mask
// of members that run one together.
#pragma once

#include "ptx/instruction.hpp"

namespace cordage_test::ptx {

/// Operands: result, value, lane or distance, clamp and segment, members, predicate; variant 'u'p, 'd'own, 'b'fly,
/// 'i'dx.
void shuffle(const instruction& i, warp& w, u32 lanes);
/// Operands: result, predicate; variant 'a'll, an'y', 'u'ni or 'b'allot.
void vote(const instruction& i, warp& w, u32 lanes);
/// Operands: result, value, and a predicate of match.all; variant 'y' for any or 'a' for all.
void match(const instruction& i, warp& w, u32 lanes);
void warp_barrier(const instruction& i, warp& w, u32 lanes);
void active_mask(const instruction& i, warp& w, u32 lanes);

}  // namespace cordage_test::ptx
