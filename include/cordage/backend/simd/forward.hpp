// SPDX-License-Identifier: MIT
// Vector rotation of q and k, forward, adjoint and inverse; serves stage rotation.
#pragma once

#include <utility>

#include "cordage/backend/direction.hpp"
#include "cordage/backend/scalar/pair_of_heads.hpp"
#include "cordage/backend/simd/angle_row.hpp"
#include "cordage/backend/simd/walk.hpp"
#include "cordage/backend/tags.hpp"
#include "cordage/core/token_chunks.hpp"

namespace cordage::backend {

namespace simd_detail {

/// Rotates pairs [first, first + Count * pairs_each) of every head of one token: Count vectors of cos and of sin are
/// loaded once and stay in registers while the heads go by.
template <class Arch, pairing Pairing, std::size_t Count, class Operand, class Real = typename Operand::compute>
CORDAGE_ALWAYS_INLINE void rotate_heads(const angle_row<Real>& at, const cos_sin<Real>& factor,
                                        std::span<const Operand* const> operands, index_t row, index_t token, index_t first,
                                        index_t pairs, bool is_long) noexcept {
    using layout = layout_of<Arch, Pairing, Operand>;
    typename layout::angles angles[Count];
    for (std::size_t v = 0; v < Count; ++v) {
        const index_t skip = static_cast<index_t>(v) * layout::pairs_each;
        angles[v] = layout::load_angles(at.cos + skip, at.sin + skip, factor.cos, factor.sin);
    }
    for (const Operand* each : operands) {
        const Operand& o = *each;
        const auto lanes = o.lanes_of(row, token);
        auto* x = lanes.x;  // names of their own: clang 14 captures no structured bindings
        auto* y = lanes.y;
        if (x == nullptr) continue;
        const auto x_format = o.x.format;
        const auto y_format = o.y.format;
        const ahead later(x, is_long && first == 0, o.x.head_stride, 2 * pairs);
        const index_t heads = o.x.shape.heads, x_stride = o.x.head_stride, y_stride = o.y.head_stride;
        for (index_t h = 0; h < heads; ++h, x += x_stride, y += y_stride) {
            later.prefetch(x);
            [&]<std::size_t... V>(std::index_sequence<V...>) CORDAGE_ALWAYS_INLINE_LAMBDA {
                (layout::store(y_format,
                               layout::rotate(angles[V], layout::load(x_format, x, first + static_cast<index_t>(V) *
                                                                                           layout::pairs_each, pairs)),
                               y, first + static_cast<index_t>(V) * layout::pairs_each, pairs),
                 ...);
            }
            (std::make_index_sequence<Count>{});
        }
    }
}

}  // namespace simd_detail

/// As the scalar backend's, in vectors of Arch.
///
///   for each token:  cos, sin of up to 64 pairs  ->  some vectors of each in registers  ->  all heads of q, then of k
template <pairing Pairing, class Direction, class Arch, class Source, class Operands>
CORDAGE_ONE_BODY void rotate_range(simd<Arch>, const Source& angles, const Operands& operands, index_t begin,
                                   index_t end) noexcept {
    using real = compute_type<Operands>;
    const index_t pairs = angles.pairs(), tokens = angles.tokens();
    const bool is_long = is_long_walk(operands, end - begin);
    row_buffer<real> buffer;
    for_each_token(tokens, begin, end, [&](index_t row, index_t token) CORDAGE_ALWAYS_INLINE_LAMBDA {
        const auto extra = static_cast<real>(Direction::extra_factor(angles.attention_factor(row, token)));
        const cos_sin<real> factor{extra, Direction::sine_sign * extra};
        for (index_t first = 0; first < pairs; first += row_block) {
            const index_t count = std::min(row_block, pairs - first);
            const angle_row<real> at = make_angle_row<Arch>(angles, row, token, first, count, buffer);
            for_each_type(operands, [&]<class O>(std::span<const O* const> same) CORDAGE_ALWAYS_INLINE_LAMBDA {
                const index_t done = in_vectors<Arch, Pairing, O>(
                    count,
                    [&]<class A, std::size_t Count>(vectors<A, Count>, index_t skip) CORDAGE_ALWAYS_INLINE_LAMBDA {
                        simd_detail::rotate_heads<A, Pairing, Count, O>({at.cos + skip, at.sin + skip}, factor, same,
                                                                        row, token, first + skip, pairs, is_long);
                    });
                for (index_t pair = done; pair < count; ++pair) {
                    const cos_sin<real> one{at.cos[pair] * factor.cos, at.sin[pair] * factor.sin};
                    for (const O* o : same) rotate_pair<Pairing>(*o, row, token, first + pair, pairs, one);
                }
            });
        }
        for_each_operand(operands, [&](const auto& o) CORDAGE_ALWAYS_INLINE_LAMBDA {
            copy_unrotated(o.x, o.y, row, token, o.first_lane, 2 * pairs);
        });
    });
}

}  // namespace cordage::backend
