// SPDX-License-Identifier: MIT
// Vector rotation of q and k, forward, adjoint and inverse, fp32; serves stage rotation.
#pragma once

#include <cstring>
#include <utility>

#include "cordage/backend/direction.hpp"
#include "cordage/backend/scalar/forward.hpp"
#include "cordage/backend/simd/angle_row.hpp"
#include "cordage/backend/simd/lanes.hpp"

namespace cordage::backend {

namespace simd_detail {

/// Turns pairs [first, first + Count * pairs_each) of every head of one token: Count vectors of cos and of sin are
/// loaded once and stay in registers while the heads go by.
template <class Arch, pairing Pairing, std::size_t Count>
CORDAGE_ALWAYS_INLINE void turn_heads(const angle_row& at, float cos_factor, float sin_factor,
                                      std::span<const operand<float>> operands, index_t row, index_t token,
                                      index_t first, index_t pairs) noexcept {
    using lane = turn<Arch, Pairing>;
    lane lanes[Count];
    for (std::size_t v = 0; v < Count; ++v) {
        const index_t skip = static_cast<index_t>(v) * lane::pairs_each;
        lanes[v].load(at.cos + skip, at.sin + skip, cos_factor, sin_factor);
    }
    for (const operand<float>& o : operands) {
        const float* x = o.x.head(row, token, 0);
        float* y = o.y.head(row, token, 0);
        for (index_t h = 0; h < o.x.shape.heads; ++h, x += o.x.head_stride, y += o.y.head_stride) {
            [&]<std::size_t... V>(std::index_sequence<V...>) CORDAGE_ALWAYS_INLINE_LAMBDA {
                (lanes[V].apply(x, y, first + static_cast<index_t>(V) * lane::pairs_each, pairs), ...);
            }
            (std::make_index_sequence<Count>{});
        }
    }
}

/// The pairs that fill no vector, one at a time.
template <pairing Pairing>
void turn_heads_tail(const angle_row& at, float cos_factor, float sin_factor, std::span<const operand<float>> operands,
                     index_t row, index_t token, index_t first, index_t count, index_t pairs) noexcept {
    for (index_t i = 0; i < count; ++i) {
        const float c = at.cos[i] * cos_factor, s = at.sin[i] * sin_factor;
        const index_t lane0 = Pairing::first(first + i, pairs), lane1 = Pairing::second(first + i, pairs);
        for (const operand<float>& o : operands) {
            for (index_t h = 0; h < o.x.shape.heads; ++h) {
                const float* x = o.x.head(row, token, h);
                float* y = o.y.head(row, token, h);
                const float x0 = x[lane0], x1 = x[lane1];
                y[lane0] = c * x0 - s * x1;
                y[lane1] = s * x0 + c * x1;
            }
        }
    }
}

/// Lanes past rotary_dim, where source and destination differ.
template <element T>
void copy_rest(const heads_view<const T>& x, const heads_view<T>& y, index_t row, index_t token,
               index_t rotary_dim) noexcept {
    const auto bytes = static_cast<std::size_t>(x.shape.head_dim - rotary_dim) * sizeof(T);
    if (bytes == 0 || x.data == y.data) return;
    for (index_t h = 0; h < x.shape.heads; ++h) {
        std::memcpy(y.head(row, token, h) + rotary_dim, x.head(row, token, h) + rotary_dim, bytes);
    }
}

}  // namespace simd_detail

/// As the scalar backend's; fp32 goes through vectors of Arch, other types through the scalar kernel.
///
///   for each token:  cos, sin of up to 64 pairs  ->  some vectors of each in registers  ->  all heads of q, then of k
template <pairing Pairing, class Direction, class Arch, class Source, element T>
void rotate_range(simd<Arch>, const Source& angles, std::span<const operand<T>> operands, index_t begin,
                  index_t end) noexcept {
    if constexpr (!std::same_as<T, float>) {
        rotate_range<Pairing, Direction>(scalar{}, angles, operands, begin, end);
    } else {
        using lane = turn<Arch, Pairing>;
        const index_t pairs = angles.pairs(), tokens = angles.tokens();
        row_buffer<Arch> buffer;
        for (index_t i = begin; i < end; ++i) {
            const index_t row = i / tokens, token = i % tokens;
            const auto factor = static_cast<float>(Direction::extra_factor(angles.attention_factor(row)));
            const cos_sin<float> sign = Direction::turn(cos_sin<float>{factor, factor});
            for (index_t first = 0; first < pairs; first += row_block) {
                const index_t count = std::min(row_block, pairs - first);
                angle_row at = make_angle_row<Arch>(angles, row, token, first, count, buffer);
                index_t done = 0;
                const auto step = [&]<std::size_t Count>(std::integral_constant<std::size_t, Count>) {
                    constexpr index_t taken = static_cast<index_t>(Count) * lane::pairs_each;
                    for (; done + taken <= count; done += taken, at.cos += taken, at.sin += taken) {
                        simd_detail::turn_heads<Arch, Pairing, Count>(at, sign.cos, sign.sin, operands, row, token,
                                                                      first + done, pairs);
                    }
                };
                step(std::integral_constant<std::size_t, lane::most_in_registers>{});
                step(std::integral_constant<std::size_t, 1>{});
                simd_detail::turn_heads_tail<Pairing>(at, sign.cos, sign.sin, operands, row, token, first + done,
                                                      count - done, pairs);
            }
            for (const operand<T>& o : operands) simd_detail::copy_rest(o.x, o.y, row, token, 2 * pairs);
        }
    }
}

}  // namespace cordage::backend
