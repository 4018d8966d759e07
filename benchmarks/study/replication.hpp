// SPDX-License-Identifier: MIT
// The study: the rows of study_methods over some models.
#pragma once

#include <cstdint>
#include <string>

#include "settings.hpp"

namespace demo {

/// So many of the models have rows that are not main ones, too.
inline constexpr std::uint64_t models_of_other_rows = 3;

/// Writes tables.md and all rows' results, observations in them, to settings.out, for models of seeds 1 ... `models`.
/// @throws std::runtime_error  with one message, if a program is missing, a file cannot be written or a process fails
void run_replication(const std::string& preset, const settings& s, std::uint64_t models);

}  // namespace demo
