// SPDX-License-Identifier: MIT
// Tokens to a file and back: three counts, then the tokens.
#include "text/corpus.hpp"

#include <cstdint>
#include <fstream>
#include <stdexcept>

namespace demo {

void save(const corpus& tokens, const std::filesystem::path& file) {
    std::ofstream out(file, std::ios::binary);
    for (const auto* part : {&tokens.train, &tokens.dev, &tokens.test}) {
        const std::uint64_t count = part->size();
        out.write(reinterpret_cast<const char*>(&count), sizeof count);
        out.write(reinterpret_cast<const char*>(part->data()), static_cast<std::streamsize>(count * sizeof(token)));
    }
    if (!out.flush()) throw std::runtime_error("demo: cannot write " + file.string());
}

corpus load_corpus(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    corpus tokens;
    for (auto* part : {&tokens.train, &tokens.dev, &tokens.test}) {
        std::uint64_t count = 0;
        in.read(reinterpret_cast<char*>(&count), sizeof count);
        if (!in) break;
        part->resize(count);
        in.read(reinterpret_cast<char*>(part->data()), static_cast<std::streamsize>(count * sizeof(token)));
    }
    if (!in) throw std::runtime_error("demo: cannot read " + file.string());
    return tokens;
}

}  // namespace demo
