// SPDX-License-Identifier: MIT
// The rotation of libtorch's tensors on a GPU as an autograd function; for nvcc, beside host/aten/autograd.hpp.
#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include "cordage/host/aten/autograd.hpp"
#include "cordage/host/aten/rotation.cuh"

namespace cordage::aten {

/// As rotate, for x and position_ids on one GPU, on libtorch's current stream; waits for nothing, and a graph may be
/// captured (on_gpu).
///
/// @param x         float32, float16 or bfloat16
/// @param inv_freq  on the CPU, as aten::inv_freq_of makes it; so is its gradient, which waits for the stream
template <pairing Pairing>
at::Tensor cuda_rotate(const at::Tensor& x, const at::Tensor& position_ids, const at::Tensor& inv_freq,
                       double attention_factor = 1.0) {
    return detail::rotate_on<Pairing, on_gpu>(x, position_ids, inv_freq, attention_factor);
}

}  // namespace cordage::aten
