// SPDX-License-Identifier: MIT
// Tables and pictures of the study on the real model, from the results that are there.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "smollm2/real_study.hpp"

namespace demo {

struct study_tables {
    study_amount amount;
    std::vector<row_result> searched, decided;  ///< points of the search; the best, the first three in a true window
    std::vector<row_result> judged;             ///< rules in the windows of the search
    std::vector<row_result> chunks, documents;  ///< rows and seeds
    std::vector<std::size_t> chosen;            ///< the searched point for each of made_for; empty before the search
    index_t documents_read;                     ///< by all rows
};

/// Mean loss in the windows of searches and learning at a context.
double score(const row_result& judged, index_t context);

std::string in_markdown(const study_tables& t);
/// row,seed,kind,measure,context,window,distance,value: all observations.
std::string as_csv(const study_tables& t);
/// study.{svg,png}, if windows of chunks have been read.
void plot_study(const study_tables& t, const std::filesystem::path& folder);

}  // namespace demo
