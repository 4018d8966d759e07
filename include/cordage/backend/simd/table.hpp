// SPDX-License-Identifier: MIT
// Vector filling of a table of cos and sin; serves stage rotation.
#pragma once

#include <algorithm>

#include "cordage/backend/simd/angle_row.hpp"
#include "cordage/backend/tags.hpp"

namespace cordage::backend {

/// As the scalar backend's, by the rows that a rotation makes.
template <class Arch, class Source, class Real>
CORDAGE_ONE_BODY void fill_range(simd<Arch>, const Source& angles, Real* cos, Real* sin, index_t begin,
                                 index_t end) noexcept {
    const index_t pairs = angles.pairs(), tokens = angles.tokens();
    constexpr auto width = static_cast<index_t>(xsimd::batch<float, Arch>::size);
    row_buffer<Real> buffer;
    for (index_t i = begin; i < end; ++i) {
        for (index_t first = 0; first < pairs; first += row_block) {
            const index_t count = std::min(row_block, pairs - first), at = i * pairs + first;
            if constexpr (has_vector_rows<Arch, Source, Real>) {
                if (count % width == 0) {
                    write_vector_row<Arch>(angles, i / tokens, i % tokens, first, count, cos + at, sin + at);
                    continue;
                }
            }
            const angle_row<Real> row = make_angle_row<Arch>(angles, i / tokens, i % tokens, first, count, buffer);
            std::copy_n(row.cos, count, cos + at);
            std::copy_n(row.sin, count, sin + at);
        }
    }
}

}  // namespace cordage::backend
