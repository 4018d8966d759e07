// SPDX-License-Identifier: MIT
// One token's cos and sin as dense rows, from whatever source; serves the SIMD tables and rotation.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cordage/angles/cos_sin_view.hpp"
#include "cordage/backend/simd/lane.hpp"

namespace cordage::backend {

/// Pairs whose cos and sin are made at a time; their rows live on the stack.
inline constexpr index_t row_block = 64;

/// Dense cos and sin of up to row_block pairs, times the attention factor.
template <class Real>
struct angle_row {
    const Real* cos;
    const Real* sin;
};

/// Space for a row that is computed rather than read.
template <class Real>
struct row_buffer {
    alignas(64) Real cos[row_block];
    alignas(64) Real sin[row_block];
};

/// Whether rows of a source are made in vectors of Arch: floats, from phases.
template <class Arch, class Source, class Real>
inline constexpr bool has_vector_rows =
    std::is_same_v<Real, float>&& has_phase<Source>&& simd_detail::has_fused_multiply_add<Arch>;

/// f(i, the phase of pair first + i) of one token, for i below count. Plain loops, which a compiler makes vectors of.
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

/// cos and sin of pairs [first, first + count), count <= row_block, times m, to rows of a whole number of vectors that
/// `count` fits in.
template <class Arch, class Source>
CORDAGE_ALWAYS_INLINE void write_vector_row(const Source& angles, index_t row, index_t token, index_t first,
                                            index_t count, float* cos, float* sin) noexcept {
    using real = xsimd::batch<float, Arch>;
    using word = typename lane_traits<real>::word;
    // The upper halves of the phases, 1.5e-9 rad. Nobody else can point here, so that positions are read once.
    alignas(64) std::uint32_t phases[row_block] = {};
    for_each_phase(angles, row, token, first, count, [&](index_t i, std::uint64_t phase) CORDAGE_ALWAYS_INLINE_LAMBDA {
        phases[i] = static_cast<std::uint32_t>(phase >> 32);
    });
    const real factor(static_cast<float>(angles.attention_factor(row, token)));
    for (index_t i = 0; i < count; i += static_cast<index_t>(word::size)) {
        const auto at = cos_sin_of_phase32<real>(word::load_aligned(phases + i));
        (at.cos * factor).store_unaligned(cos + i);
        (at.sin * factor).store_unaligned(sin + i);
    }
}

/// cos and sin of pairs [first, first + count), count <= row_block, times m, through double, in loops without branches.
/// One body, so that a table and a rotation have the same bits.
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

/// Whether a token has the angles of the one before it in its row, as a source may know.
template <class Source>
CORDAGE_ALWAYS_INLINE bool repeats_last(const Source& angles, index_t row, index_t token) noexcept {
    if constexpr (requires { angles.repeats_last(row, token); }) {
        return token > 0 && angles.repeats_last(row, token);
    } else {
        return false;
    }
}

/// The row of pairs [first, first + count), count <= row_block, of one token. A table of the right type is read where
/// it lies; phases become vectors of floats; all else goes through double.
template <class Arch, class Source, class Real>
angle_row<Real> make_angle_row(const Source& angles, index_t row, index_t token, index_t first, index_t count,
                               row_buffer<Real>& buffer) noexcept {
    if constexpr (std::is_same_v<Source, cos_sin_view<Real>>) {
        const index_t offset = angles.entry(row, token) * angles.pair_count + first;
        return {angles.cos_data + offset, angles.sin_data + offset};
    } else if constexpr (has_vector_rows<Arch, Source, Real>) {
        write_vector_row<Arch>(angles, row, token, first, count, buffer.cos, buffer.sin);
    } else if constexpr (has_cos_sin<Source>) {
        for (index_t i = 0; i < count; ++i) {
            const cos_sin<Real> at = angles.template at<Real>(row, token, first + i);
            buffer.cos[i] = at.cos;
            buffer.sin[i] = at.sin;
        }
    } else {
        write_double_row<Arch>(angles, row, token, first, count, buffer.cos, buffer.sin);
    }
    return {buffer.cos, buffer.sin};
}

}  // namespace cordage::backend
