// SPDX-License-Identifier: MIT
// The study's tables, with intervals over models and windows.
#pragma once

#include <string>

#include "settings.hpp"
#include "statistics/results.hpp"

namespace demo {

/// Match by length, then match and losses against the searched closed form, in Markdown.
std::string study_tables(const settings& s, const study_results& results);

}  // namespace demo
