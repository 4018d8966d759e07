// SPDX-License-Identifier: MIT
// The rotation of libtorch's tensors on a GPU as an autograd function; for nvcc, beside host/aten.hpp.
#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include "cordage/host/aten.hpp"
#include "cordage/host/aten_rotation.cuh"

namespace cordage::aten {

namespace detail {

struct on_cuda {
    template <pairing Pairing>
    static std::vector<at::Tensor> forward(at::TensorList x, const turn& by) {
        return cuda_rotation_forward<Pairing>(x, by);
    }
    template <pairing Pairing>
    static turn_gradients backward(at::TensorList grad_y, at::TensorList y, const turn& by,
                                   const wanted_gradients& wanted) {
        return cuda_rotation_backward<Pairing>(grad_y, y, by, wanted);
    }
};

}  // namespace detail

/// As rotate, for x and position_ids on one GPU, on libtorch's current stream.
///
/// @param x         float32, float16 or bfloat16
/// @param inv_freq  on the CPU, as aten::inv_freq_of makes it; so is its gradient, which waits for the stream
template <pairing Pairing>
at::Tensor cuda_rotate(const at::Tensor& x, const at::Tensor& position_ids, const at::Tensor& inv_freq,
                       double attention_factor = 1.0) {
    return detail::rotation<Pairing, detail::on_cuda>::apply(x, position_ids, inv_freq, attention_factor);
}

}  // namespace cordage::aten
