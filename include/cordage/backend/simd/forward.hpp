// SPDX-License-Identifier: MIT
// Vector rotation of q and k, forward, adjoint and inverse; serves stage rotation.
#pragma once

#include "cordage/backend/direction.hpp"
#include "cordage/backend/scalar/pair_of_heads.hpp"
#include "cordage/backend/scalar/staged_heads.hpp"
#include "cordage/backend/simd/angle_row.hpp"
#include "cordage/backend/simd/lane_memory.hpp"
#include "cordage/backend/simd/loops.hpp"
#include "cordage/backend/simd/normalized_heads.hpp"
#include "cordage/backend/simd/processor.hpp"
#include "cordage/backend/simd/shared_rows.hpp"
#include "cordage/backend/simd/streaming_stores.hpp"
#include "cordage/backend/tags.hpp"
#include "cordage/core/token_chunks.hpp"

namespace cordage::backend {

namespace simd_detail {

/// cos and sin of Count vectors of pairs, times the factor.
template <class Layout, std::size_t Count, class Real>
struct angles_in_registers {
    typename Layout::angles of[Count];

    CORDAGE_ALWAYS_INLINE angles_in_registers(const angle_row<Real>& at, const cos_sin<Real>& factor) noexcept {
        unrolled<Count>([&](auto v) CORDAGE_ALWAYS_INLINE_LAMBDA {
            constexpr index_t skip = v * Layout::pairs_each;
            of[v] = Layout::load_angles(at.cos + skip, at.sin + skip, factor.cos, factor.sin);
        });
    }
    /// y = R x of these pairs of one head. x, y: their first lanes; pairs: from a pair's first lane to its second.
    template <pairing Pairing, class XFormat, class X, class YFormat, class Y>
    CORDAGE_ALWAYS_INLINE void rotate(const XFormat& x_format, const X* x, index_t pairs_of_x, const YFormat& y_format,
                                      Y* y, index_t pairs_of_y) const noexcept {
        unrolled<Count>([&](auto v) CORDAGE_ALWAYS_INLINE_LAMBDA {
            constexpr index_t skip = Pairing::first(v * Layout::pairs_each, 0);
            const auto rotated = Layout::rotate(of[v], Layout::load(x_format, x + skip, pairs_of_x));
            Layout::store(y_format, rotated, y + skip, pairs_of_y);
        });
    }
};

/// Rotates Count vectors of pairs of every head of one token; their cos and sin stay in registers for all heads.
///
/// @param x, y  the pairs' first lane of the token's first head
template <class Layout, std::size_t Count, pairing Pairing, class Operand, class X, class Y, class Real>
CORDAGE_ALWAYS_INLINE void rotate_heads(const Operand& o, const X* x, Y* y, const angle_row<Real>& at,
                                        const cos_sin<Real>& factor, index_t pairs, bool is_prefetched) noexcept {
    const angles_in_registers<Layout, Count, Real> angles(at, factor);
    const auto x_format = o.x.format;
    const auto y_format = o.y.format;
    const index_t heads = o.shape().heads, x_stride = o.x.head_stride, y_stride = o.y.head_stride;
    const auto rotate_all = [&](auto fetch) CORDAGE_ALWAYS_INLINE_LAMBDA {
        for (index_t h = 0; h < heads; ++h) {
            fetch(x, h * x_stride);
            angles.template rotate<Pairing>(x_format, x + h * x_stride, pairs, y_format, y + h * y_stride, pairs);
        }
    };
    if (is_prefetched) {
        rotate_all(ahead(x, x_stride, 2 * pairs));
    } else {
        rotate_all(no_prefetch{});
    }
}

/// As above for `count` pairs of a call that exceeds the caches: all pairs of a few heads before the next heads, with
/// non-temporal stores if y is not x and its pairs are whole cache lines. Returns false and does nothing if the pairs
/// do not fill the vectors. A separate function, so that the loops for cached data keep their registers.
template <class Layout, pairing Pairing, class Operand, class X, class Y, class Real>
CORDAGE_ONE_BODY bool rotate_in_memory(const Operand& o, const X* x, Y* y, const angle_row<Real>& at,
                                       const cos_sin<Real>& factor, index_t count, index_t pairs,
                                       bool is_prefetched) noexcept {
    constexpr std::size_t vectors_each = Layout::most_in_registers;
    using staged = staged_pairs<Layout, vectors_each, Pairing, Y>;
    if (count % staged::count != 0) return false;
    const index_t heads = o.shape().heads, x_stride = o.x.head_stride, y_stride = o.y.head_stride;
    const bool is_streaming = static_cast<const void*>(x) != y && staged::begin_at_lines(y, y_stride, pairs);
    const ahead fetch(x, x_stride, is_prefetched ? 2 * pairs : 0);
    for (index_t head = 0; head < heads; head += heads_together_in_memory) {
        const index_t last = std::min(head + heads_together_in_memory, heads);
        for (index_t pair = 0; pair < count; pair += staged::count) {
            const angles_in_registers<Layout, vectors_each, Real> angles({at.cos + pair, at.sin + pair}, factor);
            const index_t lane = Pairing::first(pair, pairs);
            for (index_t h = head; h < last; ++h) {
                const X* const from = x + h * x_stride + lane;
                Y* const to = y + h * y_stride + lane;
                if (pair == 0) fetch(x, h * x_stride);
                if constexpr (staged::are_lines) {
                    if (is_streaming) {
                        staged stage;
                        angles.template rotate<Pairing>(o.x.format, from, pairs, o.y.format, stage.lanes(),
                                                        staged::count);
                        stage.store_streaming(to, pairs);
                        continue;
                    }
                }
                angles.template rotate<Pairing>(o.x.format, from, pairs, o.y.format, to, pairs);
            }
        }
    }
    return true;
}

/// Rotates pairs [first, first + count) of every head of one token by a row of their cos and sin, times `factor`.
template <pairing Pairing, class Arch, class O, class Real>
CORDAGE_ALWAYS_INLINE void rotate_pairs(const O& o, index_t row, index_t token, index_t first, index_t count,
                                        index_t pairs, const angle_row<Real>& at, const cos_sin<Real>& factor,
                                        bool are_heads_fetched) noexcept {
    const auto lanes = o.lanes_of(row, token);
    if (lanes.x == nullptr || !o.is_rotated()) return;
    in_vectors<Arch, Pairing, O>(
        count, [&]<class A, std::size_t Count>(vectors<A, Count>, index_t skip) CORDAGE_ALWAYS_INLINE_LAMBDA {
            const index_t lane = Pairing::first(first + skip, pairs);
            rotate_heads<layout_of<A, Pairing, O>, Count, Pairing>(
                o, lanes.x + lane, lanes.y + lane, {at.cos + skip, at.sin + skip}, factor, pairs,
                are_heads_fetched && lane == 0 && o.x.slots.entries == nullptr);
        });
}

/// Whether the result of the first step of a norm and a rotation, rounded to the type of x, can be kept in y: by the
/// types, and by the formats' data.
template <class Operand>
inline constexpr bool may_keep_rounded_in_y = false;
template <class X, class Y, class XFormat, class YFormat, class Norm>
inline constexpr bool may_keep_rounded_in_y<operand<X, Y, XFormat, YFormat, Norm>> =
    std::is_same_v<XFormat, YFormat> || std::is_same_v<YFormat, element_traits<typename XFormat::compute>>;
template <class X, class Y, class XFormat, class YFormat, class Norm>
bool keeps_rounded_in_y(const operand<X, Y, XFormat, YFormat, Norm>& o) noexcept {
    return !std::is_same_v<XFormat, YFormat> || is_same_format(o.x.format, o.y.format);
}

/// Norm and rotation of the heads of one token in two steps, with the first one's result in y, rounded to the type of
/// x. A separate function, as norms that are not rounded between are usual.
template <pairing Pairing, class Arch, class X, class Y, class XFormat, class YFormat, class Norm, class Real>
CORDAGE_ONE_BODY void rotate_rounded_between(const token_angles<Real>& angles,
                                             const operand<X, Y, XFormat, YFormat, Norm>& o, index_t row, index_t token,
                                             angle_rows<Real>& rows) noexcept {
    const index_t pairs = o.is_rotated() ? angles.pairs() : 0;
    Norm norm = o.norm;
    norm.is_rounded_between = false;
    const auto normalize = [&](const auto& heads) CORDAGE_ALWAYS_INLINE_LAMBDA {
        rotate_normalized<Pairing>(simd<Arch>{}, angles, heads.normalized(norm).unrotated(), row, token, false, rows);
    };
    const auto rotate = [&](const auto& heads) CORDAGE_ALWAYS_INLINE_LAMBDA {
        for (index_t first = 0; first < pairs; first += row_block) {
            const index_t count = std::min(row_block, pairs - first);
            rotate_pairs<Pairing, Arch>(heads, row, token, first, count, pairs, rows(row, token, first, count),
                                        cos_sin<Real>{Real(1), Real(1)}, false);
        }
        if (!heads.is_in_place()) copy_unrotated(heads, row, token, 2 * pairs, simd<Arch>{});
    };
    const auto round = [&]() CORDAGE_ALWAYS_INLINE_LAMBDA {
        if constexpr (!std::is_same_v<XFormat, YFormat>) {
            Y* const y = o.y.token(row, token);
            for (index_t head = 0; head < o.shape().heads; ++head) {
                Y* const lanes = y + head * o.y.head_stride;
                for (index_t i = 0; i < o.shape().head_dim; ++i) {
                    lanes[i] = o.y.format.store(o.x.format.load(o.x.format.store(o.y.format.load(lanes[i]))));
                }
            }
        }
    };
    if (o.lanes_of(row, token).x == nullptr) return;
    const operand<X, Y, XFormat, YFormat> first(o.x, o.y, o.first_lane);
    const auto second = in_place(o.y, o.first_lane);
    if (norm.is_after_rotation) {
        rotate(first), round(), normalize(second);
    } else {
        normalize(first), round(), rotate(second);
    }
}

/// Rotates the tokens [begin, end) of all operands. One function for all sources and directions.
///
///   for each token:  cos, sin of up to 64 pairs
///     for q, then k:  some vectors of each in registers  ->  all heads
template <pairing Pairing, class Arch, class O>
CORDAGE_ONE_BODY void rotate_tokens(const token_angles<typename O::compute>& angles, const direction_data& direction,
                                    const operand_list<O>& operands, index_t begin, index_t end) noexcept {
    using real = typename O::compute;
    const index_t pairs = angles.pairs(), tokens = angles.tokens();
    const index_t bytes = bytes_of_call(operands);
    const bool is_long = bytes > beyond_l1, are_slots_fetched = bytes > beyond_l2;
    const bool are_heads_fetched = is_long && bytes > this_processor<Arch>().prefetched_from;
    const bool is_in_memory = !O::has_head_format && exceeds_caches<Arch>(2 * bytes);  // else in a stage, read again
    bool rotates = false, copies = false;
    for (const O& o : operands) {
        rotates = rotates || o.is_rotated();
        copies = copies || has_unrotated(o, 2 * pairs);
    }
    angle_rows<real> rows(angles, end);
    angle_row<real> at{};
    for_each_token(tokens, begin, end, [&](index_t row, index_t token) CORDAGE_ALWAYS_INLINE_LAMBDA {
        const auto extra = static_cast<real>(
            direction.divides_by_factor ? direction.extra_factor(angles.attention_factor(row, token)) : 1.0);
        const cos_sin<real> factor{extra, static_cast<real>(direction.sine_sign) * extra};
        if (are_slots_fetched) {
            for (const O& o : operands) prefetch_slots(o, row, token);
        }
        const auto rotate_block = [&]<class Some>(const Some& o, index_t first,
                                                  index_t count) CORDAGE_ALWAYS_INLINE_LAMBDA {
            if (is_in_memory) {
                const auto lanes = o.lanes_of(row, token);
                const index_t lane = Pairing::first(first, pairs);
                if (lanes.x != nullptr && o.is_rotated() &&
                    simd_detail::rotate_in_memory<layout_of<Arch, Pairing, Some>, Pairing>(
                        o, lanes.x + lane, lanes.y + lane, at, factor, count, pairs,
                        are_heads_fetched && first == 0 && has_long_runs(o.x))) {
                    return;
                }
            }
            simd_detail::rotate_pairs<Pairing, Arch>(o, row, token, first, count, pairs, at, factor, are_heads_fetched);
        };
        const auto for_each_block = [&](const auto& f) CORDAGE_ALWAYS_INLINE_LAMBDA {
            for (index_t first = 0; first < pairs; first += row_block) {
                const index_t count = std::min(row_block, pairs - first);
                at = rows(row, token, first, count);
                f(first, count);
            }
        };
        const auto rotate_with_norm = [&]<class Some>(const Some& o) CORDAGE_ALWAYS_INLINE_LAMBDA {
            if constexpr (simd_detail::may_keep_rounded_in_y<Some>) {
                if (o.norm.is_rounded_between && simd_detail::keeps_rounded_in_y(o)) {
                    return simd_detail::rotate_rounded_between<Pairing, Arch>(angles, o, row, token, rows);
                }
            }
            rotate_normalized<Pairing>(simd<Arch>{}, angles, o, row, token, is_long, rows);
        };
        if constexpr (O::is_plain) {
            if (rotates) {
                for_each_block([&](index_t first, index_t count) CORDAGE_ALWAYS_INLINE_LAMBDA {
                    for (const O& o : operands) rotate_block(o, first, count);
                });
            }
            if (copies) {
                for (const O& o : operands) copy_unrotated(o, row, token, 2 * pairs, simd<Arch>{});
            }
        } else if constexpr (O::has_head_format) {
            const auto is_identity = [&](index_t r, index_t t)
                                         CORDAGE_ALWAYS_INLINE_LAMBDA { return angles.is_identity(r, t); };
            for (const O& o : operands) {
                rotate_staged<xsimd::batch<float, Arch>>(
                    is_identity, o, row, token, [&](const auto& some) CORDAGE_ALWAYS_INLINE_LAMBDA {
                        if constexpr (O::is_normalized) {
                            rotate_with_norm(some);
                        } else {
                            if (some.is_rotated()) {
                                for_each_block([&](index_t first, index_t count)
                                                   CORDAGE_ALWAYS_INLINE_LAMBDA { rotate_block(some, first, count); });
                            }
                            copy_unrotated(some, row, token, 2 * pairs, simd<Arch>{});
                        }
                    });
            }
        } else {
            for (const O& o : operands) rotate_with_norm(o);
        }
    });
    if (is_in_memory) end_streaming_stores();
}

}  // namespace simd_detail

/// The scalar backend's function in vectors of Arch.
template <pairing Pairing, class Direction, class Arch, class Source, class O>
CORDAGE_ALWAYS_INLINE void rotate_range(simd<Arch>, const Source& angles, const operand_list<O>& operands,
                                        index_t begin, index_t end) noexcept {
    const auto of_tokens = token_angles<typename O::compute>::of(simd<Arch>{}, angles);
    simd_detail::rotate_tokens<Pairing, Arch>(of_tokens, Direction::data, operands, begin, end);
}

}  // namespace cordage::backend
