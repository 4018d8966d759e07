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

inline cordage::aten::angle_tensors angles_of(const at::Tensor& position_ids, const at::Tensor& inv_freq,
                                              const at::Tensor& attention_factor) {
    if (attention_factor.numel() != 1 || attention_factor.scalar_type() != at::kDouble ||
        !attention_factor.device().is_cpu()) {
        throw cordage::value_error(
            cordage::message("rotate: attention_factor of type ", at::toString(attention_factor.scalar_type()),
                             " with ", attention_factor.numel(), " entries on ", attention_factor.device().str(),
                             " must be a float64 number on cpu"));
    }
    return {position_ids, inv_freq, attention_factor.item<double>()};
}

/// The gradient in its input's type and device; an empty tensor if it was not requested.
inline at::Tensor like(const at::Tensor& grad, const at::Tensor& input) {
    return grad.defined() ? grad.to(input.options()) : at::empty({0}, input.options());
}

}  // namespace detail

template <class Device>
std::vector<at::Tensor> rotate(at::TensorList x, const at::Tensor& position_ids, const at::Tensor& inv_freq,
                               const at::Tensor& attention_factor, bool interleaved) {
    return guarded([&] {
        using namespace cordage;
        const auto by = detail::angles_of(position_ids, inv_freq, attention_factor);
        return interleaved ? aten::rotation_forward<cordage::interleaved, Device>(x, by)
                           : aten::rotation_forward<half_split, Device>(x, by);
    });
}

/// grad_x, and the gradients to position_ids, inv_freq and attention_factor in their inputs' types and devices; empty
/// tensors if they were not requested.
using rotate_gradients = std::tuple<std::vector<at::Tensor>, at::Tensor, at::Tensor, at::Tensor>;

template <class Device>
rotate_gradients rotate_backward(at::TensorList grad_y, at::TensorList y, const at::Tensor& position_ids,
                                 const at::Tensor& inv_freq, const at::Tensor& attention_factor, bool interleaved,
                                 std::array<bool, 3> wanted) {
    return guarded([&] {
        using namespace cordage;
        const auto by = detail::angles_of(position_ids, inv_freq, attention_factor);
        const aten::wanted_gradients behind{wanted[0], wanted[1], wanted[2]};
        auto grads = interleaved ? aten::rotation_backward<cordage::interleaved, Device>(grad_y, y, by, behind)
                                 : aten::rotation_backward<half_split, Device>(grad_y, y, by, behind);
        return rotate_gradients(std::move(grads.x), detail::like(grads.position_ids, position_ids),
                                detail::like(grads.inv_freq, inv_freq),
                                detail::like(grads.attention_factor, attention_factor));
    });
}

}  // namespace cordage_torch
