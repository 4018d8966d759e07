// SPDX-License-Identifier: MIT
// One token's cos and sin as dense rows, from any source; serves the SIMD tables and rotation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cordage/angles/cos_sin_view.hpp"
#include "cordage/backend/simd/lane.hpp"
#include "cordage/backend/tags.hpp"

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
inline constexpr bool has_vector_rows = has_phase<Source> && simd_detail::has_fused_multiply_add<Arch>;

/// Rows of this many pairs, or a multiple, may be written where they belong, without room behind them.
template <class Arch, class Real>
inline constexpr auto row_width = static_cast<index_t>(xsimd::batch<Real, Arch>::size);

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

/// A phase as rows are computed of it: floats use its upper 32 bits, 1.5e-9 rad.
template <class Real>
using phase_bits = std::conditional_t<sizeof(Real) == sizeof(float), std::uint32_t, std::uint64_t>;

/// cos and sin of phases, times factors: of `tokens` <= rows_at_once tokens, whose phases are row_block apart and whose
/// rows are `stride` apart and have room for whole vectors.
template <class Arch, class Real>
CORDAGE_ALWAYS_INLINE void write_rows_of_phases(simd<Arch>, const phase_bits<Real>* phases, const Real* factors,
                                                index_t tokens, index_t count, Real* cos, Real* sin,
                                                index_t stride) noexcept {
    using real = xsimd::batch<Real, Arch>;
    using word = typename lane_traits<real>::word;
    for (index_t t = 0; t < tokens; ++t) {
        const real factor(factors[t]);
        for (index_t i = 0; i < count; i += static_cast<index_t>(word::size)) {
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

/// cos and sin of pairs [first, first + count), count <= row_block, times m, of up to rows_at_once tokens, into rows
/// that are `stride` apart and have room for whole vectors.
template <class Arch, class Source, class Real>
CORDAGE_ALWAYS_INLINE void write_vector_rows(const Source& angles, index_t row, index_t token, index_t tokens,
                                             index_t first, index_t count, Real* cos, Real* sin,
                                             index_t stride) noexcept {
    using bits = phase_bits<Real>;
    alignas(64) bits phases[rows_at_once * row_block];  // a local array cannot alias the positions, which are read once
    Real factors[rows_at_once];
    for (index_t t = 0; t < tokens; ++t) factors[t] = static_cast<Real>(angles.attention_factor(row, token + t));
    for (index_t t = 0; t < tokens; ++t) {
        bits* const to = phases + t * row_block;
        for_each_phase(angles, row, token + t, first, count,
                       [to](index_t i, std::uint64_t phase) CORDAGE_ALWAYS_INLINE_LAMBDA {
                           to[i] = static_cast<bits>(phase >> (64 - 8 * sizeof(bits)));
                       });
        for (index_t i = count; i % static_cast<index_t>(64 / sizeof(bits)) != 0; ++i) to[i] = 0;
    }
    write_rows_of_phases(simd<Arch>{}, phases, factors, tokens, count, cos, sin, stride);
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

// What token_angles calls, of one type of source.

template <class Arch, class Source, class Real>
CORDAGE_ONE_BODY angle_row<Real> write_rows(const void* source, index_t row, index_t token, index_t tokens,
                                            index_t first, index_t count, Real* cos, Real* sin) noexcept {
    const Source& angles = *static_cast<const Source*>(source);
    if constexpr (requires { angles.rows(row, token, tokens, first, count, cos, sin); }) {
        return angles.rows(row, token, tokens, first, count, cos, sin);
    } else if constexpr (std::is_same_v<Source, cos_sin_view<Real>>) {
        const index_t offset = angles.entry(row, token) * angles.pairs() + first;
        return {angles.cos_data + offset, angles.sin_data + offset};
    } else if constexpr (has_vector_rows<Arch, Source>) {
        write_vector_rows<Arch>(angles, row, token, tokens, first, count, cos, sin, row_block);
    } else if constexpr (has_cos_sin<Source>) {
        for (index_t i = 0; i < count; ++i) {
            const cos_sin<Real> at = angles.template at<Real>(row, token, first + i);
            cos[i] = at.cos;
            sin[i] = at.sin;
        }
    } else {
        write_double_row<Arch>(angles, row, token, first, count, cos, sin);
    }
    return {cos, sin};
}
template <class Arch, class Source>
CORDAGE_ONE_BODY double factor_at(const void* source, index_t row, index_t token) noexcept {
    return static_cast<const Source*>(source)->attention_factor(row, token);
}
template <class Arch, class Source>
CORDAGE_ONE_BODY bool identity_at(const void* source, index_t row, index_t token) noexcept {
    return angle_detail::is_identity(*static_cast<const Source*>(source), row, token);
}
template <class Arch, class Source>
CORDAGE_ONE_BODY index_t equal_tokens_at(const void* source, index_t row, index_t token, index_t most) noexcept {
    return static_cast<const Source*>(source)->equal_tokens(row, token, most);
}

/// Rows of successive tokens.
template <class Real>
struct rows_of_tokens {
    angle_row<Real> first;
    index_t tokens;
    index_t stride;  ///< from the row of a token to that of the next one; 0 if they have one row
};

/// The angles of a call as kernels read them, without the type of their source: sizes, and functions that are called
/// for some tokens at a time. Holds pointers to the source.
///
/// Rows from phases are computed in vectors, for several tokens at a time where that is faster. A table of type Real is
/// read in place. Other rows are computed one number at a time: of angles in double, of a source with cos and sin as it
/// computes them.
template <class Real>
class token_angles {
 public:
    /// The same for every source; the functions are of Arch.
    template <class Arch, class Source>
    static CORDAGE_ALWAYS_INLINE token_angles of(simd<Arch>, const Source& source) noexcept {
        token_angles made;
        made.batch_ = source.batch(), made.tokens_ = source.tokens(), made.pairs_ = source.pairs();
        made.source_ = &source;
        if constexpr (std::is_same_v<Source, cos_sin_view<Real>>) {
            made.most_ = made.tokens_, made.row_stride_ = made.pairs_;
        } else if constexpr (is_made_ahead<Arch, Source>) {
            made.most_ = rows_at_once, made.row_stride_ = row_block;
        }
        made.rows_ = write_rows<Arch, Source, Real>;
        made.factor_ = factor_at<Arch, Source>;
        made.identity_ = identity_at<Arch, Source>;
        if constexpr (requires { source.equal_tokens(0, 0, 1); }) made.equal_tokens_ = equal_tokens_at<Arch, Source>;
        return made;
    }

    CORDAGE_ALWAYS_INLINE index_t batch() const noexcept { return batch_; }
    CORDAGE_ALWAYS_INLINE index_t tokens() const noexcept { return tokens_; }
    CORDAGE_ALWAYS_INLINE index_t pairs() const noexcept { return pairs_; }
    CORDAGE_ALWAYS_INLINE double attention_factor(index_t row, index_t token) const noexcept {
        return factor_(source_, row, token);
    }
    CORDAGE_ALWAYS_INLINE bool is_identity(index_t row, index_t token) const noexcept {
        return identity_(source_, row, token);
    }
    /// Rows of some tokens from `token` on, at most `most`: in memory of the source, or written to cos and sin, which
    /// have room for row_block numbers of each of `most` tokens, or of rows_at_once if that is less.
    CORDAGE_ALWAYS_INLINE rows_of_tokens<Real> rows(index_t row, index_t token, index_t most, index_t first,
                                                    index_t count, Real* cos, Real* sin) const noexcept {
        const index_t rest = pairs_ <= row_block ? std::min(most, tokens_ - token) : 1;
        const index_t equal = rest > 1 && equal_tokens_ != nullptr ? equal_tokens_(source_, row, token, rest) : 1;
        const index_t made = equal > 1 ? 1 : std::min(rest, most_);
        return {rows_(source_, row, token, made, first, count, cos, sin), std::max(equal, made),
                equal > 1 ? 0 : row_stride_};
    }
    /// m cos and m sin of one pair, for what is not done in vectors.
    template <class T>
    CORDAGE_ALWAYS_INLINE cos_sin<T> at(index_t row, index_t token, index_t pair) const noexcept {
        alignas(64) Real cos[row_block], sin[row_block];
        const angle_row<Real> made = rows_(source_, row, token, 1, pair, 1, cos, sin);
        return {static_cast<T>(*made.cos), static_cast<T>(*made.sin)};
    }

 private:
    // One token at a time for double and for positions with several axes, where several at a time are not faster.
    template <class Arch, class Source>
    static constexpr bool is_made_ahead = has_vector_rows<Arch, Source> && std::is_same_v<Real, float> &&
                                          !requires(const Source& angles, index_t pair) { angles.axis(pair); };

    index_t batch_, tokens_, pairs_, most_ = 1, row_stride_ = 0;
    const void* source_;
    angle_row<Real> (*rows_)(const void*, index_t, index_t, index_t, index_t, index_t, Real*, Real*) noexcept;
    double (*factor_)(const void*, index_t, index_t) noexcept;
    bool (*identity_)(const void*, index_t, index_t) noexcept;
    index_t (*equal_tokens_)(const void*, index_t, index_t, index_t) noexcept = nullptr;
};

/// The rows of successive tokens.
template <class Real>
class angle_rows {
 public:
    /// @param end  end of the tokens to be read, numbered row * tokens + token
    CORDAGE_ALWAYS_INLINE angle_rows(const token_angles<Real>& of_tokens, index_t end) noexcept
        : angles_(of_tokens), end_(end) {}

    /// The row of pairs [first, first + count), count <= row_block. Valid until the next call with another token or
    /// first pair.
    CORDAGE_ALWAYS_INLINE angle_row<Real> operator()(index_t row, index_t token, index_t first,
                                                     index_t count) noexcept {
        const index_t place = row * angles_.tokens() + token;
        if (first != first_ || place < begin_ || place >= begin_ + made_.tokens) {
            first_ = first, begin_ = place;
            made_ = angles_.rows(row, token, end_ - place, first, count, cos_, sin_);
        }
        const index_t skip = (place - begin_) * made_.stride;
        return {made_.first.cos + skip, made_.first.sin + skip};
    }

 private:
    const token_angles<Real>& angles_;
    index_t end_;
    index_t first_ = -1, begin_ = 0;  // the current rows: first pair, first token
    rows_of_tokens<Real> made_ = {};
    alignas(64) Real cos_[rows_at_once * row_block];
    alignas(64) Real sin_[rows_at_once * row_block];
};

}  // namespace cordage::backend
