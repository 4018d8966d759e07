// SPDX-License-Identifier: MIT
// Runs rows as processes: the texts, the pretrained models, every row in an order that keeps the cores busy.
#pragma once

#include <string>
#include <vector>

#include "methods.hpp"
#include "runner/progress.hpp"

namespace demo {

/// Rows that share their settings.
struct part {
    std::string variant;  ///< of the preset
    settings s;           ///< parts of equal settings.tokens or settings.pretrained share them
    std::vector<method> rows;
};

/// As many stages of `shown` as stage_count says. What a part's folder holds of these same settings already is not
/// done again.
///
/// @throws std::runtime_error  with one message, if a program is missing, a file cannot be written or a process fails
void run_parts(const std::string& preset, const std::vector<part>& parts, progress& shown);
int stage_count(const std::vector<part>& parts);

/// @throws std::runtime_error  if the file cannot be written
void write(const std::filesystem::path& file, const std::string& text);

}  // namespace demo
