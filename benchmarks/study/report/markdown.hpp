// SPDX-License-Identifier: MIT
// Tables in Markdown, and how a number of the study is said in one; serves the demo's report and the study's.
#pragma once

#include <string>
#include <vector>

#include "statistics/results.hpp"

namespace demo {

/// One line of a table: what it begins with, and a cell for each further column.
struct table_line {
    std::string name;
    std::vector<std::string> cells;
};

/// A head, the rule below it and the lines, each closed by a line break.
/// @param columns  that of the names first
std::string markdown_table(const std::vector<std::string>& columns, const std::vector<table_line>& lines);

/// "1024 (8×)": a window's length, and as a multiple of L.
std::string said_length(index_t length, index_t trained);

/// "0.57 ± 0.04", "+0.57 ± 0.04".
std::string said(const estimate& e, int decimals);
std::string said_with_sign(const estimate& e, int decimals);

/// "548", "1024 or more", or "none".
std::string said(const reach& r);

}  // namespace demo
