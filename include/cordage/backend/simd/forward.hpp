// SPDX-License-Identifier: MIT
// Vector rotation of q and k, forward, adjoint and inverse; serves stage rotation.
#pragma once

#include <cstring>
#include <utility>

#include "cordage/backend/direction.hpp"
#include "cordage/backend/scalar/forward.hpp"
#include "cordage/backend/simd/angle_row.hpp"
#include "cordage/backend/simd/walk.hpp"

namespace cordage::backend {

// Functions that touch no vector take Arch too: compiled for this unit's instruction set, they must not serve another.
namespace simd_detail {

/// Turns pairs [first, first + Count * pairs_each) of every head of one token: Count vectors of cos and of sin are
/// loaded once and stay in registers while the heads go by.
template <class Arch, pairing Pairing, std::size_t Count, element T>
CORDAGE_ALWAYS_INLINE void turn_heads(const angle_row<compute_of<T>>& at, cos_sin<compute_of<T>> factor,
                                      std::span<const operand<T>> operands, index_t row, index_t token, index_t first,
                                      index_t pairs, bool is_long) noexcept {
    using lane = turn<Arch, Pairing, T>;
    lane lanes[Count];
    for (std::size_t v = 0; v < Count; ++v) {
        const index_t skip = static_cast<index_t>(v) * lane::pairs_each;
        lanes[v].load(at.cos + skip, at.sin + skip, factor.cos, factor.sin);
    }
    for (const operand<T>& o : operands) {
        const T* x = o.x.head(row, token, 0) + o.first_lane;
        T* y = o.y.head(row, token, 0) + o.first_lane;
        const ahead<T> later(is_long && first == 0, o.x.head_stride, 2 * pairs);
        const index_t heads = o.x.shape.heads, x_stride = o.x.head_stride, y_stride = o.y.head_stride;
        for (index_t h = 0; h < heads; ++h, x += x_stride, y += y_stride) {
            later.prefetch(x);
            [&]<std::size_t... V>(std::index_sequence<V...>) CORDAGE_ALWAYS_INLINE_LAMBDA {
                (lanes[V].apply(x, y, first + static_cast<index_t>(V) * lane::pairs_each, pairs), ...);
            }
            (std::make_index_sequence<Count>{});
        }
    }
}

/// The pairs that fill no vector, one at a time.
template <class Arch, pairing Pairing, element T>
void turn_heads_tail(const angle_row<compute_of<T>>& at, cos_sin<compute_of<T>> factor,
                     std::span<const operand<T>> operands, index_t row, index_t token, index_t first, index_t count,
                     index_t pairs) noexcept {
    using real = compute_of<T>;
    using traits = element_traits<T>;
    for (index_t i = 0; i < count; ++i) {
        const real c = at.cos[i] * factor.cos, s = at.sin[i] * factor.sin;
        const index_t lane0 = Pairing::first(first + i, pairs), lane1 = Pairing::second(first + i, pairs);
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
}

/// The lanes of every head around the `turned` ones, where source and destination differ.
template <class Arch, element T>
void copy_rest(const heads_view<const T>& x, const heads_view<T>& y, index_t row, index_t token, index_t first_lane,
               index_t turned) noexcept {
    const auto before = static_cast<std::size_t>(first_lane) * sizeof(T);
    const auto after = static_cast<std::size_t>(x.shape.head_dim - first_lane - turned) * sizeof(T);
    if (before + after == 0 || x.data == y.data) return;
    for (index_t h = 0; h < x.shape.heads; ++h) {
        const T* from = x.head(row, token, h);
        T* to = y.head(row, token, h);
        std::memcpy(to, from, before);
        std::memcpy(to + first_lane + turned, from + first_lane + turned, after);
    }
}

}  // namespace simd_detail

/// As the scalar backend's, in vectors of Arch.
///
///   for each token:  cos, sin of up to 64 pairs  ->  some vectors of each in registers  ->  all heads of q, then of k
template <pairing Pairing, class Direction, class Arch, class Source, element T>
CORDAGE_ONE_BODY void rotate_range(simd<Arch>, const Source& angles, std::span<const operand<T>> operands,
                                   index_t begin, index_t end) noexcept {
    using real = compute_of<T>;
    const index_t pairs = angles.pairs(), tokens = angles.tokens();
    const bool is_long = is_long_walk(operands, end - begin);
    row_buffer<real> buffer;
    for (index_t i = begin; i < end; ++i) {
        const index_t row = i / tokens, token = i % tokens;
        const auto extra = static_cast<real>(Direction::extra_factor(angles.attention_factor(row)));
        const cos_sin<real> factor = Direction::turn(cos_sin<real>{extra, extra});
        for (index_t first = 0; first < pairs; first += row_block) {
            const index_t count = std::min(row_block, pairs - first);
            const angle_row<real> at = make_angle_row<Arch>(angles, row, token, first, count, buffer);
            const index_t done = in_vectors<Arch, Pairing, T>(
                count, [&]<class A, std::size_t Count>(vectors<A, Count>, index_t skip) CORDAGE_ALWAYS_INLINE_LAMBDA {
                    simd_detail::turn_heads<A, Pairing, Count>(angle_row<real>{at.cos + skip, at.sin + skip}, factor,
                                                               operands, row, token, first + skip, pairs, is_long);
                });
            simd_detail::turn_heads_tail<Arch, Pairing>(angle_row<real>{at.cos + done, at.sin + done}, factor, operands,
                                                        row, token, first + done, count - done, pairs);
        }
        for (const operand<T>& o : operands)
            simd_detail::copy_rest<Arch>(o.x, o.y, row, token, o.first_lane, 2 * pairs);
    }
}

}  // namespace cordage::backend
