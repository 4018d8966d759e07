// SPDX-License-Identifier: MIT
// Tables, pictures and configs of the demo on a real model, from results.
#pragma once

#include <string>
#include <vector>

#include "smollm2/real_demo.hpp"
#include "smollm2/rules.hpp"
#include "statistics/results.hpp"

namespace demo {

/// The results of the demo's parts. Rows have the rules' names.
struct real_results {
    cordage::rope_config rope;
    real_amount amount;
    std::vector<rule> rules;                       ///< with learned numbers
    std::vector<row_result> documents;             ///< each of the true document
    std::vector<row_result> at_longest, at_table;  ///< chunks, of longest_context and of table_context
};

/// Markdown tables with an explanation.
std::string real_tables(const real_results& r);

/// row,measure,context,from,count,mean,half_width.
std::string real_csv(const real_results& r);

/// perplexity.{svg,png} and keys.{svg,png}.
void plot_real(const real_results& r, const std::filesystem::path& folder);

}  // namespace demo
