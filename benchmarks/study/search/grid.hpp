// SPDX-License-Identifier: MIT
// Search over a grid, refined around its best point until the budget is spent.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "search/objective.hpp"

namespace demo {

/// One coordinate of a point.
struct axis {
    std::string name;
    std::vector<double> values;  ///< grid values, increasing, at least two
    double lowest = -std::numeric_limits<double>::infinity(), highest = std::numeric_limits<double>::infinity();
};

/// Evaluates every combination of the axes' values, then takes steps along one axis at a time from the best point.
/// Steps are initially half a grid interval and are halved when none lowers the loss (Hooke and Jeeves 1961, without
/// pattern moves). The refinement may leave the grid within lowest ... highest. It ends when the budget is spent or
/// steps are below a thousandth of an interval.
///
/// @throws cordage::value_error  unless each axis has two finite, increasing values within its limits and the budget
///                               suffices for the whole grid
search_result search_grid(const objective& what, const std::vector<axis>& axes, index_t budget);

/// By parts as a point of a grid: [log2 rotations_low, log2(rotations_high / rotations_low), log2 t_multiplier,
/// temperature_slope].
struct by_parts_setting {
    double rotations_low, rotations_high;  ///< of cordage::by_parts
    double t_multiplier;                   ///< interpolation at t_multiplier * t
    double temperature_slope;  ///< the logits' factor is 1 + temperature_slope ln t / ln L: 1 is log scaling
};
by_parts_setting by_parts_at(std::span<const double> point);

/// A grid of 54 points: rotations_low 1/4, 1/2, 1; rotations_high 2, 4, 8 times that; t_multiplier 1, 2;
/// temperature_slope 0, 1, 2.
std::vector<axis> by_parts_axes();

}  // namespace demo
