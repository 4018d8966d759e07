// SPDX-License-Identifier: MIT
// The operators rotate and rotate_backward, for tensors on any device, and the errors of all operators.
#pragma once

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <array>
#include <tuple>
#include <vector>

#include "cordage/host/aten/rotation.hpp"

namespace cordage_torch {

/// Runs body and converts errors of cordage to Python's ValueError.
template <class Body>
auto guarded(const Body& body) {
    try {
        return body();
    } catch (const cordage::error& wrong) {
        TORCH_CHECK_VALUE(false, wrong.what());
    }
}

namespace detail {

/// The gradient in its input's type and device; an empty tensor if it was not requested.
inline at::Tensor like(const at::Tensor& grad, const at::Tensor& input) {
    return grad.defined() ? grad.to(input.options()) : at::empty({0}, input.options());
}

/// Tensors [batch, heads, tokens, head_dim], if they are so, as [batch, tokens, heads, head_dim], or the reverse.
inline std::vector<at::Tensor> transposed_if(bool heads_first, at::TensorList all) {
    std::vector<at::Tensor> out = all.vec();
    for (at::Tensor& x : out) {
        if (heads_first && x.dim() == 4) x = x.transpose(1, 2);
    }
    return out;
}

}  // namespace detail

template <class Device>
std::vector<at::Tensor> rotate(at::TensorList x, const at::Tensor& position_ids, const at::Tensor& inv_freq,
                               const at::Tensor& attention_factor, bool interleaved, bool heads_first) {
    return guarded([&] {
        using namespace cordage;
        const auto by = aten::angles_of(position_ids, inv_freq, attention_factor);
        const auto seen = detail::transposed_if(heads_first, x);
        return detail::transposed_if(heads_first, interleaved
                                                      ? aten::rotation_forward<cordage::interleaved, Device>(seen, by)
                                                      : aten::rotation_forward<half_split, Device>(seen, by));
    });
}

/// grad_x, and the gradients to position_ids, inv_freq and attention_factor in their inputs' types and devices; empty
/// tensors if they were not requested.
using rotate_gradients = std::tuple<std::vector<at::Tensor>, at::Tensor, at::Tensor, at::Tensor>;

template <class Device>
rotate_gradients rotate_backward(at::TensorList grad_y, at::TensorList y, const at::Tensor& position_ids,
                                 const at::Tensor& inv_freq, const at::Tensor& attention_factor, bool interleaved,
                                 std::array<bool, 3> wanted, bool heads_first) {
    return guarded([&] {
        using namespace cordage;
        const auto by = aten::angles_of(position_ids, inv_freq, attention_factor);
        const aten::wanted_gradients behind{wanted[0], wanted[1], wanted[2]};
        const auto grads_seen = detail::transposed_if(heads_first, grad_y),
                   seen = detail::transposed_if(heads_first, y);
        auto grads = interleaved ? aten::rotation_backward<cordage::interleaved, Device>(grads_seen, seen, by, behind)
                                 : aten::rotation_backward<half_split, Device>(grads_seen, seen, by, behind);
        return rotate_gradients(detail::transposed_if(heads_first, grads.x),
                                detail::like(grads.position_ids, position_ids), detail::like(grads.inv_freq, inv_freq),
                                detail::like(grads.attention_factor, attention_factor));
    });
}

}  // namespace cordage_torch
