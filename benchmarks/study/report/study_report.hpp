// SPDX-License-Identifier: MIT
// The study's tables, with intervals over models and windows.
#pragma once

#include <string>
#include <vector>

#include "settings.hpp"
#include "statistics/results.hpp"

namespace demo {

/// What the study measured.
struct study {
    settings s;  ///< of any model
    study_results rows;
    std::vector<row_result> models;  ///< how each model came about and what it finds within L, on dev text
};

/// A part of the report, in Markdown.
struct block {
    std::string name;   ///< as the page's marks have it
    std::string title;  ///< a heading in tables.md
    std::string text;
};

/// What came out, then what it was made of.
std::vector<block> study_blocks(const study& what);

/// A page of blocks under headings, as tables.md.
std::string study_tables(const std::string& title, const std::vector<block>& blocks);

/// row,measure,length,distance_from,model,count,mean,half_width: every measure by length, and matches by octaves of
/// distance; model is "all" or, without a half_width, one seed.
std::string as_csv(const study& what);

}  // namespace demo
