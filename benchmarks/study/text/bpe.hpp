// SPDX-License-Identifier: MIT
// A small byte-pair encoding: learned from text, applied to text.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace demo {

using token = std::uint16_t;

/// Byte-pair encoding inside words (Sennrich et al. 2016). A word is a run of letters with the space before it; every
/// other byte is a word of its own. Tokens 0, 1, ... are the bytes of the text it was learned from, in order, then the
/// merged pairs in the order they were learned. The same text gives the same encoding everywhere.
class byte_pairs {
 public:
    /// Merges pairs until there are `vocabulary` tokens or no pair occurs twice. Of equally frequent pairs the smaller
    /// one is merged.
    byte_pairs(std::string_view text, std::size_t vocabulary);

    /// A byte that does not occur in the training text becomes token 0.
    std::vector<token> encode(std::string_view text);

    std::size_t vocabulary() const { return spelled_.size(); }
    const std::string& spelled(token t) const { return spelled_[t]; }

 private:
    std::vector<token> bytes_of(std::string_view word) const;
    void merge(std::vector<token>& word, std::pair<token, token> parts, token merged) const;

    std::array<token, 256> byte_token_{};
    std::vector<std::string> spelled_;
    std::vector<std::pair<token, token>> merges_;
    token first_merged_ = 0;
    std::unordered_map<std::string, std::vector<token>> known_words_;
};

}  // namespace demo
