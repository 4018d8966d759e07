// SPDX-License-Identifier: MIT
// Includes kernels.hpp and its calls on a CUDA stream. Needs nvcc >= 12 and -std=c++20.
//
//   const auto words = cordage::device_words(basis);        // the caller copies them to the device
//   const cordage::device_basis b(memory, basis.pairs());
//   const cordage::device_angles<std::int32_t> angles(b, {position_ids, 1, tokens, 0});
//   cordage::rotate_forward<cordage::half_split>(cordage::on(stream), angles,
//                                                cordage::in_place(q), cordage::in_place(k));
#pragma once

#include "cordage/backend/cuda/basis_words.cuh"
#include "cordage/backend/cuda/device_basis.hpp"  // device_words, device_basis, device_angles, ...
#include "cordage/backend/cuda/general.cuh"
#include "cordage/backend/cuda/general_backward.cuh"
#include "cordage/backend/cuda/heads.cuh"
#include "cordage/backend/cuda/launch.cuh"  // on, cuda_error
#include "cordage/backend/cuda/rotation.cuh"
#include "cordage/backend/cuda/team_backward.cuh"
#include "cordage/kernels.hpp"
#include "cordage/rotate/cuda/backward.hpp"  // rotate_backward
#include "cordage/rotate/cuda/forward.hpp"   // rotate_forward, rotate_inverse, rebase
