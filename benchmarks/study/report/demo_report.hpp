// SPDX-License-Identifier: MIT
// The demo's tables and pictures, from observations.
#pragma once

#include <filesystem>
#include <string>

#include "report/panels.hpp"
#include "settings.hpp"
#include "statistics/results.hpp"

namespace demo {

/// Markdown tables of match and reach by length and of match by distance at the longest length, with an explanation.
std::string demo_tables(const settings& s, const study_results& results);

/// method,measure,length,distance_from,count,mean: by octaves of distance.
std::string as_csv(const study_results& results);

/// The rows of match.svg, the last one drawn above the others.
const few_rows& match_rows();

/// match.{svg,png}: match over distance in windows of the longest length, of match_rows().
void plot_match(const settings& s, const study_results& results, const std::filesystem::path& folder);

/// reach.{svg,png}: the reach of each row as a bar.
void plot_reach(const settings& s, const study_results& results, const std::filesystem::path& folder);

}  // namespace demo
