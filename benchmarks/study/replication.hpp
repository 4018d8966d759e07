// SPDX-License-Identifier: MIT
// The study: the rows of study_methods over some models.
#pragma once

#include <cstdint>
#include <string>

#include "settings.hpp"

namespace demo {

/// So many of the models have rows that are not main ones, too.
inline constexpr std::uint64_t models_of_other_rows = 3;

// Seconds of one core (EPYC, Zen 4, with bfloat16) at preset small: a model 217; a row of a closed form or of tuned
// weights 13, one that learns 40; weights tuned at L 21, at 4L 28. With five models, and the other rows of three, 7700
// in all.

/// Writes tables.md and all rows' results, observations in them, to settings.out, for models of seeds 1 ... `models`.
/// @throws std::runtime_error  with one message, if a program is missing, a file cannot be written or a process fails
void run_replication(const std::string& preset, const settings& s, std::uint64_t models);

}  // namespace demo
