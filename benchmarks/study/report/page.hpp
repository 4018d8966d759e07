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

}  // namespace demo
