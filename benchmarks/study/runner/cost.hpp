// SPDX-License-Identifier: MIT
// How much work a job is, roughly, in microseconds of one core; only the order of jobs and the time left rest on it.
#pragma once

#include "methods.hpp"
#include "settings.hpp"

namespace demo {

/// One token of a window through the model: all matrices, and attention to half the window on average.
inline double forward_cost(const settings& s, index_t window) {
    const double size = static_cast<double>(s.model.layers * s.model.width) / 512.0;
    return size * (25.0 + 0.02 * static_cast<double>(window));
}

inline double training_cost(const settings& s, const training_recipe& recipe, index_t steps) {
    const double share = recipe.weights_learn ? 3.0 : 2.2;  // without the weights' gradients a third is saved
    const index_t window = recipe.window_tokens > 0 ? recipe.window_tokens : s.longest() / 2;
    return share * forward_cost(s, window) * static_cast<double>(steps * s.tokens_per_step);
}

inline double evaluation_cost(const settings& s) {
    double cost = 0.0;
    for (const index_t ratio : s.ratios) {
        cost += forward_cost(s, ratio * s.train_length) * static_cast<double>(s.evaluated_blocks * s.longest());
    }
    return s.slides ? 2.0 * cost : cost;
}

inline double cost(const settings& s, const method& how) {
    if (!how.training) return evaluation_cost(s);
    const index_t steps = how.training->weights_learn ? s.continuing.steps : s.frozen_weights.steps;
    return evaluation_cost(s) + training_cost(s, *how.training, how.training->times_steps * steps);
}

}  // namespace demo
