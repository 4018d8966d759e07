// SPDX-License-Identifier: MIT
// What the experiments compare: one row a method, how it trains and how it is evaluated.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cordage/positions/sampler.hpp"
#include "cordage/scaling/any_policy.hpp"
#include "cordage/schedule/schedules.hpp"
#include "model/batches.hpp"
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
    index_t times_steps = 1;  ///< so many times the steps of the other rows
};

/// One row of a table.
struct method {
    std::string name;
    cordage::any_policy policy;
    std::optional<training_recipe> training = {};            ///< nothing: evaluated as it starts
    cordage::any_schedule schedule = cordage::continuous{};  ///< the t of a window's length in evaluation
    std::string starts_from = "";  ///< the row whose weights, and without training whose basis too, it begins with;
                                   ///< empty: the pretrained model's
    bool has_alibi = false;        ///< ALiBi's penalty on the scores
    bool has_log_scaling = false;  ///< max{1, log_L(length)} on the scores in evaluation

    /// The name in letters, digits and underscores.
    std::string file_name() const;
};

/// The demo's rows, in the table's order. To compare a policy of your own, add it to closed_forms and its name here.
std::vector<method> demo_methods(const settings& s);

/// Every row of the replication study, the demo's among them.
std::vector<method> all_methods(const settings& s);

/// The row of that name. @throws std::runtime_error  if there is none
const method& find(const std::vector<method>& rows, const std::string& name);

/// How the model itself comes about: L tokens, true positions, no scaling.
method pretraining(const settings& s);

}  // namespace demo
