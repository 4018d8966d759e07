// SPDX-License-Identifier: MIT
// Panels of lines with their names at the ends, for the pictures of demo and study.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "settings.hpp"
#include "statistics/results.hpp"

namespace demo {

/// A row as pictures show it.
struct pictured {
    const char *row, *label;
    bool learns = true;  ///< or is searched; others are dashed
};
using few_rows = std::vector<pictured>;

struct point {
    double x, y, low, high;
};

struct line {
    pictured what;
    std::vector<point> points;
};

struct panel {
    std::string title, x_title, y_title;
    double lowest, highest;  ///< of y, for the labels' places
    bool is_logarithmic = false;
    double shift = 1.0;    ///< of x from line to line, so that intervals stand apart
    std::string commands;  ///< of its own
    std::vector<line> lines;
};

/// Match in windows of `length` tokens over the distance back to the value, with intervals and chance, of those rows
/// that have results.
panel matches_at(const settings& s, const study_results& results, const few_rows& rows, index_t length);

/// Writes NAME.gp, NAME.svg and NAME.png, the panels one below the other; false, and nothing written, if one has no
/// lines.
/// @throws std::runtime_error  if gnuplot fails or a file cannot be written
bool draw_panels(const std::vector<panel>& panels, const std::string& name, const std::filesystem::path& folder);

}  // namespace demo
