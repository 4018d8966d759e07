// SPDX-License-Identifier: MIT
// The rows that are compared, over frozen weights: a policy each, and how its numbers come about.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cordage/scaling/any_policy.hpp"
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

/// One row of a table. A window of length n is read at t = max(1, n / L).
struct method {
    std::string name;
    cordage::any_policy policy;  ///< with the numbers that learning begins with
    bool learns = false;         ///< by gradient, at learning.t_learned
    index_t fixed = 0;           ///< so many of the policy's last numbers do not learn
    policy_search search = {};   ///< if there is one, it makes the policy

    /// The name in letters, digits and underscores.
    std::string file_name() const;
};

/// The demo's rows, in the table's order. To compare a policy of your own, add it here.
std::vector<method> demo_methods(const settings& s);

/// The study's: the demo's, and more that were searched or learned, all of these at settings.budget().
std::vector<method> study_methods(const settings& s);

/// The row that a learned basis has to beat: by parts whose ramp, interpolation and temperature are chosen for the
/// model.
inline constexpr const char* tuned_closed_form = "by parts, searched";

}  // namespace demo
