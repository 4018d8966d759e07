// SPDX-License-Identifier: MIT
// Vector backward pass: grad_x and all other gradients in one pass; serves stage rotation.
#pragma once

#include "cordage/backend/gradients.hpp"
#include "cordage/backend/simd/forward.hpp"
#include "cordage/backend/simd/normalized_backward.hpp"
#include "cordage/backend/simd/processor.hpp"
#include "cordage/backend/simd/streaming_stores.hpp"

namespace cordage::backend {

namespace simd_detail {

/// grad_x of Count vectors of pairs of every head of one token; their dL/dangle, summed over the heads, is added to
/// grad_angle.
///
/// @param g, y, gx  the pairs' first lane of the token's first head
template <class Layout, std::size_t Count, pairing Pairing, class Operand, class T, class Real>
CORDAGE_ALWAYS_INLINE void backward_heads(const Operand& o, const T* g, const T* y, T* gx, const angle_row<Real>& at,
                                          index_t pairs, const head_loop& pass, Real* grad_angle) noexcept {
    typename Layout::angles angles[Count];
    typename Layout::sum_type sums[Count];
    unrolled<Count>([&](auto v) CORDAGE_ALWAYS_INLINE_LAMBDA {
        constexpr index_t skip = v * Layout::pairs_each;
        angles[v] = Layout::load_angles(at.cos + skip, at.sin + skip, Real(1), Real(-1));
        sums[v] = Layout::zero();
    });
    const auto g_format = o.grad_y.format;
    const auto y_format = o.y.format;
    const auto x_format = o.grad_x.format;
    const index_t heads = pass.heads, g_stride = o.grad_y.head_stride, y_stride = o.y.head_stride;
    const index_t x_stride = o.grad_x.head_stride;
    const auto rotate_one = [&](index_t h, T* to, index_t pairs_of_gx) CORDAGE_ALWAYS_INLINE_LAMBDA {
        unrolled<Count>([&](auto v) CORDAGE_ALWAYS_INLINE_LAMBDA {
            constexpr index_t skip = Pairing::first(v * Layout::pairs_each, 0);
            const T *const g_lanes = g + h * g_stride + skip, *const y_lanes = y + h * y_stride + skip;
            if constexpr (requires { Layout::backward(angles[0], g, y, pairs, gx, pairs, sums[0]); }) {
                Layout::backward(angles[v], g_lanes, y_lanes, pairs, to + skip, pairs_of_gx, sums[v]);
            } else {
                const auto grad = Layout::load(g_format, g_lanes, pairs), out = Layout::load(y_format, y_lanes, pairs);
                Layout::store(x_format, Layout::rotate(angles[v], grad), to + skip, pairs_of_gx);
                sums[v] = Layout::add(sums[v], grad, out);
            }
        });
    };
    const auto rotate_all = [&](auto fetch_g, auto fetch_y, const auto& rotate) CORDAGE_ALWAYS_INLINE_LAMBDA {
        for (index_t h = 0; h < heads; ++h) {
            fetch_g(g, h * g_stride);
            fetch_y(y, h * y_stride);
            rotate(h);
        }
        unrolled<Count>(
            [&](auto v) CORDAGE_ALWAYS_INLINE_LAMBDA { Layout::add_to(grad_angle + v * Layout::pairs_each, sums[v]); });
    };
    const auto to_gx = [&](index_t h) CORDAGE_ALWAYS_INLINE_LAMBDA { rotate_one(h, gx + h * x_stride, pairs); };
    const index_t lanes_ahead = pass.is_long ? 2 * pairs : 0;
    using staged = staged_pairs<Layout, Count, Pairing, T>;
    if constexpr (staged::are_lines) {
        if (pass.uses_streaming_stores && gx != g && gx != y && staged::begin_at_lines(gx, x_stride, pairs)) {
            staged stage;
            rotate_all(ahead(g, g_stride, lanes_ahead), ahead(y, y_stride, lanes_ahead),
                       [&](index_t h) CORDAGE_ALWAYS_INLINE_LAMBDA {
                           rotate_one(h, stage.lanes(), staged::count);
                           stage.store_streaming(gx + h * x_stride, pairs);
                       });
            return;
        }
    }
    if (pass.is_prefetched) {
        rotate_all(ahead(g, g_stride, lanes_ahead), ahead(y, y_stride, lanes_ahead), to_gx);
    } else {
        rotate_all(no_prefetch{}, no_prefetch{}, to_gx);
    }
}

/// The backward pass of the tokens [begin, end) of all operands. One function for all sources.
template <pairing Pairing, class Arch, class O>
CORDAGE_ONE_BODY void backward_tokens(const token_angles<typename O::compute>& angles, const operand_list<O>& operands,
                                      const token_gradients<typename O::compute>& grads, index_t begin,
                                      index_t end) noexcept {
    using real = typename O::compute;
    const index_t pairs = angles.pairs(), tokens = angles.tokens();
    const index_t bytes = bytes_of_call(operands);
    const bool is_long = bytes > beyond_l1;
    const bool is_streaming = has_streaming_stores && exceeds_caches<Arch>(3 * bytes);
    const bool are_heads_fetched = is_long && bytes > this_processor<Arch>().prefetched_from;
    bool copies = false;
    for (const O& o : operands) copies = copies || has_unrotated(o, 2 * pairs);
    angle_rows<real> rows(angles, end);
    for_each_token(tokens, begin, end, [&](index_t row, index_t token) CORDAGE_ALWAYS_INLINE_LAMBDA {
        if constexpr (O::is_normalized) {
            double* weights = grads.weights();
            alignas(64) real to_angles[row_block] = {};
            for (const O& o : operands) {
                backward_normalized<Pairing>(simd<Arch>{}, angles, o, grads, o.grad_weight.empty() ? nullptr : weights,
                                             row, token, is_long, rows, to_angles);
                weights += o.grad_weight.size();
            }
            if (pairs <= row_block) grads.add(row, token, 0, pairs, to_angles);
        } else {
            if (grads.has_factor()) grads.add_factor(row, token, dot_of_token(operands, row, token, 2 * pairs));
            for (index_t first = 0; first < pairs; first += row_block) {
                const index_t count = std::min(row_block, pairs - first);
                const angle_row<real> at = rows(row, token, first, count);
                alignas(64) real grad_angle[row_block] = {};
                for (const O& o : operands) {
                    const auto lanes = o.lanes_of(row, token);
                    if (lanes.grad_x == nullptr) continue;
                    in_vectors<Arch, Pairing, O>(
                        count,
                        [&]<class A, std::size_t Count>(vectors<A, Count>, index_t skip) CORDAGE_ALWAYS_INLINE_LAMBDA {
                            if constexpr (std::is_void_v<A>) {
                                const cos_sin<real> one{at.cos[skip], -at.sin[skip]};
                                grad_angle[skip] = backward_pair<real, Pairing>(o, row, token, first + skip, pairs, one,
                                                                                grad_angle[skip]);
                            } else {
                                const index_t lane = Pairing::first(first + skip, pairs);
                                simd_detail::backward_heads<layout_of<A, Pairing, O>, Count, Pairing>(
                                    o, lanes.grad_y + lane, lanes.y + lane, lanes.grad_x + lane,
                                    {at.cos + skip, at.sin + skip}, pairs,
                                    {.heads = o.shape().heads,
                                     .is_long = is_long && lane == 0,
                                     .is_prefetched = are_heads_fetched && lane == 0,
                                     .uses_streaming_stores = is_streaming},
                                    grad_angle + skip);
                            }
                        });
                }
                grads.add(row, token, first, count, grad_angle);
            }
            if (copies) {
                for (const O& o : operands) copy_unrotated(o, row, token, 2 * pairs);
            }
        }
    });
    if (is_streaming) end_streaming_stores();
}

}  // namespace simd_detail

/// The scalar backend's function in vectors of Arch; sums over a token's heads in the compute type, over tokens in
/// double.
template <pairing Pairing, class Arch, class Source, class O>
CORDAGE_ALWAYS_INLINE void backward_range(simd<Arch>, const Source& angles, const operand_list<O>& operands,
                                          const angle_gradients& grads, index_t begin, index_t end) noexcept {
    using real = typename O::compute;
    simd_detail::backward_tokens<Pairing, Arch>(token_angles<real>::of(simd<Arch>{}, angles), operands,
                                                token_gradients<real>::of(simd<Arch>{}, angles, grads), begin, end);
}

}  // namespace cordage::backend
