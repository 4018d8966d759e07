// SPDX-License-Identifier: MIT
// The rows of a comparison: how a model reads a window, and how the row's numbers or weights are obtained.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/recipes.hpp"
#include "settings.hpp"

namespace demo {

/// The objective of a search: the loss of copied and value tokens on dev windows for a policy at learning.t_learned.
struct policy_loss {
    std::function<double(const cordage::any_policy&)> of;
    index_t token_forwards;  ///< cost of one evaluation
};

/// The result of a search.
struct chosen_policy {
    cordage::any_policy policy;
    std::vector<double> point;  ///< the numbers that were searched
    index_t token_forwards;     ///< spent
};
using policy_search = std::function<chosen_policy(const policy_loss& loss, index_t budget)>;

/// One row of a table.
struct method {
    std::string name;
    reading reads;                                 ///< with the initial numbers
    std::optional<number_learning> learning = {};  ///< by gradient, over frozen weights
    policy_search search = {};                     ///< if set, it chooses the policy
    std::optional<weight_tuning> tuning = {};      ///< if set, replaces weights and numbers by tuned ones
    bool is_main = true;                           ///< evaluated on all models, else on the first few only

    /// The name with other characters than letters, digits and underscores replaced.
    std::string file_name() const;
};

/// The same for any name.
std::string file_name_of(const std::string& name);

/// The demo's rows, in the table's order. To compare a policy of your own, add it here.
std::vector<method> demo_methods(const settings& s);

/// The study's rows: the demo's and further searched, learned or tuned ones, each with the budget settings.budget().
std::vector<method> study_methods(const settings& s);

/// The rows selected by settings.rows.
std::vector<method> rows_of(const settings& s);

/// Settings and those of the row on one line. Results with equal lines belong to the same experiment.
std::string described(const settings& s, const method& how);

}  // namespace demo
