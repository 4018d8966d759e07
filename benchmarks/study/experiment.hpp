// SPDX-License-Identifier: MIT
// The demo: a model that looks things up, and how far it does so by each method.
#pragma once

#include <string>

#include "settings.hpp"

namespace demo {

/// Writes table.md, table.csv, match.{svg,png}, reach.{svg,png} and the learned bases as LongRoPE's factors to
/// settings.out, and the tables to standard output.
///
/// @param preset  of which the settings are
/// @throws std::runtime_error  with one message, if a program is missing, a file cannot be written or a process fails
void run_experiment(const std::string& preset, const settings& s);

}  // namespace demo
