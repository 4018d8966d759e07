// SPDX-License-Identifier: MIT
// Learning and applying byte pairs, by counting over the distinct words.
#include "text/bpe.hpp"

#include <algorithm>
#include <map>

namespace demo {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Calls body with each word of the text, in order; the words together are the text.
template <class Body>
void for_each_word(std::string_view text, const Body& body) {
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t end = begin + (text[begin] == ' ' ? 1 : 0);
        while (end < text.size() && is_letter(text[end])) ++end;
        end = std::max(end, begin + 1);
        body(text.substr(begin, end - begin));
        begin = end;
    }
}

struct counted_word {
    std::vector<token> tokens;
    std::int64_t count;
};

}  // namespace

byte_pairs::byte_pairs(std::string_view text, std::size_t vocabulary) {
    std::array<bool, 256> occurs{};
    for (const char c : text) occurs[static_cast<unsigned char>(c)] = true;
    for (std::size_t byte = 0; byte < occurs.size(); ++byte) {
        if (!occurs[byte]) continue;
        byte_token_[byte] = static_cast<token>(spelled_.size());
        spelled_.emplace_back(1, static_cast<char>(byte));
    }
    first_merged_ = static_cast<token>(spelled_.size());

    std::map<std::string, std::int64_t, std::less<>> counts;
    for_each_word(text, [&](std::string_view word) {
        const auto found = counts.find(word);
        if (found == counts.end()) {
            counts.emplace(word, 1);
        } else {
            ++found->second;
        }
    });
    std::vector<counted_word> words;
    for (const auto& [word, count] : counts) words.push_back({bytes_of(word), count});

    std::vector<std::int64_t> pair_counts(vocabulary * vocabulary);
    while (spelled_.size() < vocabulary) {
        std::fill(pair_counts.begin(), pair_counts.end(), 0);
        for (const counted_word& word : words) {
            for (std::size_t i = 1; i < word.tokens.size(); ++i) {
                pair_counts[word.tokens[i - 1] * vocabulary + word.tokens[i]] += word.count;
            }
        }
        const auto most = std::max_element(pair_counts.begin(), pair_counts.end());
        if (*most < 2) break;
        const auto place = static_cast<std::size_t>(most - pair_counts.begin());
        const std::pair parts(static_cast<token>(place / vocabulary), static_cast<token>(place % vocabulary));
        const auto merged = static_cast<token>(spelled_.size());
        spelled_.push_back(spelled_[parts.first] + spelled_[parts.second]);
        merges_.push_back(parts);
        for (counted_word& word : words) merge(word.tokens, parts, merged);
    }
}

std::vector<token> byte_pairs::encode(std::string_view text) {
    std::vector<token> encoded;
    for_each_word(text, [&](std::string_view word) {
        std::vector<token>& tokens = known_words_[std::string(word)];
        if (tokens.empty()) {
            tokens = bytes_of(word);
            token merged = first_merged_;
            for (const auto& parts : merges_) merge(tokens, parts, merged++);
        }
        encoded.insert(encoded.end(), tokens.begin(), tokens.end());
    });
    return encoded;
}

std::vector<token> byte_pairs::bytes_of(std::string_view word) const {
    std::vector<token> tokens;
    for (const char c : word) tokens.push_back(byte_token_[static_cast<unsigned char>(c)]);
    return tokens;
}

void byte_pairs::merge(std::vector<token>& word, std::pair<token, token> parts, token merged) const {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < word.size(); ++i, ++kept) {
        const bool here = i + 1 < word.size() && word[i] == parts.first && word[i + 1] == parts.second;
        word[kept] = here ? merged : word[i];
        if (here) ++i;
    }
    word.resize(kept);
}

}  // namespace demo
