// SPDX-License-Identifier: MIT
// The questions of the replication study, and the rows that answer them.
#pragma once

#include <string>
#include <vector>

#include "settings.hpp"

namespace demo {

struct study {
    std::string name;               ///< a word or two: the heading
    std::string question;           ///< a sentence
    std::vector<std::string> rows;  ///< of all_methods
    std::vector<std::string> variants = {"base"};
    bool has_all_seeds = false;  ///< or the first alone
    bool shows_recall = false;   ///< and accuracy
    bool shows_bases = false;    ///< alpha over t of the rows that learn
};

std::vector<study> studies(const settings& s);

}  // namespace demo
