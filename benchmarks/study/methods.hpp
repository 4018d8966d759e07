// SPDX-License-Identifier: MIT
// The rows that are compared: how a model reads, and how the row's numbers or its weights come about.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/recipes.hpp"
#include "settings.hpp"

namespace demo {

/// The loss of copied and value tokens by a policy at learning.t_learned, on dev windows; what a search minimises.
struct policy_loss {
    std::function<double(const cordage::any_policy&)> of;
    index_t token_forwards;  ///< of one evaluation
};

/// What a search chose.
struct chosen_policy {
    cordage::any_policy policy;
    std::vector<double> point;  ///< the numbers that were searched
    index_t token_forwards;     ///< spent
};
using policy_search = std::function<chosen_policy(const policy_loss& loss, index_t budget)>;

/// One row of a table.
struct method {
    std::string name;
    reading reads;                                 ///< with the numbers that learning begins with
    std::optional<number_learning> learning = {};  ///< by gradient, over frozen weights
    policy_search search = {};                     ///< if there is one, it makes the policy
    std::optional<weight_tuning> tuning = {};  ///< whose weights and numbers the row has, in place of the first ones
    bool is_main = true;                       ///< of all models, not of the first few alone

    /// The name in letters, digits and underscores.
    std::string file_name() const;
};

/// The same of any name.
std::string file_name_of(const std::string& name);

/// The demo's rows, in the table's order. To compare a policy of your own, add it here.
std::vector<method> demo_methods(const settings& s);

/// The study's: the demo's, and more that were searched, learned or tuned, all of these at settings.budget().
std::vector<method> study_methods(const settings& s);

/// Those that settings name.
std::vector<method> rows_of(const settings& s);

/// Settings and the row's own on one line: results of equal lines are of one experiment.
std::string described(const settings& s, const method& how);

}  // namespace demo
