// SPDX-License-Identifier: MIT
// Vector backward pass: grad_x and the gradients behind the angles in one walk; serves stage rotation.
#pragma once

#include "cordage/backend/gradients.hpp"
#include "cordage/backend/simd/forward.hpp"

namespace cordage::backend {

namespace simd_detail {

/// grad_x of one vector of pairs of a head, and their dL/dangle added to `sum`.
template <class Layout, class GFormat, class YFormat, class XFormat, class T>
CORDAGE_ALWAYS_INLINE void backward_vectors(const typename Layout::angles& at, const GFormat& g_format, const T* g,
                                            const YFormat& y_format, const T* y, const XFormat& x_format, T* gx,
                                            index_t pair, index_t pairs, typename Layout::sum_type& sum) noexcept {
    if constexpr (requires { Layout::backward(at, g, y, gx, pair, pairs, sum); }) {
        Layout::backward(at, g, y, gx, pair, pairs, sum);
        return;
    } else {
        const auto grad = Layout::load(g_format, g, pair, pairs);
        const auto out = Layout::load(y_format, y, pair, pairs);
        Layout::store(x_format, Layout::rotate(at, grad), gx, pair, pairs);
        sum = Layout::add(sum, grad, out);
    }
}

/// grad_x of Count vectors of pairs of every head of one token; dL/dangle of those pairs into grad_angle, added up over
/// the heads.
template <class Arch, pairing Pairing, std::size_t Count, class Operand, class Real = typename Operand::compute>
CORDAGE_ALWAYS_INLINE void backward_heads(const angle_row<Real>& at, std::span<const Operand* const> operands,
                                          index_t row, index_t token, index_t first, index_t pairs, bool is_long,
                                          Real* grad_angle) noexcept {
    using layout = layout_of<Arch, Pairing, Operand>;
    typename layout::angles angles[Count];
    typename layout::sum_type sums[Count];
    for (std::size_t v = 0; v < Count; ++v) {
        const index_t skip = static_cast<index_t>(v) * layout::pairs_each;
        angles[v] = layout::load_angles(at.cos + skip, at.sin + skip, Real(1), Real(-1));
        sums[v] = layout::zero();
    }
    for (const Operand* each : operands) {
        const Operand& o = *each;
        if (o.shape().heads == 0) continue;
        const auto *g = o.grad_y.token(row, token), *y = o.y.token(row, token);
        auto* gx = o.grad_x.token(row, token);
        if (g == nullptr || y == nullptr || gx == nullptr) continue;
        g += o.first_lane, y += o.first_lane, gx += o.first_lane;
        const ahead later_g(g, is_long && first == 0, o.grad_y.head_stride, 2 * pairs);
        const ahead later_y(y, is_long && first == 0, o.y.head_stride, 2 * pairs);
        const auto g_format = o.grad_y.format;
        const auto y_format = o.y.format;
        const auto x_format = o.grad_x.format;
        const index_t heads = o.y.shape.heads, g_stride = o.grad_y.head_stride, y_stride = o.y.head_stride;
        const index_t x_stride = o.grad_x.head_stride;
        for (index_t h = 0; h < heads; ++h, g += g_stride, y += y_stride, gx += x_stride) {
            later_g.prefetch(g);
            later_y.prefetch(y);
            [&]<std::size_t... V>(std::index_sequence<V...>) CORDAGE_ALWAYS_INLINE_LAMBDA {
                (backward_vectors<layout>(angles[V], g_format, g, y_format, y, x_format, gx,
                                          first + static_cast<index_t>(V) * layout::pairs_each, pairs, sums[V]),
                 ...);
            }
            (std::make_index_sequence<Count>{});
        }
    }
    for (std::size_t v = 0; v < Count; ++v) {
        layout::write(sums[v], grad_angle + static_cast<index_t>(v) * layout::pairs_each);
    }
}

}  // namespace simd_detail

/// As the scalar backend's, in vectors of Arch, with sums over one token's heads in compute_type and over tokens in
/// double.
template <pairing Pairing, class Arch, class Source, class Operands>
CORDAGE_ONE_BODY void backward_range(simd<Arch>, const Source& angles, const Operands& operands,
                                     const angle_gradients& grads, index_t begin, index_t end) noexcept {
    using real = compute_type<Operands>;
    const index_t pairs = angles.pairs(), tokens = angles.tokens();
    const bool is_long = is_long_walk(operands, end - begin);
    row_buffer<real> buffer;
    alignas(64) real grad_angle[row_block];
    for_each_token(tokens, begin, end, [&](index_t row, index_t token) CORDAGE_ALWAYS_INLINE_LAMBDA {
        if (grads.attention_factor != nullptr) {
            double dot = 0.0;
            for_each_operand(operands, [&](const auto& o) { dot += dot_of_token(o, row, token, 2 * pairs); });
            grads.add_factor(angles, row, token, dot);
        }
        for (index_t first = 0; first < pairs; first += row_block) {
            const index_t count = std::min(row_block, pairs - first);
            const angle_row<real> at = make_angle_row<Arch>(angles, row, token, first, count, buffer);
            for_each_type(operands, [&]<class O>(std::span<const O* const> same) CORDAGE_ALWAYS_INLINE_LAMBDA {
                const index_t done =
                    in_vectors<Arch, Pairing, O>(count, [&]<class A, std::size_t Count>(vectors<A, Count>, index_t skip)
                                                            CORDAGE_ALWAYS_INLINE_LAMBDA {
                                                                simd_detail::backward_heads<A, Pairing, Count, O>(
                                                                    {at.cos + skip, at.sin + skip}, same, row, token,
                                                                    first + skip, pairs, is_long, grad_angle + skip);
                                                            });
                for (index_t pair = done; pair < count; ++pair) {
                    const cos_sin<real> one{at.cos[pair], -at.sin[pair]};
                    grad_angle[pair] = 0;
                    for (const O* o : same) {
                        grad_angle[pair] =
                            backward_pair<real, Pairing>(*o, row, token, first + pair, pairs, one, grad_angle[pair]);
                    }
                }
                grads.add(angles, row, token, first, count, grad_angle);
            });
        }
        for_each_operand(operands, [&](const auto& o) CORDAGE_ALWAYS_INLINE_LAMBDA {
            copy_unrotated(o.grad_y, o.grad_x, row, token, o.first_lane, 2 * pairs);
        });
    });
}

}  // namespace cordage::backend
