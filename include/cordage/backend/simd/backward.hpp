// SPDX-License-Identifier: MIT
// Vector backward pass: grad_x and the gradients behind the angles in one walk; serves stage rotation.
#pragma once

#include "cordage/backend/scalar/backward.hpp"
#include "cordage/backend/simd/forward.hpp"

namespace cordage::backend {

namespace simd_detail {

/// grad_x of Count vectors of pairs of every head of one token; dL/dangle of those pairs into grad_angle, summed over
/// the heads; returns grad_y . y over the same lanes.
template <class Arch, pairing Pairing, std::size_t Count, element T>
CORDAGE_ALWAYS_INLINE double backward_heads(const angle_row<compute_of<T>>& at,
                                            std::span<const backward_operand<T>> operands, index_t row, index_t token,
                                            index_t first, index_t pairs, compute_of<T>* grad_angle) noexcept {
    using lane = turn<Arch, Pairing, T>;
    using vector = reals<Arch, T>;
    lane lanes[Count];
    vector sums[Count];
    vector dot(compute_of<T>(0));
    for (std::size_t v = 0; v < Count; ++v) {
        const index_t skip = static_cast<index_t>(v) * lane::pairs_each;
        lanes[v].load(at.cos + skip, at.sin + skip, 1, 1);
        sums[v] = vector(compute_of<T>(0));
    }
    for (const backward_operand<T>& o : operands) {
        const T *g = o.grad_y.head(row, token, 0), *y = o.y.head(row, token, 0);
        T* gx = o.grad_x.head(row, token, 0);
        for (index_t h = 0; h < o.y.shape.heads;
             ++h, g += o.grad_y.head_stride, y += o.y.head_stride, gx += o.grad_x.head_stride) {
            [&]<std::size_t... V>(std::index_sequence<V...>) CORDAGE_ALWAYS_INLINE_LAMBDA {
                (lanes[V].backward(g, y, gx, first + static_cast<index_t>(V) * lane::pairs_each, pairs, sums[V], dot),
                 ...);
            }
            (std::make_index_sequence<Count>{});
        }
    }
    for (std::size_t v = 0; v < Count; ++v) {
        lane::store_grad_angle(sums[v], grad_angle + static_cast<index_t>(v) * lane::pairs_each);
    }
    return static_cast<double>(xsimd::hadd(dot));
}

template <class Arch, pairing Pairing, element T>
double backward_heads_tail(const angle_row<compute_of<T>>& at, std::span<const backward_operand<T>> operands,
                           index_t row, index_t token, index_t first, index_t count, index_t pairs,
                           compute_of<T>* grad_angle) noexcept {
    using real = compute_of<T>;
    using traits = element_traits<T>;
    real dot = 0;
    for (index_t i = 0; i < count; ++i) {
        const index_t lane0 = Pairing::first(first + i, pairs), lane1 = Pairing::second(first + i, pairs);
        real sum = 0;
        for (const backward_operand<T>& o : operands) {
            for (index_t h = 0; h < o.y.shape.heads; ++h) {
                const T *g = o.grad_y.head(row, token, h), *y = o.y.head(row, token, h);
                T* gx = o.grad_x.head(row, token, h);
                const real g0 = traits::load(g[lane0]), g1 = traits::load(g[lane1]);
                const real y0 = traits::load(y[lane0]), y1 = traits::load(y[lane1]);
                gx[lane0] = traits::store(at.cos[i] * g0 + at.sin[i] * g1);
                gx[lane1] = traits::store(at.cos[i] * g1 - at.sin[i] * g0);
                sum += g1 * y0 - g0 * y1;
                dot += g0 * y0 + g1 * y1;
            }
        }
        grad_angle[i] = sum;
    }
    return static_cast<double>(dot);
}

}  // namespace simd_detail

/// As the scalar backend's, in vectors of Arch, with sums over one token's heads in compute_of<T> and over tokens in
/// double.
template <pairing Pairing, class Arch, class Source, element T>
CORDAGE_ONE_BODY void backward_range(simd<Arch>, const Source& angles, std::span<const backward_operand<T>> operands,
                                     const angle_gradients& grads, index_t begin, index_t end) noexcept {
    using lane = turn<Arch, Pairing, T>;
    using real = compute_of<T>;
    const index_t pairs = angles.pairs(), tokens = angles.tokens();
    row_buffer<real> buffer;
    alignas(64) real grad_angle[row_block];
    double dot = 0.0;
    for (index_t i = begin; i < end; ++i) {
        const index_t row = i / tokens, token = i % tokens;
        const double* inv_freq = angles.inv_freq(row).data();
        for (index_t first = 0; first < pairs; first += row_block) {
            const index_t count = std::min(row_block, pairs - first);
            angle_row<real> at = make_angle_row<Arch>(angles, row, token, first, count, buffer);
            index_t done = 0;
            const auto step = [&]<std::size_t Count>(std::integral_constant<std::size_t, Count>) {
                constexpr index_t taken = static_cast<index_t>(Count) * lane::pairs_each;
                for (; done + taken <= count; done += taken, at.cos += taken, at.sin += taken) {
                    dot += simd_detail::backward_heads<Arch, Pairing, Count>(at, operands, row, token, first + done,
                                                                             pairs, grad_angle + done);
                }
            };
            step(std::integral_constant<std::size_t, lane::most_in_registers>{});
            step(std::integral_constant<std::size_t, 1>{});
            dot += simd_detail::backward_heads_tail<Arch, Pairing>(at, operands, row, token, first + done, count - done,
                                                                   pairs, grad_angle + done);
            for (index_t axis = 0; grads.inv_freq && axis < angles.axes(); ++axis) {
                const double position = angles.position(row, token, axis);
                for (index_t pair = 0; pair < count; ++pair) {
                    if (angles.axis(first + pair) != axis) continue;
                    grads.inv_freq[first + pair] += position * static_cast<double>(grad_angle[pair]);
                }
            }
            if (grads.position) {
                for (index_t pair = 0; pair < count; ++pair) {
                    grads.position[angles.axis(first + pair) * grads.axis_stride + i] +=
                        inv_freq[first + pair] * static_cast<double>(grad_angle[pair]);
                }
            }
        }
        for (const backward_operand<T>& o : operands) {
            simd_detail::copy_rest<Arch>(o.grad_y, o.grad_x, row, token, 2 * pairs);
        }
    }
    if (grads.attention_factor && begin < end) {
        *grads.attention_factor += dot / angles.attention_factor(begin / tokens);
    }
}

}  // namespace cordage::backend
