// SPDX-License-Identifier: MIT
// Sums and counts by model and window, from which means and intervals are computed.
#pragma once

#include <vector>

#include "cordage/core/index.hpp"

namespace demo {

using cordage::index_t;

/// The observations of one model on one window: their sum and count.
struct cell {
    double sum = 0.0, count = 0.0;
};

/// Cells, [models, windows]: the same windows for every model. Its mean is over models, of each model's sum / count.
struct sample {
    sample(index_t all_models, index_t all_windows)
        : models(all_models), windows(all_windows), cells(static_cast<std::size_t>(all_models * all_windows)) {}

    cell& at(index_t model, index_t window) { return cells[static_cast<std::size_t>(model * windows + window)]; }
    const cell& at(index_t model, index_t window) const {
        return cells[static_cast<std::size_t>(model * windows + window)];
    }

    double mean() const;

    index_t models, windows;
    std::vector<cell> cells;
};

/// first - second, cell by cell, for equal models, windows and questions.
/// @throws cordage::shape_error  unless both have the same models and windows, and every cell the same count
sample paired_difference(const sample& first, const sample& second);

}  // namespace demo
