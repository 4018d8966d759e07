// SPDX-License-Identifier: MIT
// The replication study: every study's rows, over variants and seeds, and the report.
#pragma once

#include <string>
#include <vector>

#include "settings.hpp"

namespace demo {

/// Runs what is not done yet and writes results.csv, recalls.csv, tables.md and pictures to `out`.
///
/// @param preset  "small" or "trial"
/// @param names   of studies; empty: all
/// @throws std::runtime_error  with one message, if a program is missing, a file cannot be written or a process fails
void run_replication(const std::string& preset, const std::vector<std::string>& names,
                     const std::filesystem::path& out);

}  // namespace demo
