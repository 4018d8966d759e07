// SPDX-License-Identifier: MIT
// The rotation of libtorch's tensors on a GPU as an autograd function; for nvcc, beside host/aten/autograd.hpp.
#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include "cordage/host/aten/autograd.hpp"
#include "cordage/host/aten/rotation.cuh"

namespace cordage::aten {

/// As rotate, for x and position_ids on one GPU, on libtorch's current stream; does not synchronise, and may be
/// captured in a graph (on_gpu).
///
/// @param x         float32, float16 or bfloat16
/// @param inv_freq, attention_factor  on the GPU, or on the CPU, as returned by aten::basis_of: their gradients are
/// then
///                                    returned on the CPU, after waiting for the stream
template <pairing Pairing>
at::Tensor cuda_rotate(const at::Tensor& x, const at::Tensor& position_ids, const at::Tensor& inv_freq,
                       double attention_factor = 1.0) {
    return detail::rotate_on<Pairing, on_gpu>(x, position_ids, inv_freq, attention_factor);
}
/// As above, with attention_factor a tensor [] float64, on the CPU or, with inv_freq, on the GPU, which may have a
/// gradient.
template <pairing Pairing>
at::Tensor cuda_rotate(const at::Tensor& x, const at::Tensor& position_ids, const at::Tensor& inv_freq,
                       const at::Tensor& attention_factor) {
    return detail::rotate_on<Pairing, on_gpu>(x, position_ids, inv_freq, attention_factor);
}

}  // namespace cordage::aten
