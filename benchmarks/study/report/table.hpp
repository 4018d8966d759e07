// SPDX-License-Identifier: MIT
// The results as tables: for programs (CSV) and for people (Markdown).
#pragma once

#include <string>
#include <vector>

#include "methods.hpp"
#include "report/formatted.hpp"
#include "runner/results.hpp"
#include "settings.hpp"

namespace demo {

struct row {
    method how;
    result measured;

    const score& at(index_t ratio) const;
};

/// method, train_length, ratio, length, perplexity, perplexity_last, accuracy, steps, seconds.
std::string as_csv(const std::vector<row>& rows);

/// Perplexity and accuracy by method and length, as Table 1 of the CLEX paper; the best of a column in bold.
std::string main_table(const std::vector<row>& rows);

/// Perplexity of the same last tokens, seen with more and more text before them.
std::string last_tokens_table(const std::vector<row>& rows);

}  // namespace demo
