// SPDX-License-Identifier: MIT
// Pages whose tables a program writes between marks; serves docs/replication.md.
#pragma once

#include <string>
#include <vector>

#include "report/study_report.hpp"

namespace demo {

/// The page with what stands between "<!-- block NAME -->" and "<!-- end of block -->", each on a line of its own,
/// replaced by the block of that name. The rest stays as it is, and so does a page whose blocks are these already.
///
/// @param name  of the page, for messages
/// @throws std::runtime_error  "NAME: ..." if it has no mark, a mark that no block has, one that is not closed, or the
///                             same block twice
std::string with_blocks(const std::string& page, const std::vector<block>& blocks, const std::string& name);

}  // namespace demo
