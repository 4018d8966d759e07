// SPDX-License-Identifier: MIT
// The door for engines: a basis as plain numbers, its angles, and the rotation of q and k, forward and backward. No
// Eigen.
//
//   cordage::basis basis(inv_freq);                         // [rotary_dim/2] doubles, from a config or a file
//   cordage::exact_angles angles(basis, position_ids);      // any positions, no table
//   cordage::rotate_forward<cordage::half_split>(angles, cordage::in_place(q), cordage::in_place(k));
//
// `threads`, for hosts without a pool of their own, is in "cordage/core/threads.hpp", and included by itself.
// Works without exceptions and RTTI (-fno-exceptions -fno-rtti): an error then prints its message and aborts.
#pragma once

#include "cordage/angles/angle_source.hpp"   // exact_angles, float32_angles
#include "cordage/angles/axis_angles.hpp"    // axis_angles: M-RoPE, axial RoPE
#include "cordage/angles/cos_sin_table.hpp"  // cos_sin_table
#include "cordage/angles/cos_sin_view.hpp"   // cos_sin_view: a table from elsewhere
#include "cordage/angles/row_angles.hpp"     // row_angles: a basis for every row of the batch
#include "cordage/basis/basis.hpp"           // basis
#include "cordage/core/executor.hpp"         // serial, parallel_for
#include "cordage/core/operand.hpp"          // in_place, from_to, grad_through
#include "cordage/core/pairing.hpp"          // half_split, interleaved
#include "cordage/core/view.hpp"             // heads_view, position_view
#include "cordage/positions/sections.hpp"    // contiguous_axes, interleaved_axes
#include "cordage/rotate/backward.hpp"       // rotate_backward
#include "cordage/rotate/forward.hpp"        // rotate_forward, rotate_inverse
#include "cordage/rotate/rebase.hpp"         // rebase, for cached keys
#include "cordage/version.hpp"
