// SPDX-License-Identifier: MIT
// Windows of text with inserted retrieval tasks: copied spans, and records that are queried.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "cordage/core/index.hpp"
#include "text/bpe.hpp"

namespace demo {

using cordage::index_t;

/// std::mt19937_64 and cordage's draws give the same numbers on every platform.
using generator = std::mt19937_64;

/// An independent stream of numbers for each purpose and seed. std::seed_seq keeps 32 bits of each word, so larger
/// numbers are given in two; smaller ones have the streams of records made before that.
inline generator stream(std::uint64_t seed, std::uint64_t purpose) {
    std::vector<std::uint64_t> words{seed, purpose};
    if ((seed | purpose) >> 32 != 0) words.insert(words.end(), {seed >> 32, purpose >> 32});
    std::seed_seq mixed(words.begin(), words.end());
    return generator(mixed);
}

/// The items that windows contain besides running text. A record is a mark, a key and a value; key and value are
/// uniformly random tokens. It is queried once, by mark and key. A copy repeats a span of the window; half of the spans
/// are running text, half are uniformly random tokens.
struct window_shape {
    index_t tokens_a_record = 64;  ///< tokens of a window per record
    index_t tokens_a_copy = 128;   ///< tokens of a window per copy
    index_t copied_least = 16, copied_most = 48;
    index_t key_tokens = 2, value_tokens = 4;
    index_t recalled_from = 2;  ///< number of first tokens of a copy that are unpredictable and not counted as copied
};

/// How a token can be predicted: running text; unpredictable; copied; part of a value.
enum class token_kind : std::uint8_t { plain, random, copied, value };

/// Consecutive tokens of one kind, copied or value, and the distance back to their first occurrence.
struct repeated_span {
    token_kind kind;
    index_t begin, count, distance;
};

/// tokens[i + 1] is to be predicted from tokens[0 ... i].
struct window {
    std::vector<token> tokens;           ///< [length + 1]
    std::vector<token_kind> kinds;       ///< of each token [length + 1]
    std::vector<repeated_span> repeats;  ///< in order of begin

    index_t length() const { return std::ssize(tokens) - 1; }
};

/// A window from a random place in the text. The distance of an item is log-uniform between its length and the largest
/// that fits, its place uniform. An item without a free place is drawn again, and omitted after some trials.
///
/// @param vocabulary  text has tokens below vocabulary - 1, which is the mark
window draw_window(generator& draw, const window_shape& shape, std::span<const token> text, token vocabulary,
                   index_t length);

}  // namespace demo
