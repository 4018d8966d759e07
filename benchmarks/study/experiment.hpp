// SPDX-License-Identifier: MIT
// The whole experiment: text, pretraining, every method, report.
#pragma once

#include <string>

#include "settings.hpp"

namespace demo {

/// Writes table.csv, table.md, perplexity.{svg,png}, basis.{svg,png} and the learned bases as LongRoPE's factors to
/// settings.out, and the table to standard output.
///
/// @param preset  "demo" or "quick", of which the settings are
/// @throws std::runtime_error  with one message, if a program is missing, a file cannot be written or a process fails
void run_experiment(const std::string& preset, const settings& s);

}  // namespace demo
