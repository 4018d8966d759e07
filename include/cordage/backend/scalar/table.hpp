// SPDX-License-Identifier: MIT
// Fills a table of cos and sin, scalar; serves stage rotation.
#pragma once

#include "cordage/angles/angle_source.hpp"
#include "cordage/backend/tags.hpp"

namespace cordage::backend {

/// m*cos and m*sin of the tokens [begin, end), numbered row * tokens + token, into tables [batch, tokens, pairs] of
/// float or double.
template <class Source, class Real>
CORDAGE_ONE_BODY void fill_range(scalar, const Source& angles, Real* cos, Real* sin, index_t begin,
                                 index_t end) noexcept {
    const index_t pairs = angles.pairs(), tokens = angles.tokens();
    for (index_t i = begin; i < end; ++i) {
        for (index_t pair = 0; pair < pairs; ++pair) {
            const cos_sin<Real> value = cos_sin_at<Real>(angles, i / tokens, i % tokens, pair);
            cos[i * pairs + pair] = value.cos;
            sin[i * pairs + pair] = value.sin;
        }
    }
}

}  // namespace cordage::backend
