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

/// Which numbers differ between layers or heads: none; of each head an exponent e, which multiplies its scores by
/// tau(t)^e with the tau of log scaling, in addition to the policy's temperature; or all numbers of the policy, by
/// layer.
enum class own_numbers { none, temperature_of_head, all_of_layer };

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

/// The tokens whose mean loss a search or learning minimises: all that can be predicted, which any text has; or copies
/// and values, which only a text of known tasks has.
enum class scored_tokens { all, copies_and_values };

/// The t of the steps that learn a row's numbers with frozen weights, by Adam until settings.budget() is spent:
/// log-uniform between two bounds.
struct learned_t {
    double least, most;
};

/// The windows of one step; the number of tokens is about the same for every length.
struct learning_step {
    double t;
    index_t length, windows;
    index_t token_forwards() const { return 3 * length * windows; }  ///< a gradient step counts 3
};
learning_step draw_step(generator& draw, const settings& s, const learned_t& range);

/// These settings on one line, appended to that of `settings`. Results with equal lines belong to the same experiment.
/// Empty for defaults.
std::string described(const settings& s, const learned_t& t);
std::string described(const settings& s, const reading& how);

}  // namespace demo
