// SPDX-License-Identifier: MIT
// The whole experiment: text, pretraining, every method, report.
#pragma once

#include <string>
#include <vector>

#include "settings.hpp"

namespace demo {

/// Writes table.csv, table.md, perplexity.{svg,png} and basis.{svg,png} to settings.out, and the table to standard
/// output.
///
/// @param arguments  the options that give a process of this program the same settings
/// @throws std::runtime_error  with one message, if a program is missing, a file cannot be written or a process fails
void run_experiment(const settings& s, const std::vector<std::string>& arguments);

}  // namespace demo
