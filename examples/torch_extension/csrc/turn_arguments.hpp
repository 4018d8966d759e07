// SPDX-License-Identifier: MIT
// Arguments that the operators of all devices share, and their errors.
#pragma once

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <array>
#include <tuple>
#include <vector>

#include "cordage/host/aten_rotation.hpp"

namespace cordage_torch {

/// Runs body; what cordage throws becomes a ValueError of Python's.
template <class Body>
auto guarded(const Body& body) {
    try {
        return body();
    } catch (const cordage::error& wrong) {
        TORCH_CHECK_VALUE(false, wrong.what());
    }
}

inline cordage::aten::turn turn_by(const at::Tensor& position_ids, const at::Tensor& inv_freq,
                                   const at::Tensor& attention_factor) {
    return {position_ids, inv_freq.cpu(), attention_factor.item<double>()};
}

inline cordage::aten::wanted_gradients wanted_of(const std::array<bool, 3>& wanted) {
    return {wanted[0], wanted[1], wanted[2]};
}

/// grad_x, and the gradients to position_ids, inv_freq and attention_factor in their inputs' types and places; empty
/// where they were not wanted.
using rotate_gradients = std::tuple<std::vector<at::Tensor>, at::Tensor, at::Tensor, at::Tensor>;

inline rotate_gradients as_inputs(cordage::aten::turn_gradients&& grads, const at::Tensor& position_ids,
                                  const at::Tensor& inv_freq, const at::Tensor& attention_factor) {
    const auto like = [](const at::Tensor& grad, const at::Tensor& input) {
        return grad.defined() ? grad.to(input.options()) : at::empty({0}, input.options());
    };
    return {std::move(grads.x), like(grads.position_ids, position_ids), like(grads.inv_freq, inv_freq),
            like(grads.attention_factor, attention_factor)};
}

}  // namespace cordage_torch
