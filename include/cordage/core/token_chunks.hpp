// SPDX-License-Identifier: MIT
// Loops over the tokens of a batch, and chunks of tokens that each produce a partial sum; serves the backends.
#pragma once

#include <algorithm>

#include "cordage/core/index.hpp"
#include "cordage/core/macros.hpp"

namespace cordage {

/// The tokens of a batch cut into chunks. With a basis for each row, a chunk never crosses rows of different bases;
/// with a basis for each token, all bases count as one here (rotate/backward.hpp). The number of chunks depends only on
/// sizes, so that sums over chunks have the same bits for any number of threads.
struct token_chunks {
    index_t share;      ///< tokens of a basis
    index_t length;     ///< tokens of a chunk; the last chunk of a basis may be shorter
    index_t per_basis;  ///< chunks of a basis
    index_t count;      ///< chunks of the batch

    /// At most `most` chunks, or one for each basis if that is more; all but the last of each basis have >= `smallest`
    /// tokens.
    static token_chunks of(index_t tokens, index_t bases, index_t most, index_t smallest) noexcept {
        const index_t share = tokens / bases;
        const index_t length = std::max(smallest, rounded_up_quotient(share, std::max<index_t>(most / bases, 1)));
        const index_t per_basis = rounded_up_quotient(share, length);
        return {share, length, per_basis, per_basis * bases};
    }

    CORDAGE_HOST_DEVICE index_t basis(index_t chunk) const noexcept { return chunk / per_basis; }
    CORDAGE_HOST_DEVICE index_t begin(index_t chunk) const noexcept {
        return basis(chunk) * share + chunk % per_basis * length;
    }
    CORDAGE_HOST_DEVICE index_t end(index_t chunk) const noexcept {
        const index_t end_of_share = (basis(chunk) + 1) * share, end = begin(chunk) + length;
        return end < end_of_share ? end : end_of_share;
    }
};

/// Calls f(row, token) for the tokens [begin, end), numbered row * tokens + token.
template <class F>
CORDAGE_ALWAYS_INLINE void for_each_token(index_t tokens, index_t begin, index_t end, const F& f) {
    if (begin >= end) return;
    index_t row = begin / tokens, token = begin % tokens;
    for (index_t i = begin; i < end; ++i, ++token) {
        if (token == tokens) token = 0, ++row;
        f(row, token);
    }
}

}  // namespace cordage
