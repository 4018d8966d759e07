// SPDX-License-Identifier: MIT
// The study's tables, with intervals over models and windows.
#pragma once

#include <string>
#include <vector>

#include "settings.hpp"
#include "statistics/results.hpp"

namespace demo {

/// The results of the study.
struct study {
    settings s;  ///< settings; the seed is that of any model
    study_results rows;
    std::vector<row_result> models;  ///< pretraining of each model, and its matches within L on dev text
};

/// A part of the report, in Markdown.
struct block {
    std::string name;   ///< as in the page's marks
    std::string title;  ///< a heading in tables.md
    std::string text;
};

/// Results first, then the data and settings behind them.
std::vector<block> study_blocks(const study& what);

/// A page of blocks under headings, as tables.md.
std::string page_of_tables(const std::string& title, const std::vector<block>& blocks);

/// row,measure,length,distance_from,model,count,mean,half_width: every measure by length, and matches by octaves of
/// distance; model is "all" or, without a half_width, one seed.
std::string as_csv(const study& what);

}  // namespace demo
