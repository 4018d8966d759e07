// SPDX-License-Identifier: MIT
// Normalizes and rotates the heads of one token, one after the other; the reference for all backends; serves stage
// rotation.
#pragma once

#include "cordage/angles/angle_source.hpp"
#include "cordage/core/macros.hpp"
#include "cordage/core/pairing.hpp"
#include "cordage/pair/rotate.hpp"
#include "cordage/tensors/operand.hpp"

namespace cordage::backend {

/// y = R n(x), or n(R x) if the norm follows, for every head of a token; the norm alone if the operand is not rotated.
/// Angles are recomputed for each head.
template <pairing Pairing, class Source, operand_type Operand>
CORDAGE_ALWAYS_INLINE void rotate_normalized(const Source& angles, const Operand& o, index_t row,
                                             index_t token) noexcept {
    using real = typename Operand::compute;
    const auto lanes = o.lanes_of(row, token);
    if (lanes.x == nullptr) return;
    const auto& norm = o.norm;
    const index_t heads = o.shape().heads, head_dim = o.shape().head_dim;
    const index_t pairs = o.is_rotated() ? angles.pairs() : 0, begin = o.first_lane, end = begin + 2 * pairs;
    const bool is_after = norm.is_after_rotation;
    const auto rounded = [&](real number) CORDAGE_ALWAYS_INLINE_LAMBDA {
        return norm.is_rounded_between ? o.x.format.load(o.x.format.store(number)) : number;
    };
    const auto angle = [&](index_t pair)
                           CORDAGE_ALWAYS_INLINE_LAMBDA { return cos_sin_at<real>(angles, row, token, pair); };
    // A lane of the norm's input: x, or the rotated x.
    const auto before_norm = [&](index_t head, index_t lane) CORDAGE_ALWAYS_INLINE_LAMBDA {
        const auto* x = lanes.x - begin + head * o.x.head_stride;
        if (!is_after || lane < begin || lane >= end) return o.x.format.load(x[lane]);
        const index_t pair = Pairing::pair_of(lane - begin, pairs), lane0 = begin + Pairing::first(pair, pairs);
        const auto of = rotated(angle(pair), lane_pair<real>{o.x.format.load(x[lane0]),
                                                             o.x.format.load(x[begin + Pairing::second(pair, pairs)])});
        return rounded(lane == lane0 ? of.first : of.second);
    };
    const auto squares_of = [&](index_t head) CORDAGE_ALWAYS_INLINE_LAMBDA {
        real sum = 0;
        for (index_t lane = 0; lane < head_dim; ++lane) {
            const real number = before_norm(head, lane);
            sum += number * number;
        }
        return sum;
    };
    real squares = 0;
    for (index_t head = 0; norm.is_over_all_heads && head < heads; ++head) squares += squares_of(head);
    for (index_t head = 0; head < heads; ++head) {
        const real r = norm.is_over_all_heads ? norm.inverse_rms(squares, heads * head_dim)
                                              : norm.inverse_rms(squares_of(head), head_dim);
        auto* y = lanes.y - begin + head * o.y.head_stride;
        const auto normalized = [&](index_t lane) CORDAGE_ALWAYS_INLINE_LAMBDA {
            const real n = before_norm(head, lane) * r * norm.template factor<real>(head, lane, head_dim);
            return is_after ? n : rounded(n);
        };
        for (index_t pair = 0; pair < pairs; ++pair) {
            const index_t lane0 = begin + Pairing::first(pair, pairs), lane1 = begin + Pairing::second(pair, pairs);
            lane_pair<real> out{normalized(lane0), normalized(lane1)};
            if (!is_after) out = rotated(angle(pair), out);
            y[lane0] = o.y.format.store(out.first);
            y[lane1] = o.y.format.store(out.second);
        }
        for (index_t lane = 0; lane < head_dim; ++lane) {
            if (lane < begin || lane >= end) y[lane] = o.y.format.store(normalized(lane));
        }
    }
}

}  // namespace cordage::backend
