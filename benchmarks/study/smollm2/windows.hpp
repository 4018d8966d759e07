// SPDX-License-Identifier: MIT
// Windows of chunks of text with gaps in the positions between them, which stand for long windows; serves the demo on a
// real model.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "text/windows.hpp"

namespace demo {

/// Consecutive tokens of a text, whose positions jump at some places (as in PoSE, Zhu et al. 2023).
struct chunk_window {
    std::vector<token> tokens;
    std::vector<index_t> position_ids;  ///< increasing, from 0 to context - 1
};

/// The shape of such a window.
struct chunk_shape {
    index_t chunks = 8, last = 256;  ///< the last tokens, at least, are one chunk: their loss counts
    index_t first = 16;              ///< tokens of the first chunk, at least
};

/// Cuts `tokens` at random places and distributes the gaps, which sum to context - tokens, uniformly over the cuts.
/// @throws std::runtime_error  if there are too few tokens for the shape, or more than context
chunk_window draw_chunks(generator& draw, std::span<const token> tokens, index_t context, const chunk_shape& shape);

/// A window of `length` tokens from a random place of `text`, whose last `again` tokens are replaced by some that stand
/// before `shape.last`.
/// @throws std::runtime_error  as draw_chunks; if the text is shorter than length, or again larger than shape.last
chunk_window draw_with_copy(generator& draw, std::span<const token> text, index_t length, index_t again,
                            index_t context, const chunk_shape& shape);

/// Token ids in a file, little-endian uint16. @throws std::runtime_error if it cannot be read or is empty
std::vector<token> read_tokens(const std::filesystem::path& file);

}  // namespace demo
