// SPDX-License-Identifier: MIT
// What a forward pass needs to turn q and k: positions and a basis, made by cordage from a policy at t.
#pragma once

#include <ATen/ATen.h>

#include "cordage/host/aten.hpp"
#include "cordage/scaling/any_policy.hpp"

namespace demo {

/// How a forward pass turns q and k.
struct rotary {
    at::Tensor position_ids;  ///< [tokens] or [windows, tokens]; int64 or float64
    at::Tensor inv_freq;      ///< [rotary_dim/2] float64; its gradient is wanted where it requires one
    double attention_factor;
};

/// The basis of a policy at t, differentiable in its parameters.
inline rotary rotary_at(const cordage::rope_config& config, const cordage::any_policy& policy,
                        const at::Tensor& policy_parameters, double t, const at::Tensor& position_ids) {
    return {position_ids, cordage::aten::inv_freq_of(policy, config, policy_parameters, t),
            policy.attention_factor(config, t)};
}

/// q or k [windows, tokens, heads, head_dim] turned: forward and backward are cordage's.
inline at::Tensor rotated(const at::Tensor& x, const rotary& turn) {
    return cordage::aten::rotate<cordage::half_split>(x, turn.position_ids, turn.inv_freq, turn.attention_factor);
}

}  // namespace demo
