// SPDX-License-Identifier: MIT
// A grid, then steps of half a gap and less.
#include "search/grid.hpp"

#include <algorithm>
#include <cmath>

#include "cordage/core/error.hpp"

namespace demo {
namespace {

using cordage::fail;
using cordage::value_error;

void validate(const axis& a) {
    if (a.values.size() < 2) fail<value_error>({"search_grid: ", a.name, " must have two values or more"});
    double below = a.lowest;
    for (std::size_t i = 0; i < a.values.size(); ++i) {
        const double x = a.values[i];
        cordage::validate_number({"search_grid: ", a.name, " values[", i, "]"}, x,
                                 (i == 0 ? x >= below : x > below) && x <= a.highest,
                                 {"increasing, within ", a.lowest, " ... ", a.highest});
        below = x;
    }
}

// All combinations, the last axis fastest.
void try_all(trial_recorder& trials, const std::vector<axis>& axes, index_t points) {
    for (index_t number = 0; number < points; ++number) {
        std::vector<double> point(axes.size());
        index_t rest = number;
        for (std::size_t a = axes.size(); a-- > 0;) {
            const auto size = static_cast<index_t>(axes[a].values.size());
            point[a] = axes[a].values[static_cast<std::size_t>(rest % size)];
            rest /= size;
        }
        trials.evaluate(point);
    }
}

// Whether a step along one axis, up or down, lowered the loss; it is then the new best.
bool step(trial_recorder& trials, const axis& a, std::size_t number, double width) {
    const trial best = trials.done().best();
    for (const double sign : {1.0, -1.0}) {
        std::vector<double> point = best.point;
        point[number] = std::clamp(point[number] + sign * width, a.lowest, a.highest);
        if (trials.left() == 0 || trials.has_tried(point)) continue;
        if (trials.evaluate(point).loss < best.loss) return true;
    }
    return false;
}

}  // namespace

search_result search_grid(const objective& what, const std::vector<axis>& axes, index_t budget) {
    trial_recorder trials(what, budget);
    index_t points = 1;
    for (const axis& a : axes) {
        validate(a);
        points = cordage::saturated_product(points, static_cast<index_t>(a.values.size()));
    }
    if (points > trials.left()) {
        fail<value_error>({"search_grid: a grid of ", points, " points must be within the budget, which pays for ",
                           trials.left(), "; give fewer values or more budget"});
    }
    try_all(trials, axes, points);
    for (double share = 0.5; share >= 1e-3 && trials.left() > 0;) {
        bool is_lower = false;
        for (std::size_t a = 0; a < axes.size(); ++a) {
            const double span = axes[a].values.back() - axes[a].values.front();
            const double gap = span / static_cast<double>(axes[a].values.size() - 1);
            is_lower = step(trials, axes[a], a, share * gap) || is_lower;
        }
        if (!is_lower) share /= 2.0;
    }
    return trials.done();
}

by_parts_setting by_parts_at(std::span<const double> point) {
    return {std::exp2(point[0]), std::exp2(point[0] + point[1]), std::exp2(point[2]), point[3]};
}

std::vector<axis> by_parts_axes() {
    return {{"log2_rotations_low", {-2.0, -1.0, 0.0}},
            {"log2_high_over_low", {1.0, 2.0, 3.0}, 0.0},
            {"log2_t_multiplier", {0.0, 1.0}, 0.0},
            {"temperature_slope", {0.0, 1.0, 2.0}, 0.0}};
}

}  // namespace demo
