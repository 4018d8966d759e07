// SPDX-License-Identifier: MIT
// Fetching and splitting the text.
#include "text/text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <vector>

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

// All pages under a folder, in the order of their names: of twelve the eleventh to dev and the twelfth to test.
template <class IsPage>
split_text split_pages(const std::filesystem::path& folder, const std::string& package, const IsPage& is_page) {
    std::vector<std::filesystem::path> pages;
    std::error_code failure;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, failure)) {
        if (entry.is_regular_file() && is_page(entry.path())) pages.push_back(entry.path());
    }
    if (pages.size() < 24) {
        throw std::runtime_error("demo: " + folder.string() + " must hold the pages of Debian's package " + package);
    }
    std::sort(pages.begin(), pages.end());
    split_text split;
    for (std::size_t i = 0; i < pages.size(); ++i) {
        std::string& part = i % 12 == 10 ? split.dev : i % 12 == 11 ? split.test : split.train;
        std::ifstream in(pages[i], std::ios::binary);
        part.append(std::istreambuf_iterator<char>(in), {});
    }
    return split;
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

split_text perl_manuals() {
    return split_pages("/usr/share/perl", "perl-doc", [](const std::filesystem::path& page) {
        const std::string name = page.filename().string();
        const bool is_log = name.ends_with("delta.pod") || name == "perltoc.pod" || name == "perlhist.pod";
        return name.starts_with("perl") && name.ends_with(".pod") && !is_log;
    });
}

split_text king_james() {
    require_program("bible", "bible-kjv and bible-kjv-text");
    return split_verses(output_of("bible -f gen1:1-rev22:21"));
}

split_text text_of(corpus_kind kind) {
    switch (kind) {
        case corpus_kind::king_james:
            return king_james();
        case corpus_kind::perl_manuals:
            return perl_manuals();
    }
    throw std::runtime_error("demo: no such text");
}

}  // namespace demo
