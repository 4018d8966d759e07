// SPDX-License-Identifier: MIT
// The rows of a comparison: how a model reads a window, and how the row's numbers are obtained.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/recipes.hpp"
#include "search/objective.hpp"
#include "settings.hpp"

namespace demo {

/// A search for the numbers of a policy.
struct policy_search {
    std::size_t numbers;  ///< of a point
    std::function<cordage::any_policy(std::span<const double> point)> policy_at;
    std::function<search_result(const objective& loss, index_t budget)> find;
};

/// One row of a table.
struct method {
    std::string name;
    reading reads;                              ///< with the initial numbers
    std::optional<policy_search> search = {};   ///< chooses the policy
    std::optional<learned_t> learning = {};     ///< by gradient, over frozen weights; after a search, of its policy
    scored_tokens scored = scored_tokens::all;  ///< whose loss both minimise

    /// Whether numbers are searched or learned for each model.
    bool finds_numbers() const { return search || learning; }

    /// What the search may spend, in token-forwards: all, or half if numbers learn after it.
    index_t search_budget(const settings& s) const { return learning ? s.budget() / 2 : s.budget(); }

    /// The policy of a result: `found` are the point of the search, if there is one, and the numbers that learned. Not
    /// of numbers of layers' or heads' own.
    cordage::any_policy policy_of(std::span<const double> found) const;

    /// The name with other characters than letters, digits and underscores replaced.
    std::string file_name() const;
};

/// The same for any name.
std::string file_name_of(const std::string& name);

/// The study's rows, in the tables' order; searched and learned ones have the budget settings.budget(). To
/// compare a policy of your own, add it to the first of them.
std::vector<method> rows_of(const settings& s);

/// Settings and those of the row on one line. Results with equal lines belong to the same experiment.
std::string described(const settings& s, const method& how);

}  // namespace demo
