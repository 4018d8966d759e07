// SPDX-License-Identifier: MIT
// Vector backward pass: grad_x and the gradients behind the angles in one walk; serves stage rotation.
#pragma once

#include "cordage/backend/scalar/backward.hpp"
#include "cordage/backend/simd/forward.hpp"

namespace cordage::backend {

namespace simd_detail {

/// grad_x of Count vectors of pairs of every head of one token; dL/dangle of those pairs into grad_angle, summed over
/// the heads.
template <class Arch, pairing Pairing, std::size_t Count, element T>
CORDAGE_ALWAYS_INLINE void backward_heads(const angle_row<compute_of<T>>& at,
                                          std::span<const backward_operand<T>> operands, index_t row, index_t token,
                                          index_t first, index_t pairs, bool is_long,
                                          compute_of<T>* grad_angle) noexcept {
    using lane = turn<Arch, Pairing, T>;
    lane lanes[Count];
    typename lane::sum_type sums[Count];
    for (std::size_t v = 0; v < Count; ++v) {
        const index_t skip = static_cast<index_t>(v) * lane::pairs_each;
        lanes[v].load(at.cos + skip, at.sin + skip, 1, 1);
        sums[v] = lane::zero();
    }
    for (const backward_operand<T>& o : operands) {
        const T *g = o.grad_y.head(row, token, 0) + o.first_lane, *y = o.y.head(row, token, 0) + o.first_lane;
        T* gx = o.grad_x.head(row, token, 0) + o.first_lane;
        const ahead<T> later_g(is_long && first == 0, o.grad_y.head_stride, 2 * pairs);
        const ahead<T> later_y(is_long && first == 0, o.y.head_stride, 2 * pairs);
        for (index_t h = 0; h < o.y.shape.heads;
             ++h, g += o.grad_y.head_stride, y += o.y.head_stride, gx += o.grad_x.head_stride) {
            later_g.prefetch(g);
            later_y.prefetch(y);
            [&]<std::size_t... V>(std::index_sequence<V...>) CORDAGE_ALWAYS_INLINE_LAMBDA {
                (lanes[V].backward(g, y, gx, first + static_cast<index_t>(V) * lane::pairs_each, pairs, sums[V]), ...);
            }
            (std::make_index_sequence<Count>{});
        }
    }
    for (std::size_t v = 0; v < Count; ++v) {
        lane::store(sums[v], grad_angle + static_cast<index_t>(v) * lane::pairs_each);
    }
}

/// The same for the pairs that fill no vector, one at a time.
template <class Arch, pairing Pairing, element T>
void backward_heads_tail(const angle_row<compute_of<T>>& at, std::span<const backward_operand<T>> operands, index_t row,
                         index_t token, index_t first, index_t count, index_t pairs,
                         compute_of<T>* grad_angle) noexcept {
    using real = compute_of<T>;
    using traits = element_traits<T>;
    for (index_t i = 0; i < count; ++i) {
        const index_t lane0 = Pairing::first(first + i, pairs), lane1 = Pairing::second(first + i, pairs);
        real sum = 0;
        for (const backward_operand<T>& o : operands) {
            for (index_t h = 0; h < o.y.shape.heads; ++h) {
                const T *g = o.grad_y.head(row, token, h) + o.first_lane, *y = o.y.head(row, token, h) + o.first_lane;
                T* gx = o.grad_x.head(row, token, h) + o.first_lane;
                const real g0 = traits::load(g[lane0]), g1 = traits::load(g[lane1]);
                const real y0 = traits::load(y[lane0]), y1 = traits::load(y[lane1]);
                gx[lane0] = traits::store(at.cos[i] * g0 + at.sin[i] * g1);
                gx[lane1] = traits::store(at.cos[i] * g1 - at.sin[i] * g0);
                sum += g1 * y0 - g0 * y1;
            }
        }
        grad_angle[i] = sum;
    }
}

/// grad_y . y over the first `lanes` turned lanes of every head of one token, before grad_x overwrites anything.
template <class Arch, element T>
double dot_of_token(std::span<const backward_operand<T>> operands, index_t row, index_t token, index_t lanes) noexcept {
    using traits = element_traits<T>;
    double dot = 0.0;
    for (const backward_operand<T>& o : operands) {
        for (index_t h = 0; h < o.y.shape.heads; ++h) {
            const T *g = o.grad_y.head(row, token, h) + o.first_lane, *y = o.y.head(row, token, h) + o.first_lane;
            for (index_t i = 0; i < lanes; ++i) {
                dot += static_cast<double>(traits::load(g[i])) * static_cast<double>(traits::load(y[i]));
            }
        }
    }
    return dot;
}

}  // namespace simd_detail

/// As the scalar backend's, in vectors of Arch, with sums over one token's heads in compute_of<T> and over tokens in
/// double.
template <pairing Pairing, class Arch, class Source, element T>
CORDAGE_ONE_BODY void backward_range(simd<Arch>, const Source& angles, std::span<const backward_operand<T>> operands,
                                     const angle_gradients& grads, index_t begin, index_t end) noexcept {
    using real = compute_of<T>;
    const index_t pairs = angles.pairs(), tokens = angles.tokens();
    const bool is_long = is_long_walk(operands, end - begin);
    row_buffer<real> buffer;
    alignas(64) real grad_angle[row_block];
    double dot = 0.0;
    for (index_t i = begin; i < end; ++i) {
        const index_t row = i / tokens, token = i % tokens;
        if (grads.attention_factor) dot += simd_detail::dot_of_token<Arch>(operands, row, token, 2 * pairs);
        const double* inv_freq = angles.inv_freq(row).data();
        for (index_t first = 0; first < pairs; first += row_block) {
            const index_t count = std::min(row_block, pairs - first);
            const angle_row<real> at = make_angle_row<Arch>(angles, row, token, first, count, buffer);
            const index_t done = in_vectors<Arch, Pairing, T>(
                count, [&]<class A, std::size_t Count>(vectors<A, Count>, index_t skip) CORDAGE_ALWAYS_INLINE_LAMBDA {
                    simd_detail::backward_heads<A, Pairing, Count>(angle_row<real>{at.cos + skip, at.sin + skip},
                                                                   operands, row, token, first + skip, pairs, is_long,
                                                                   grad_angle + skip);
                });
            simd_detail::backward_heads_tail<Arch, Pairing>(angle_row<real>{at.cos + done, at.sin + done}, operands,
                                                            row, token, first + done, count - done, pairs,
                                                            grad_angle + done);
            for (index_t pair = 0; grads.inv_freq && pair < count; ++pair) {
                const double position = angles.position(row, token, angles.axis(first + pair));
                grads.inv_freq[first + pair] += position * static_cast<double>(grad_angle[pair]);
            }
            if (grads.position) {
                for (index_t pair = 0; pair < count; ++pair) {
                    grads.position[angles.axis(first + pair) * grads.axis_stride + i] +=
                        inv_freq[first + pair] * static_cast<double>(grad_angle[pair]);
                }
            }
        }
        for (const backward_operand<T>& o : operands) {
            simd_detail::copy_rest<Arch>(o.grad_y, o.grad_x, row, token, o.first_lane, 2 * pairs);
        }
    }
    if (grads.attention_factor && begin < end) {
        *grads.attention_factor += dot / angles.attention_factor(begin / tokens);
    }
}

}  // namespace cordage::backend
