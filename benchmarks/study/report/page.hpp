// SPDX-License-Identifier: MIT
// Replaces generated blocks of a Markdown page; serves docs/small_models.md.
#pragma once

#include <string>
#include <vector>

#include "report/study_report.hpp"

namespace demo {

/// Returns the page with the text between "<!-- block NAME -->" and "<!-- end of block -->", each on a separate line,
/// replaced by the block of that name. All other text is unchanged, and the operation is idempotent.
///
/// @param name  name of the page, for messages
/// @throws std::runtime_error  "NAME: ..." if the page has no mark, an unclosed mark, a mark without a block of its
///                             name, or two marks of one name
std::string with_blocks(const std::string& page, const std::vector<block>& blocks, const std::string& name);

/// Returns the page with a line of one of its tables replaced, or added below the others if none begins with the same
/// cell.
///
/// @param table  the table's first two lines, and that line
/// @param name   name of the page, for messages
/// @throws std::runtime_error  "NAME: ..." if the page does not have the first two lines
std::string with_table_line(const std::string& page, const std::string& table, const std::string& name);

}  // namespace demo
