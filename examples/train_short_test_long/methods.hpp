// SPDX-License-Identifier: MIT
// What the experiment compares: one row a method, how it trains and how it is evaluated.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "batches.hpp"
#include "cordage/positions/sampler.hpp"
#include "cordage/scaling/any_policy.hpp"
#include "settings.hpp"

namespace demo {

/// The length ratio t of one training step.
using ratio_sampler = std::function<double(generator&)>;

/// The positions of one training sequence at that t; an empty function means the true ones, 0, 1, 2 ...
using position_sampler = std::function<std::vector<double>(generator&, const cordage::sampled_range&)>;

/// How a method continues from the pretrained model.
struct training_recipe {
    bool weights_learn;     ///< the model's weights too, or a learned policy's parameters alone
    index_t window_tokens;  ///< tokens of a training sequence; 0: t * L
    ratio_sampler t;
    position_sampler positions;
    double basis_rate = 0.0;  ///< Adam's, of a learned policy's parameters
};

/// One row of the table.
struct method {
    std::string name;
    cordage::any_policy policy;
    std::optional<training_recipe> training;  ///< nothing: evaluated as pretrained
    double t_min = 1.0;                       ///< evaluated at t = max(t_min, length / L)
    std::vector<std::string> compared_with;   ///< the rows whose difference to this one the report spells out

    /// The name in letters, digits and underscores.
    std::string file_name() const;
};

/// All rows, in the table's order. To compare a policy of your own, add one.
std::vector<method> methods(const settings& s);

/// How the model itself comes about: L tokens, true positions, no scaling.
method pretraining(const settings& s);

}  // namespace demo
