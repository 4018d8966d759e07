// SPDX-License-Identifier: MIT
// Windows of text in which something said before is worth knowing: copied spans, and records that are asked for.
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

/// An independent stream of numbers for each purpose and seed.
inline generator stream(std::uint64_t seed, std::uint64_t purpose) {
    std::seed_seq mixed{seed, purpose};
    return generator(mixed);
}

/// What windows hold besides running text. A record is a mark, its key and its value, all uniformly random tokens but
/// the mark; it is asked for once, by mark and key. A copy repeats a span of the window, half of them running text and
/// half of them uniformly random tokens.
struct window_shape {
    index_t tokens_a_record = 64;  ///< of a window's tokens, one record each so many
    index_t tokens_a_copy = 128;   ///< and one copy
    index_t copied_least = 16, copied_most = 48;
    index_t key_tokens = 2, value_tokens = 4;
    index_t recalled_from = 2;  ///< the first tokens of a copy cannot be known and are not counted as copied
};

/// What a token is to one who has to guess it: running text; one that nothing before tells; copied; of a value.
enum class token_kind : std::uint8_t { plain, random, copied, value };

/// Tokens of one kind in a row, copied or a value, and how far back they are said for the first time.
struct told_span {
    token_kind kind;
    index_t begin, count, distance;
};

/// tokens[i + 1] is to be guessed from tokens[0 ... i].
struct window {
    std::vector<token> tokens;      ///< [length + 1]
    std::vector<token_kind> kinds;  ///< of each token [length + 1]
    std::vector<told_span> told;    ///< in order of begin

    index_t length() const { return std::ssize(tokens) - 1; }
};

/// A window from anywhere in the text. Every item's distance is log-uniform between its own length and what the window
/// leaves, its place uniform; an item that finds no free place is drawn anew, and left out after some trials.
///
/// @param vocabulary  text has tokens below vocabulary - 1, which is the mark
window draw_window(generator& draw, const window_shape& shape, std::span<const token> text, token vocabulary,
                   index_t length);

}  // namespace demo
