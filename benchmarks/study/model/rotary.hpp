// SPDX-License-Identifier: MIT
// The position-dependent inputs of a forward pass: the rotation of q and k, and factors and penalties on scores.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "model/recipes.hpp"
#include "settings.hpp"

namespace demo {

/// How a layer rotates q and k. Gradients are computed for tensors that require them.
struct rotary {
    at::Tensor position_ids;        ///< [tokens] or [windows, tokens], int64 or float64
    at::Tensor inv_freq;            ///< [rotary_dim/2] float64
    at::Tensor attention_factor;    ///< [] float64, on cos and sin of q and of k
    at::Tensor score_factors = {};  ///< on scores, [1] or [heads] float32; undefined: 1
};

/// The rotations of a policy at t, differentiable in its numbers (laid out as in first_numbers): one for all layers, or
/// one for each layer.
std::vector<rotary> rotaries_at(const settings& s, const reading& how, const at::Tensor& numbers, double t,
                                const at::Tensor& position_ids);

/// Positions 0 ... tokens - 1.
at::Tensor true_positions(index_t tokens);

}  // namespace demo
