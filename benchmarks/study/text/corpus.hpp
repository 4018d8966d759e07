// SPDX-License-Identifier: MIT
// The three texts as tokens, and on disk for the worker processes.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "text/bpe.hpp"

namespace demo {

struct corpus {
    std::vector<token> train, dev, test;
};

void save(const corpus& tokens, const std::filesystem::path& file);
corpus load_corpus(const std::filesystem::path& file);

}  // namespace demo
