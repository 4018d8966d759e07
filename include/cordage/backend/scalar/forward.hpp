// SPDX-License-Identifier: MIT
// Scalar rotation of q and k, forward, adjoint and inverse: the oracle of all backends; serves stage rotation.
#pragma once

#include <span>

#include "cordage/backend/direction.hpp"
#include "cordage/backend/tags.hpp"
#include "cordage/core/macros.hpp"
#include "cordage/core/operand.hpp"
#include "cordage/core/pairing.hpp"

namespace cordage::backend {

/// Turns the tokens [begin, end) of all operands, counted over the rows of the batch (token index = row*tokens +
/// token).
///
///   for each token, pair:  c, s = cos, sin of its angle      once, then over the heads of q and of k
///     for each head:       (y0, y1) = (c x0 - s x1, s x0 + c x1), each rounded once on store
///
/// Arithmetic in compute_of<T>. Lanes past rotary_dim are copied. Allocates nothing. Checked by the caller.
template <pairing Pairing, class Direction, class Source, element T>
CORDAGE_ONE_BODY void rotate_range(scalar, const Source& angles, std::span<const operand<T>> operands, index_t begin,
                                   index_t end) noexcept {
    using real = compute_of<T>;
    using traits = element_traits<T>;
    const index_t pairs = angles.pairs(), tokens = angles.tokens();
    for (index_t i = begin; i < end; ++i) {
        const index_t row = i / tokens, token = i % tokens;
        const auto factor = static_cast<real>(Direction::extra_factor(angles.attention_factor(row)));
        for (index_t pair = 0; pair < pairs; ++pair) {
            const auto at = Direction::turn(angles.template at<real>(row, token, pair));
            const real c = at.cos * factor, s = at.sin * factor;
            const index_t lane0 = Pairing::first(pair, pairs), lane1 = Pairing::second(pair, pairs);
            for (const operand<T>& o : operands) {
                for (index_t h = 0; h < o.x.shape.heads; ++h) {
                    const T* x = o.x.head(row, token, h) + o.first_lane;
                    T* y = o.y.head(row, token, h) + o.first_lane;
                    const real x0 = traits::load(x[lane0]), x1 = traits::load(x[lane1]);
                    y[lane0] = traits::store(c * x0 - s * x1);
                    y[lane1] = traits::store(s * x0 + c * x1);
                }
            }
        }
        for (const operand<T>& o : operands) {
            for (index_t h = 0; h < o.x.shape.heads; ++h) {
                const T* x = o.x.head(row, token, h);
                T* y = o.y.head(row, token, h);
                if (x == y) continue;
                for (index_t lane = 0; lane < o.first_lane; ++lane) y[lane] = x[lane];
                for (index_t lane = o.first_lane + 2 * pairs; lane < o.x.shape.head_dim; ++lane) y[lane] = x[lane];
            }
        }
    }
}

}  // namespace cordage::backend
