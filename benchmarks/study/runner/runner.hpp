// SPDX-License-Identifier: MIT
// Runs models and rows as processes: the text, the pretrained models, tuned weights, every row in an order that keeps
// the cores busy.
#pragma once

#include <string>
#include <vector>

#include "methods.hpp"
#include "observation.hpp"
#include "runner/progress.hpp"

namespace demo {

/// One model and its rows.
struct part {
    settings s;
    std::vector<method> rows;
};

/// Stages of `shown` that run_parts has: text, models, weights that are tuned, if any row has them, and rows.
int stages_of(const std::vector<part>& parts);

/// Does what settings.out does not hold of these same settings already; all parts have the same settings.out and text.
/// @param preset  of which the settings are
/// @returns the rows' results, part by part
/// @throws std::runtime_error  with one message, if a file cannot be written or a process fails
std::vector<row_result> run_parts(const std::string& preset, const std::vector<part>& parts, progress& shown);

/// @throws std::runtime_error  if the file cannot be written
void write(const std::filesystem::path& file, const std::string& text);

}  // namespace demo
