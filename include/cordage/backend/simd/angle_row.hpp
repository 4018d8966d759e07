// SPDX-License-Identifier: MIT
// One token's cos and sin as dense rows, from any source; serves the SIMD tables and rotation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cordage/angles/cos_sin_view.hpp"
#include "cordage/backend/simd/lane.hpp"

namespace cordage::backend {

/// Maximum number of pairs and of tokens whose cos and sin are computed at a time; the rows are on the stack.
inline constexpr index_t row_block = 64, rows_at_once = 4;

/// Dense cos and sin of up to row_block pairs, times the attention factor.
template <class Real>
struct angle_row {
    const Real* cos;
    const Real* sin;
};

/// Whether rows of a source are computed in vectors of Arch: true if the source has phases.
template <class Arch, class Source>
inline constexpr bool has_vector_rows = has_phase<Source>&& simd_detail::has_fused_multiply_add<Arch>;

/// Calls f(i, phase of pair first + i) of one token for i < count, in plain loops that compilers vectorise.
template <class Source, class F>
CORDAGE_ALWAYS_INLINE void for_each_phase(const Source& angles, index_t row, index_t token, index_t first,
                                          index_t count, const F& f) noexcept {
    if constexpr (requires { angles.of_token(row, token).phase(first); }) {
        const auto of = angles.of_token(row, token);
        for (index_t i = 0; i < count; ++i) f(i, of.phase(first + i));
    } else {
        for (index_t i = 0; i < count; ++i) f(i, angles.phase(row, token, first + i));
    }
}

/// cos and sin of pairs [first, first + count), count <= row_block, times m, of up to rows_at_once tokens, into rows
/// that are `stride` apart and have room for whole vectors. Floats use the upper 32 bits of the phases: 1.5e-9 rad.
template <class Arch, class Source, class Real>
CORDAGE_ALWAYS_INLINE void write_vector_rows(const Source& angles, index_t row, index_t token, index_t tokens,
                                             index_t first, index_t count, Real* cos, Real* sin,
                                             index_t stride) noexcept {
    using real = xsimd::batch<Real, Arch>;
    using word = typename lane_traits<real>::word;
    using bits = typename word::value_type;
    constexpr auto width = static_cast<index_t>(word::size);
    alignas(64) bits phases[rows_at_once * row_block];  // a local array cannot alias the positions, which are read once
    for (index_t t = 0; t < tokens; ++t) {
        bits* const to = phases + t * row_block;
        for_each_phase(angles, row, token + t, first, count,
                       [to](index_t i, std::uint64_t phase) CORDAGE_ALWAYS_INLINE_LAMBDA {
                           to[i] = static_cast<bits>(phase >> (64 - 8 * sizeof(bits)));
                       });
        for (index_t i = count; i % width != 0; ++i) to[i] = 0;
    }
    for (index_t t = 0; t < tokens; ++t) {
        const real factor(static_cast<Real>(angles.attention_factor(row, token + t)));
        for (index_t i = 0; i < count; i += width) {
            const word phase = word::load_aligned(phases + t * row_block + i);
            const auto at = [&]() CORDAGE_ALWAYS_INLINE_LAMBDA {
                if constexpr (sizeof(Real) == sizeof(float)) {
                    return cos_sin_of_phase32<real>(phase);
                } else {
                    return cos_sin_of_phase<real>(phase);
                }
            }();
            (at.cos * factor).store_unaligned(cos + t * stride + i);
            (at.sin * factor).store_unaligned(sin + t * stride + i);
        }
    }
}

/// cos and sin of pairs [first, first + count), count <= row_block, times m, in double, in loops without branches. One
/// function body, so that a table and a rotation have the same bits.
template <class Arch, class Source, class Real>
CORDAGE_ONE_BODY void write_double_row(const Source& angles, index_t row, index_t token, index_t first, index_t count,
                                       Real* cos, Real* sin) noexcept {
    const double m = angles.attention_factor(row, token);
    const auto write = [cos, sin, m](index_t i, const cos_sin<double>& at) CORDAGE_ALWAYS_INLINE_LAMBDA {
        cos[i] = static_cast<Real>(at.cos * m);
        sin[i] = static_cast<Real>(at.sin * m);
    };
    if constexpr (has_phase<Source>) {
        for_each_phase(angles, row, token, first, count,
                       [&](index_t i, std::uint64_t phase)
                           CORDAGE_ALWAYS_INLINE_LAMBDA { write(i, cos_sin_of_phase(phase)); });
    } else {
        for (index_t i = 0; i < count; ++i) write(i, cos_sin_of(angles.angle(row, token, first + i)));
    }
}

/// Whether a source can report that a token has the same angles as the preceding token of its row.
template <class Source>
inline constexpr bool has_repeats = requires(const Source& angles, index_t i) {
    angles.repeats_last(i, i);
};

/// The rows of successive tokens. A table of type Real is read in place. Rows from phases are computed in vectors, for
/// several tokens at a time where that is faster. All other rows are computed in double.
template <class Arch, class Source, class Real>
class angle_rows {
    static constexpr bool is_table = std::is_same_v<Source, cos_sin_view<Real>>;
    // One token at a time for double and for positions with several axes, where several at a time are not faster.
    static constexpr bool is_made_ahead = has_vector_rows<Arch, Source> && std::is_same_v<Real, float> &&
                                          !has_repeats<Source> && !requires(const Source& angles, index_t pair) {
        angles.axis(pair);
    };
    static constexpr index_t most = is_made_ahead ? rows_at_once : 1;

