// SPDX-License-Identifier: MIT
// What the numbers say, in sentences made from the numbers.
#pragma once

#include <string>
#include <vector>

#include "report/table.hpp"

namespace demo {

/// Paragraphs of Markdown: the best rows, each row against the rows it is compared with, and whether context is used.
std::string findings(const std::vector<row>& rows);

/// A paragraph of Markdown: model, text, steps and what the columns mean.
std::string setting(const settings& s, const std::vector<row>& rows);

}  // namespace demo
