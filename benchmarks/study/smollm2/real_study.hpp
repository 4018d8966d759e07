// SPDX-License-Identifier: MIT
// The study on the real model: what runs, and its processes. Without libtorch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "row_names.hpp"
#include "smollm2/parts.hpp"
#include "smollm2/rules.hpp"

namespace demo {

/// How much the study measures. Documents are as many as the time allows, unless their number is given.
struct study_amount {
    index_t window;     ///< tokens of a document, and the longest of its contexts
    index_t documents;  ///< at most
    index_t windows, keys;
    index_t steps;
    std::size_t points, decided;  ///< of the search; those that also read a true window
};

/// A row of the tables. Its job is that of a rule; one with a seed learns, and the table has the mean over the seeds.
struct study_row {
    const char *name, *job;
    index_t seed = 0;
    bool is_made_for_n = false;
};
inline const std::vector<study_row> study_rows{
    {row::no_scaling, job_of_rule::unscaled},        {"YaRN", job_of_rule::yarn},
    {row::by_parts_4_16, job_of_rule::by_parts},     {row::searched_for_n, "searched", 0, true},
    {row::table_for_n, job_of_rule::table, 1, true}, {row::table_for_n, job_of_rule::table, 2, true},
    {row::clex_all_n, job_of_rule::clex, 1},         {row::clex_all_n, job_of_rule::clex, 2}};

/// Contexts of windows of chunks; the shorter contexts of a document, which only the model without scaling reads.
inline constexpr std::array<index_t, 3> chunk_contexts{12288, 32768, 65536};
inline constexpr std::array<index_t, 2> shorter_contexts{4096, 8192};

struct study_options : real_options {
    std::optional<index_t> documents;
    bool only_reports = false;
};

/// Runs all parts that have no result in `out`, and writes the tables of what is there.
/// @throws std::runtime_error  with one message
void run_real_study(const study_options& options);

/// Runs one part, as a process of the study.
void run_study_part(const real_options& options, const std::string& name);

}  // namespace demo
