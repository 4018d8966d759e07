// SPDX-License-Identifier: MIT
// What a forward pass knows of positions: how q and k turn, made by cordage from a policy at t, and how scores change.
#pragma once

#include <ATen/ATen.h>

#include "cordage/attention/alibi.hpp"
#include "cordage/host/aten/autograd.hpp"
#include "methods.hpp"

namespace demo {

/// Where models and windows are.
inline at::Device device_of(const settings& s) { return at::Device(s.device); }

/// How a forward pass turns q and k. Tensors are on the model's device, but for inv_freq.
struct rotary {
    at::Tensor position_ids;  ///< [tokens] or [windows, tokens]; int64 or float64
    at::Tensor inv_freq;      ///< [rotary_dim/2] float64; its gradient is wanted where it requires one
    double attention_factor;
    double score_factor = 1.0;   ///< on q k^T / sqrt(head_dim), besides the attention factor
    at::Tensor score_bias = {};  ///< [heads, tokens, tokens] float32, or undefined
};

/// A method's way at t, differentiable in its policy's parameters.
///
/// @param position_ids  [tokens] or [windows, tokens]
inline rotary rotary_at(const settings& s, const method& how, const at::Tensor& policy_parameters, double t,
                        const at::Tensor& position_ids) {
    rotary turn{position_ids.to(device_of(s)), cordage::aten::inv_freq_of(how.policy, s.rope(), policy_parameters, t),
                how.policy.attention_factor(s.rope(), t)};
    if (how.has_alibi) {
        const auto tokens = position_ids.size(-1);
        const std::vector<double> bias = cordage::alibi_bias(cordage::alibi_slopes(s.model.heads), tokens, tokens);
        turn.score_bias = at::tensor(bias, at::kFloat).view({s.model.heads, tokens, tokens}).to(device_of(s));
    }
    return turn;
}

#ifdef CORDAGE_DEMO_CUDA
at::Tensor rotated_on_gpu(const at::Tensor& x, const rotary& turn);
#endif

/// q or k [windows, tokens, heads, head_dim] turned: forward and backward are cordage's.
inline at::Tensor rotated(const at::Tensor& x, const rotary& turn) {
#ifdef CORDAGE_DEMO_CUDA
    if (x.is_cuda()) return rotated_on_gpu(x, turn);
#endif
    return cordage::aten::rotate<cordage::half_split>(x, turn.position_ids, turn.inv_freq, turn.attention_factor);
}

}  // namespace demo
