// SPDX-License-Identifier: MIT
// What a forward pass knows of positions: how q and k are rotated, made by cordage from a policy at t.
#pragma once

#include <ATen/ATen.h>

#include "cordage/host/aten/autograd.hpp"
#include "cordage/scaling/any_policy.hpp"
#include "settings.hpp"

namespace demo {

/// Where models and windows are.
inline at::Device device_of(const settings& s) { return at::Device(s.device); }

/// How a forward pass rotates q and k.
struct rotary {
    at::Tensor position_ids;      ///< [tokens] int64, on the model's device
    at::Tensor inv_freq;          ///< [rotary_dim/2] float64; its gradient is wanted where it requires one
    at::Tensor attention_factor;  ///< [] float64, on cos and sin of q and of k; likewise
};

/// A policy at t on positions 0 ... tokens - 1, differentiable in its parameters [count] float64.
inline rotary rotary_at(const settings& s, const cordage::any_policy& policy, const at::Tensor& parameters, double t,
                        index_t tokens) {
    const auto [inv_freq, attention_factor] = cordage::aten::basis_of(policy, s.rope(), parameters, t);
    return {at::arange(tokens, at::kLong).to(device_of(s)), inv_freq, attention_factor};
}

}  // namespace demo
