// SPDX-License-Identifier: MIT
// Fills a table of cos and sin, in vectors; serves stage rotation.
#pragma once

#include <algorithm>

#include "cordage/backend/simd/angle_row.hpp"
#include "cordage/backend/tags.hpp"
#include "cordage/core/token_chunks.hpp"

namespace cordage::backend {

/// The scalar backend's function in vectors of Arch; entries are bit-identical to those of a rotation.
template <class Arch, class Source, class Real>
CORDAGE_ONE_BODY void fill_range(simd<Arch>, const Source& angles, Real* cos, Real* sin, index_t begin,
                                 index_t end) noexcept {
    const index_t pairs = angles.pairs(), tokens = angles.tokens();
    const auto of_tokens = token_angles<Real>::of(simd<Arch>{}, angles);
    angle_rows<Real> rows(of_tokens, end);
    for_each_token(tokens, begin, end, [&](index_t row, index_t token) CORDAGE_ALWAYS_INLINE_LAMBDA {
        const index_t entry = (row * tokens + token) * pairs;
        for (index_t first = 0; first < pairs; first += row_block) {
            const index_t count = std::min(row_block, pairs - first), at = entry + first;
            if constexpr (has_vector_rows<Arch, Source>) {
                if (count % row_width<Arch, Real> == 0) {
                    write_vector_rows<Arch>(angles, row, token, 1, first, count, cos + at, sin + at, pairs);
                    continue;
                }
            }
            const angle_row<Real> made = rows(row, token, first, count);
            std::copy_n(made.cos, count, cos + at);
            std::copy_n(made.sin, count, sin + at);
        }
    });
}

}  // namespace cordage::backend
