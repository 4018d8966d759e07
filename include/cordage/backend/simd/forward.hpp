// SPDX-License-Identifier: MIT
// Vector rotation of q and k, forward, adjoint and inverse; serves stage rotation.
#pragma once

#include "cordage/backend/direction.hpp"
#include "cordage/backend/scalar/pair_of_heads.hpp"
#include "cordage/backend/scalar/staged_heads.hpp"
#include "cordage/backend/simd/angle_row.hpp"
#include "cordage/backend/simd/lane_memory.hpp"
#include "cordage/backend/simd/normalized_heads.hpp"
#include "cordage/backend/simd/past_caches.hpp"
#include "cordage/backend/simd/walk.hpp"
#include "cordage/backend/tags.hpp"
#include "cordage/core/token_chunks.hpp"

namespace cordage::backend {

namespace simd_detail {

/// Rotates Count vectors of pairs of some heads of one token: their cos and sin stay in registers while the heads go
/// by.
///
/// @param x, y  the pairs' first lane of the first of these heads
template <class Layout, std::size_t Count, pairing Pairing, class Operand, class X, class Y, class Real>
CORDAGE_ALWAYS_INLINE void rotate_heads(const Operand& o, const X* x, Y* y, const angle_row<Real>& at,
                                        const cos_sin<Real>& factor, index_t pairs,
                                        const pass_over_heads& walk) noexcept {
    typename Layout::angles angles[Count];
    unrolled<Count>([&](auto v) CORDAGE_ALWAYS_INLINE_LAMBDA {
        constexpr index_t skip = v * Layout::pairs_each;
        angles[v] = Layout::load_angles(at.cos + skip, at.sin + skip, factor.cos, factor.sin);
    });
    const auto x_format = o.x.format;
    const auto y_format = o.y.format;
    const index_t heads = walk.heads, x_stride = o.x.head_stride, y_stride = o.y.head_stride;
    const auto rotate_one = [&](Y* to, index_t pairs_of_y) CORDAGE_ALWAYS_INLINE_LAMBDA {
        unrolled<Count>([&](auto v) CORDAGE_ALWAYS_INLINE_LAMBDA {
            constexpr index_t skip = Pairing::first(v * Layout::pairs_each, 0);
            const auto rotated = Layout::rotate(angles[v], Layout::load(x_format, x + skip, pairs));
            Layout::store(y_format, rotated, to + skip, pairs_of_y);
        });
    };
    const auto rotate_all = [&](auto prefetch) CORDAGE_ALWAYS_INLINE_LAMBDA {
        for (index_t h = 0; h < heads; ++h, x += x_stride, y += y_stride) {
            prefetch(x);
            rotate_one(y, pairs);
        }
    };
    using staged = staged_pairs<Layout, Count, Pairing, Y>;
    if constexpr (staged::are_lines) {
        if (walk.is_past_caches && static_cast<const void*>(x) != y && staged::begin_at_lines(y, y_stride, pairs)) {
            staged stage;
            for (index_t h = 0; h < heads; ++h, x += x_stride, y += y_stride) {
                rotate_one(stage.lanes, staged::count);
                stage.store_past_caches(y, pairs);
            }
            return;
        }
    }
    if (walk.is_prefetched) {
        rotate_all(ahead(x, x_stride, 2 * pairs));
    } else {
        rotate_all(not_ahead{});
    }
}

}  // namespace simd_detail

/// As the scalar backend's, in vectors of Arch.
///
///   for each token:  cos, sin of up to 64 pairs
///     for q, then k:  some vectors of each in registers  ->  all heads
template <pairing Pairing, class Direction, class Arch, class Source, class Operands>
CORDAGE_ONE_BODY void rotate_range(simd<Arch>, const Source& angles, const Operands& operands, index_t begin,
                                   index_t end) noexcept {
    using real = compute_type<Operands>;
    const index_t pairs = angles.pairs(), tokens = angles.tokens();
    const index_t bytes_each = bytes_of_token(operands), bytes = bytes_each * (end - begin);
    const bool is_long = bytes > long_walk, are_slots_fetched = bytes > longest_walk;
    const bool is_past = is_past_caches<Arch>(2 * bytes_each * angles.batch() * tokens);
    angle_rows<Arch, Source, real> rows(angles, end);
    angle_row<real> at{};
    for_each_token(tokens, begin, end, [&](index_t row, index_t token) CORDAGE_ALWAYS_INLINE_LAMBDA {
        const auto extra = static_cast<real>(Direction::extra_factor(angles.attention_factor(row, token)));
        const cos_sin<real> factor{extra, Direction::sine_sign * extra};
        if (are_slots_fetched) {
            for_each_operand(operands,
                             [&](const auto& o) CORDAGE_ALWAYS_INLINE_LAMBDA { prefetch_slots(o, row, token); });
        }
        const auto row_of = [&](index_t first, index_t count)
                                CORDAGE_ALWAYS_INLINE_LAMBDA { return at = rows(row, token, first, count); };
        const auto rotate_block = [&]<class O>(const O& o, index_t first, index_t count) CORDAGE_ALWAYS_INLINE_LAMBDA {
            const auto lanes = o.lanes_of(row, token);
            if (lanes.x == nullptr || !o.is_rotated()) return;
            const index_t all = o.shape().heads, at_once = is_past ? heads_past_caches : all;
            index_t done = 0;
            for (index_t head = 0; head < all; head += at_once) {
                done = in_vectors<Arch, Pairing, O>(
                    count,
                    [&]<class A, std::size_t Count>(vectors<A, Count>, index_t skip) CORDAGE_ALWAYS_INLINE_LAMBDA {
                        const index_t lane = Pairing::first(first + skip, pairs);
                        simd_detail::rotate_heads<layout_of<A, Pairing, O>, Count, Pairing>(
                            o, lanes.x + head * o.x.head_stride + lane, lanes.y + head * o.y.head_stride + lane,
                            {at.cos + skip, at.sin + skip}, factor, pairs,
                            {.heads = std::min(at_once, all - head),
                             .is_prefetched = is_long && lane == 0 && o.x.slots.entries == nullptr,
                             .is_past_caches = is_past});
                    });
            }
            for (index_t pair = done; pair < count; ++pair) {
                const cos_sin<real> one{at.cos[pair] * factor.cos, at.sin[pair] * factor.sin};
                rotate_pair<Pairing>(o, row, token, first + pair, pairs, one);
            }
        };
        const auto for_each_block = [&](const auto& f) CORDAGE_ALWAYS_INLINE_LAMBDA {
            for (index_t first = 0; first < pairs; first += row_block) {
                const index_t count = std::min(row_block, pairs - first);
                row_of(first, count);
                f(first, count);
            }
        };
        if constexpr (any_plain<Operands>) {
            for_each_block([&](index_t first, index_t count) CORDAGE_ALWAYS_INLINE_LAMBDA {
                for_each_operand(operands, [&]<class O>(const O& o) CORDAGE_ALWAYS_INLINE_LAMBDA {
                    if constexpr (O::is_plain) rotate_block(o, first, count);
                });
            });
        }
        for_each_operand(operands, [&]<class O>(const O& o) CORDAGE_ALWAYS_INLINE_LAMBDA {
            if constexpr (O::has_head_format) {
                rotate_staged<xsimd::batch<float, Arch>>(
                    angles, o, row, token, [&](const auto& some) CORDAGE_ALWAYS_INLINE_LAMBDA {
                        if constexpr (O::is_normalized) {
                            rotate_normalized<Pairing>(simd<Arch>{}, angles, some, row, token, is_long, row_of);
                        } else {
                            for_each_block([&](index_t first, index_t count)
                                               CORDAGE_ALWAYS_INLINE_LAMBDA { rotate_block(some, first, count); });
                            copy_unrotated(some, row, token, 2 * pairs, simd<Arch>{});
                        }
                    });
            } else if constexpr (O::is_normalized) {
                rotate_normalized<Pairing>(simd<Arch>{}, angles, o, row, token, is_long, row_of);
            } else {
                copy_unrotated(o, row, token, 2 * pairs, simd<Arch>{});
            }
        });
    });
    if (is_past) end_stores_past_caches();
}

}  // namespace cordage::backend
