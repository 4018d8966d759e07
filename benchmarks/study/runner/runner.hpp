// SPDX-License-Identifier: MIT
// Runs a study as processes: prepares the text, pretrains models, tunes weights and runs rows, ordered to keep all
// cores busy.
#pragma once

#include <string>
#include <vector>

#include "methods.hpp"
#include "observation.hpp"
#include "runner/files.hpp"
#include "runner/progress.hpp"

namespace demo {

/// One model and its rows.
struct part {
    settings s;
    std::vector<method> rows;
};

/// Number of stages of run_parts: text, models, and rows.
inline constexpr int stages_of_parts = 3;

/// Runs all jobs for which settings.out has no result with the same settings. All parts must have the same settings.out
/// and text.
/// @param preset  name of the preset from which the settings come
/// @returns the rows' results, part by part
/// @throws std::runtime_error  with one message, if a file cannot be written or a process fails
std::vector<row_result> run_parts(const std::string& preset, const std::vector<part>& parts, progress& shown);

}  // namespace demo
