// SPDX-License-Identifier: MIT
// What a worker process leaves for the report: the scores of a method and the basis it ended with.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/learning.hpp"

namespace demo {

struct result {
    std::string settings;  ///< described(settings)
    double seconds = 0.0;  ///< training and evaluation
    index_t steps = 0;     ///< of continued training
    index_t train_length = 0;
    std::vector<score> scores;
    std::vector<recall> recalls;
    std::vector<double> losses;  ///< of training
    std::vector<double> policy_parameters;
};

void save(const result& r, const std::filesystem::path& file);
result load_result(const std::filesystem::path& file);

}  // namespace demo
