// SPDX-License-Identifier: MIT
// The replication's tables: for programs (CSV) and for people (Markdown).
#pragma once

#include <string>
#include <vector>

#include "methods.hpp"
#include "runner/results.hpp"
#include "studies.hpp"

namespace demo {

/// A row of one variant and seed.
struct measured_row {
    std::string variant;
    std::uint64_t seed;
    method how;
    result measured;
};

/// What a study shows of one row of one variant, over its seeds.
struct row_of_seeds {
    std::string name;  ///< the method's, and the variant's if the study has several
    std::vector<const measured_row*> seeds;
};
std::vector<row_of_seeds> rows_of(const study& st, const std::vector<measured_row>& rows);

struct mean_and_spread {
    double mean;
    double spread;  ///< standard deviation of a sample; 0 of one seed
};
mean_and_spread summarized(const std::vector<double>& of_seeds);

/// variant,seed,method,ratio,length,perplexity,perplexity_last,perplexity_sliding,accuracy,steps,seconds
std::string as_csv(const std::vector<measured_row>& rows);

/// variant,seed,method,distance,accuracy,gain
std::string recalls_as_csv(const std::vector<measured_row>& rows);

/// A heading and tables for each study.
std::string study_tables(const settings& s, const std::vector<study>& all, const std::vector<measured_row>& rows);

}  // namespace demo