 public:
    /// @param end  end of the tokens to be read, numbered row * tokens + token
    CORDAGE_ALWAYS_INLINE angle_rows(const Source& source, index_t end) noexcept
        : angles_(source), tokens_(source.tokens()), pairs_(source.pairs()), end_(end) {}

    /// The row of pairs [first, first + count), count <= row_block. Valid until the next call with another token or
    /// first pair.
    CORDAGE_ALWAYS_INLINE angle_row<Real> operator()(index_t row, index_t token, index_t first,
                                                     index_t count) noexcept {
        if constexpr (is_table) {
            const index_t offset = angles_.entry(row, token) * pairs_ + first;
            return {angles_.cos_data + offset, angles_.sin_data + offset};
        } else {
            const index_t place = row * tokens_ + token;
            if (first != first_ || place < made_ || place >= made_end_) {
                if (!has_last(row, token, first, place)) make(row, token, first, count);
            }
            const index_t skip = most == 1 ? 0 : (place - made_) * row_block;
            return {cos_ + skip, sin_ + skip};
        }
    }

 private:
    /// Whether the current row is that of the previous token and equals this token's.
    CORDAGE_ALWAYS_INLINE bool has_last(index_t row, index_t token, index_t first, index_t place) noexcept {
        if constexpr (has_repeats<Source>) {
            if (first != first_ || token == 0 || place != made_end_ || !angles_.repeats_last(row, token)) return false;
            ++made_end_;
            return true;
        } else {
            return false;
        }
    }
    CORDAGE_ONE_BODY void make(index_t row, index_t token, index_t first, index_t count) noexcept {
        first_ = first;
        made_ = row * tokens_ + token;
        const bool is_whole = pairs_ <= row_block;
        const index_t rest = std::min(tokens_ - token, end_ - made_);
        const index_t tokens = is_whole ? std::min(rest, most) : 1;
        made_end_ = made_ + tokens;
        if constexpr (has_vector_rows<Arch, Source>) {
            write_vector_rows<Arch>(angles_, row, token, tokens, first, count, cos_, sin_, row_block);
        } else if constexpr (has_cos_sin<Source>) {
            for (index_t i = 0; i < count; ++i) {
                const cos_sin<Real> at = angles_.template at<Real>(row, token, first + i);
                cos_[i] = at.cos;
                sin_[i] = at.sin;
            }
        } else {
            write_double_row<Arch>(angles_, row, token, first, count, cos_, sin_);
        }
    }

    const Source& angles_;
    index_t tokens_, pairs_, end_;
    index_t first_ = -1, made_ = 0, made_end_ = 0;  // the current rows: first pair, tokens
    alignas(64) Real cos_[is_table ? 1 : most * row_block];
    alignas(64) Real sin_[is_table ? 1 : most * row_block];
};

}  // namespace cordage::backend
