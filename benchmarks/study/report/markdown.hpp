// SPDX-License-Identifier: MIT
// Tables in Markdown and the format of their numbers; serves the reports of the demo and the study.
#pragma once

#include <string>
#include <vector>

#include "statistics/results.hpp"

namespace demo {

/// One line of a table: its first cell, and the cells of the further columns.
struct table_line {
    std::string name;
    std::vector<std::string> cells;
};

/// A header, the separator below it and the lines, each ending in a line break.
/// @param columns  column titles, the first for the lines' names
std::string markdown_table(const std::vector<std::string>& columns, const std::vector<table_line>& lines);

/// "1024 (8×)": a window's length, and as a multiple of L.
std::string said_length(index_t length, index_t trained);

/// "0.57 ± 0.04", "+0.57 ± 0.04".
std::string said(const estimate& e, int decimals);
std::string said_with_sign(const estimate& e, int decimals);

/// "548", "1024 or more", or "none".
std::string said(const reach& r);

}  // namespace demo
