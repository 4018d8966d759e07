// SPDX-License-Identifier: MIT
// The study: the rows of rows_of over some models.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "settings.hpp"

namespace demo {

struct replication_options {
    std::uint64_t models = 5;  ///< of seeds settings.first_seed, + 1 ...
    bool runs = true;          ///< false: only reports existing results
    /// Folder of the documentation, in which the tables of small_models.md and their sources are updated; empty: none.
    std::filesystem::path record = {};
};

/// Writes tables.md, claims.md, results.csv and pictures beside all rows' results, observations in them, to
/// settings.out.
/// @throws std::runtime_error  with one message, if a program is missing, a file cannot be written, a process fails, or
///                             there is no result to report
void run_replication(const std::string& preset, const settings& s, const replication_options& how);

}  // namespace demo
