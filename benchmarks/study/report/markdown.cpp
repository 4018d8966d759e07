// SPDX-License-Identifier: MIT
// Cells and lines.
#include "report/markdown.hpp"

#include "report/formatted.hpp"

namespace demo {
namespace {

std::string line_of(const std::vector<std::string>& cells) {
    std::string text = "|";
    for (const std::string& cell : cells) text += " " + cell + " |";
    return text + "\n";
}

}  // namespace

std::string markdown_table(const std::vector<std::string>& columns, const std::vector<table_line>& lines) {
    std::string text = line_of(columns) + "|";
    for (std::size_t i = 0; i < columns.size(); ++i) text += "---|";
    text += "\n";
    for (const table_line& line : lines) {
        std::vector<std::string> cells{line.name};
        cells.insert(cells.end(), line.cells.begin(), line.cells.end());
        text += line_of(cells);
    }
    return text;
}

std::string said_length(index_t length, index_t trained) {
    return formatted("%ld (%ld×)", static_cast<long>(length), static_cast<long>(length / trained));
}

std::string said(const estimate& e, int decimals) {
    return formatted("%.*f ± %.*f", decimals, e.mean, decimals, e.half_width);
}

std::string said_with_sign(const estimate& e, int decimals) {
    return formatted("%+.*f ± %.*f", decimals, e.mean, decimals, e.half_width);
}

std::string said(const reach& r) {
    if (r.tokens == 0.0) return "none";
    return formatted(r.is_beyond_last ? "%.0f or more" : "%.0f", r.tokens);
}

}  // namespace demo
