// SPDX-License-Identifier: MIT
// Settings of a row for training and evaluation: how it reads windows and learns its numbers. Without
// libtorch.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cordage/positions/sampler.hpp"
#include "cordage/scaling/any_policy.hpp"
#include "cordage/schedule/schedules.hpp"
#include "settings.hpp"

namespace demo {

/// Which numbers differ between layers or heads: none; an exponent e, which multiplies scores by tau(t)^e with the tau
/// of log scaling, in addition to the policy's temperature; or all numbers of the policy, by layer.
enum class own_numbers { none, temperature_of_layer, temperature_of_head, all_of_layer };

/// How a model reads a window: a policy, and the schedule that gives t for the window's length.
struct reading {
    cordage::any_policy policy;
    cordage::any_schedule schedule = cordage::continuous{};
    own_numbers own = own_numbers::none;
    std::vector<double> numbers = {};  ///< laid out as first_numbers; empty: first_numbers
};

/// The initial numbers: the policy's parameters, one set for each layer if they differ by layer, then the exponents
/// (0), by layer and head.
std::vector<double> first_numbers(const settings& s, const reading& how);

/// The tokens whose loss is minimised: copies and values; all predictable tokens; predictable tokens in the window's
/// last quarter.
enum class learned_tokens { copies_and_values, all, last_quarter };

/// How a row's numbers are learned with frozen weights: steps of Adam until settings.budget() is spent.
struct number_learning {
    double t_least, t_most;  ///< range of t of a step, log-uniform; equal: fixed t
    double rate;             ///< decays to zero
    learned_tokens from = learned_tokens::copies_and_values;
    bool learns_temperature = true;  ///< the last two numbers
};

/// The values of settings.learning.
number_learning usual_learning(const settings& s);

/// The windows of one step; the number of tokens is about the same for every length.
struct learning_step {
    double t;
    index_t length, windows;
    index_t token_forwards() const { return 3 * length * windows; }  ///< a gradient step counts 3
};
learning_step draw_step(generator& draw, const settings& s, const number_learning& how);

/// These settings on one line, appended to that of `settings`. Results with equal lines belong to the same experiment.
/// Empty for defaults.
std::string described(const settings& s, const number_learning& how);
std::string described(const settings& s, const reading& how);

}  // namespace demo
