// SPDX-License-Identifier: MIT
// Fetching and splitting the text.
#include "text/text.hpp"

#include <array>
#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "runner/programs.hpp"

namespace demo {
namespace {

std::string output_of(const char* command) {
    std::FILE* pipe = popen(command, "r");
    if (pipe == nullptr) throw std::runtime_error(std::string("demo: cannot run '") + command + "'");
    std::string output;
    std::array<char, 1 << 16> part;
    while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe)) output.append(part.data(), count);
    if (pclose(pipe) != 0) throw std::runtime_error(std::string("demo: '") + command + "' failed");
    return output;
}

}  // namespace

split_text split_verses(const std::string& verses) {
    split_text split;
    std::string* part = &split.train;
    std::istringstream lines(verses);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = line.find(' ');
        if (space == std::string::npos) continue;
        const std::string_view reference = std::string_view(line).substr(0, space);
        if (reference == "Rom1:1") part = &split.dev;
        if (reference == "1Th1:1") part = &split.test;
        part->append(line, space + 1).push_back('\n');
    }
    if (split.train.empty() || split.dev.empty() || split.test.empty()) {
        throw std::runtime_error("demo: 'bible' must print verses with references from Ge1:1 by Rom1:1 and 1Th1:1 on");
    }
    return split;
}

split_text king_james() {
    require_program("bible", "bible-kjv and bible-kjv-text");
    return split_verses(output_of("bible -f gen1:1-rev22:21"));
}

}  // namespace demo
