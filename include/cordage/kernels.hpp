// SPDX-License-Identifier: MIT
// For engines: a basis as plain numbers, its angles, and the rotation of q and k, forward and backward. No Eigen.
//
//   cordage::basis basis(inv_freq);                         // [rotary_dim/2] doubles, from a config or a file
//   cordage::exact_angles angles(basis, position_ids);      // any positions, no table
//   cordage::rotate_forward<cordage::half_split>(angles, cordage::in_place(q), cordage::in_place(k));
//
// The formulas alone, on values in registers, are in cordage/pair/, for kernels of your own (docs/kernels.md).
// `threads`, a thread pool for hosts without one, is in "cordage/core/threads.hpp"; include it where it is used.
// Works without exceptions and RTTI (-fno-exceptions -fno-rtti): an error then prints its message and aborts.
#pragma once

#include "cordage/angles/angle_difference.hpp"  // to - from
#include "cordage/angles/axis_angles.hpp"       // axis_angles: M-RoPE, axial RoPE
#include "cordage/angles/cos_sin_view.hpp"      // cos_sin_view: a table from elsewhere
#include "cordage/angles/exact_angles.hpp"      // exact_angles, float32_angles
#include "cordage/angles/free_angles.hpp"       // a + b, angles from a network
#include "cordage/angles/summed_axes.hpp"       // axes that rotate all pairs
#include "cordage/basis/basis.hpp"              // basis
#include "cordage/basis/basis_list.hpp"         // basis_list: a basis for each row or token
#include "cordage/core/executor.hpp"            // serial, loop_executor
#include "cordage/core/pairing.hpp"             // half_split, interleaved
#include "cordage/pair/format.hpp"              // float16, bfloat16, formats of your own
#include "cordage/positions/position_view.hpp"  // position_view
#include "cordage/positions/sections.hpp"       // contiguous_axes, interleaved_axes
#include "cordage/rotate/backward.hpp"          // rotate_backward
#include "cordage/rotate/cos_sin_table.hpp"     // cos_sin_table
#include "cordage/rotate/forward.hpp"           // rotate_forward, rotate_inverse, rebase
#include "cordage/tensors/block_scaled.hpp"     // mxfp8_e4m3, mxfp4, nvfp4
#include "cordage/tensors/ggml_blocks.hpp"      // q8_0, q4_0
#include "cordage/tensors/group_formats.hpp"    // scaled_bytes
#include "cordage/tensors/hadamard.hpp"         // hadamard
#include "cordage/tensors/heads_view.hpp"       // heads_view, in_slots, in_blocks
#include "cordage/tensors/lane_groups.hpp"      // group_major
#include "cordage/tensors/operand.hpp"          // in_place, from_to, grad_through
#include "cordage/version.hpp"
