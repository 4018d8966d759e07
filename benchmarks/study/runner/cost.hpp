// SPDX-License-Identifier: MIT
// Rough cost of a job in microseconds of one core; used only to order jobs and to estimate the remaining time.
#pragma once

#include "methods.hpp"
#include "settings.hpp"

namespace demo {

/// Cost of one token of a window: all matrices, and attention to half the window on average.
inline double forward_cost(const settings& s, index_t window) {
    const double size = static_cast<double>(s.model.layers * s.model.width) / 512.0;
    return size * (15.0 + 0.11 * static_cast<double>(window));
}

inline double pretraining_cost(const settings& s) {
    const index_t tokens = s.pretraining.steps * s.pretraining.tokens_per_step;
    return 3.0 * forward_cost(s, s.train_length) * static_cast<double>(tokens);
}

inline double evaluation_cost(const settings& s) {
    double cost = 0.0;
    for (const index_t ratio : s.ratios) {
        const index_t length = ratio * s.train_length;
        cost += forward_cost(s, length) * static_cast<double>(s.windows_at(ratio) * length);
    }
    return cost;
}

inline double learning_cost(const settings& s, const method& how) {
    return how.finds_numbers() ? forward_cost(s, s.learned_length()) * static_cast<double>(s.budget()) / 2.0 : 0.0;
}

}  // namespace demo
