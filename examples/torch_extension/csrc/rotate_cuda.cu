// SPDX-License-Identifier: MIT
// The kernels of cordage::rotate for CUDA, on torch's current stream.
#include <torch/library.h>

#include "cordage/host/aten_rotation.cuh"
#include "turn_arguments.hpp"

namespace cordage_torch {

namespace {

using at::Tensor;
using tensors = std::vector<Tensor>;

tensors rotate(at::TensorList x, const Tensor& position_ids, const Tensor& inv_freq, const Tensor& attention_factor,
               bool interleaved) {
    return guarded([&] {
        const auto by = turn_by(position_ids, inv_freq, attention_factor);
        return interleaved ? cordage::aten::cuda_rotation_forward<cordage::interleaved>(x, by)
                           : cordage::aten::cuda_rotation_forward<cordage::half_split>(x, by);
    });
}

rotate_gradients rotate_backward(at::TensorList grad_y, at::TensorList y, const Tensor& position_ids,
                                 const Tensor& inv_freq, const Tensor& attention_factor, bool interleaved,
                                 std::array<bool, 3> wanted) {
    return guarded([&] {
        const auto by = turn_by(position_ids, inv_freq, attention_factor);
        const auto gradients = wanted_of(wanted);
        auto grads = interleaved ? cordage::aten::cuda_rotation_backward<cordage::interleaved>(grad_y, y, by, gradients)
                                 : cordage::aten::cuda_rotation_backward<cordage::half_split>(grad_y, y, by, gradients);
        return as_inputs(std::move(grads), position_ids, inv_freq, attention_factor);
    });
}

}  // namespace

TORCH_LIBRARY_IMPL(cordage, CUDA, m) {
    m.impl("rotate", &rotate);
    m.impl("rotate_backward", &rotate_backward);
}

}  // namespace cordage_torch
