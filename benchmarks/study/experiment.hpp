// SPDX-License-Identifier: MIT
// The demo: the distances at which a small model retrieves tokens, for each scaling method.
#pragma once

#include <string>

#include "settings.hpp"

namespace demo {

/// Writes table.md, table.csv, match.{svg,png}, reach.{svg,png} and the learned bases as LongRoPE's factors to
/// settings.out, and the tables to standard output.
///
/// @param preset  name of the preset from which the settings come
/// @throws std::runtime_error  with one message, if a program is missing, a file cannot be written or a process fails
void run_experiment(const std::string& preset, const settings& s);

}  // namespace demo
