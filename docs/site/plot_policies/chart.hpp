// SPDX-License-Identifier: MIT
// A picture of panels of curves, as an SVG file of a few kilobytes.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

/// Points in the units of the panel's axes; what is not finite or not > 0 on a logarithmic axis interrupts the curve.
struct curve {
    std::string name;
    std::vector<std::pair<double, double>> points;
    bool dashed = false;
};

/// Ticks, their words, and the range, which is that of the ticks unless `last` is beyond them.
struct axis {
    std::string title;
    std::vector<std::pair<double, std::string>> ticks;
    bool logarithmic = false;
    double last = 0.0;
};

struct panel {
    std::string title;
    axis x, y;
    std::vector<curve> curves;
};

/// The panels on white, each 370 by 280 with its curves' names at their ends, in rows of at most `columns`.
std::string svg_of(const std::vector<panel>& panels, std::size_t columns = 2);
