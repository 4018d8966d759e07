// SPDX-License-Identifier: MIT
// Where the labels at the ends of lines are written; serves the study's pictures and those of the documentation.
#pragma once

#include <vector>

namespace demo {

/// Positions of labels beside the ends of lines: as close as possible to `wanted`, in the same order, at least `gap`
/// apart, and not below `lowest`. Those of equal `wanted` keep their order.
std::vector<double> label_positions(std::vector<double> wanted, double gap, double lowest, double highest);

}  // namespace demo
