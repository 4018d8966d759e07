// SPDX-License-Identifier: MIT
// The study: the rows of study_methods over some models.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "settings.hpp"

namespace demo {

/// Number of models for which all rows are run; the others have main rows only.
inline constexpr std::uint64_t models_of_other_rows = 3;

// Seconds of one core (EPYC, Zen 4, with bfloat16) at preset small: a model 217; a row of a closed form or of tuned
// weights 13, one that learns 40; weights tuned at L 21, at 4L 28. With five models, and the other rows of three, 8300
// in all.

struct replication_options {
    std::uint64_t models = 5;  ///< of seeds settings.first_seed, + 1 ...
    bool runs = true;          ///< false: only reports existing results
    /// Folder of the documentation, in which the tables of small_models.md and their sources are updated, or of a
    /// preset other than small replication/PRESET.md and .csv; empty: none.
    std::filesystem::path record = {};
};

/// Writes tables.md, claims.md, results.csv and pictures beside all rows' results, observations in them, to
/// settings.out.
/// @throws std::runtime_error  with one message, if a program is missing, a file cannot be written, a process fails, or
///                             there is no result to report
void run_replication(const std::string& preset, const settings& s, const replication_options& how);

}  // namespace demo
