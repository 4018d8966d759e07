// SPDX-License-Identifier: MIT
// What a forward pass knows of positions: how a layer turns q and k, and what else it does to scores.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "model/recipes.hpp"
#include "settings.hpp"

namespace demo {

/// How a layer turns q and k. Gradients are wanted where a tensor requires one.
struct rotary {
    at::Tensor position_ids;        ///< [tokens] or [windows, tokens], int64 or float64
    at::Tensor inv_freq;            ///< [rotary_dim/2] float64
    at::Tensor attention_factor;    ///< [] float64, on cos and sin of q and of k
    at::Tensor score_factors = {};  ///< on scores, [1] or [heads] float32; undefined: 1
    at::Tensor alibi_slopes = {};   ///< of a penalty on scores by distance, [heads] float32; undefined: none
};

/// A policy at t, made by cordage, and differentiable in its numbers, laid out as in first_numbers: one for all layers,
/// or one for each.
std::vector<rotary> rotaries_at(const settings& s, const reading& how, const at::Tensor& numbers, double t,
                                const at::Tensor& position_ids);

/// Positions 0 ... tokens - 1.
at::Tensor true_positions(index_t tokens);

}  // namespace demo
