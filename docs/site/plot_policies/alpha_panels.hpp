// SPDX-License-Identifier: MIT
// The panels that all pictures of a policy share: alpha over t, and over the pairs.
#pragma once

#include <cordage/scaling/any_policy.hpp>
#include <string>
#include <vector>

#include "chart.hpp"

/// The model of every picture: heads of 128 lanes, trained on 4096 tokens.
inline constexpr cordage::rope_config pictured_model{
    .head_dim = 128, .rotary_dim = 128, .theta_base = 10000, .original_length = 4096};

/// What alpha's axis reaches down to, and how finely t goes from 1 to 16.
struct alpha_range {
    double lowest = 1.0 / 16;
    int steps_of_t = 64;
};

/// alpha_i(t) over t for five pairs, and m(t) dashed where there is one. Pairs at rest have no curve.
panel alpha_over_t(const std::string& title, const cordage::any_policy& policy, const alpha_range& range = {});

/// alpha_i(t) over the pairs at four t.
panel alpha_over_pairs(const std::string& title, const cordage::any_policy& policy, const alpha_range& range = {});

/// An axis of t = 1 ... 16, doubling.
axis axis_of_t();
