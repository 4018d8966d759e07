// SPDX-License-Identifier: MIT
// One token's cos and sin as dense rows, from whatever source; serves the SIMD tables and rotation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cordage/angles/angle_source.hpp"
#include "cordage/angles/axis_angles.hpp"
#include "cordage/angles/cos_sin_view.hpp"
#include "cordage/angles/row_angles.hpp"
#include "cordage/backend/simd/cos_sin.hpp"

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
    alignas(64) std::uint32_t phase[row_block] = {};
    alignas(64) Real cos[row_block];
    alignas(64) Real sin[row_block];
};

/// Whether a source's float cos and sin come from exact phases.
template <class Source>
inline constexpr bool has_phases = false;
template <position_type P>
inline constexpr bool has_phases<exact_angles<P>> = true;
template <position_type P>
inline constexpr bool has_phases<axis_angles<P>> = true;
template <class Source>
inline constexpr bool has_phases<row_angles<Source>> = has_phases<Source>;

/// The phases of pairs [first, first + count) of one token, in units of 2^-32 turn: the upper halves of the exact ones
/// (1.5e-9 rad). Plain loops, which a compiler makes vectors of.
template <class Arch, position_type P>
void make_phases(const exact_angles<P>& angles, index_t row, index_t token, index_t first, index_t count,
                 std::uint32_t* phase) noexcept {
    const P position = angles.position_id(row, token);
    const std::uint64_t* fraction = angles.fractions_of_turn().data() + first;
    const auto whole_steps = [&](std::int64_t steps) {
        for (index_t i = 0; i < count; ++i) {
            phase[i] = static_cast<std::uint32_t>((fraction[i] * static_cast<std::uint64_t>(steps)) >> 32);
        }
    };
    if constexpr (std::is_integral_v<P>) {
        whole_steps(position);
    } else if (const auto steps = static_cast<std::int64_t>(position); static_cast<P>(steps) == position) {
        whole_steps(steps);
    } else {
        const turns* rate = angles.turns_per_position().data() + first;
        for (index_t i = 0; i < count; ++i) phase[i] = static_cast<std::uint32_t>(phase_of(rate[i], position) >> 32);
    }
}

template <class Arch, position_type P>
void make_phases(const axis_angles<P>& angles, index_t row, index_t token, index_t first, index_t count,
                 std::uint32_t* phase) noexcept {
    if constexpr (std::is_integral_v<P>) {
        const std::uint64_t* fraction = angles.fractions_of_turn().data() + first;
        const std::uint8_t* axis_of_pair = angles.axis_of_pair().data() + first;
        std::uint64_t steps[256];  // of every axis that a byte can name
        for (index_t axis = 0; axis < angles.axes(); ++axis) {
            steps[axis] = static_cast<std::uint64_t>(std::int64_t{angles.position_id(row, token, axis)});
        }
        for (index_t i = 0; i < count; ++i) {
            phase[i] = static_cast<std::uint32_t>((fraction[i] * steps[axis_of_pair[i]]) >> 32);
        }
    } else {
        for (index_t i = 0; i < count; ++i) {
            phase[i] = static_cast<std::uint32_t>(angles.phase(row, token, first + i) >> 32);
        }
    }
}

template <class Arch, class Source>
void make_phases(const row_angles<Source>& angles, index_t row, index_t token, index_t first, index_t count,
                 std::uint32_t* phase) noexcept {
    make_phases<Arch>(angles.source(row), 0, token, first, count, phase);
}

/// Whether rows of a source are made in vectors, from phases.
template <class Arch, class Source, class Real>
inline constexpr bool has_vector_rows = std::is_same_v<Real, float>&& has_phases<Source>&& has_fused_multiply_add<Arch>;

/// cos and sin of phases, times m, a whole number of vectors that `count` fits in.
template <class Arch>
CORDAGE_ALWAYS_INLINE void cos_sin_of_phases(const std::uint32_t* phase, index_t count, double attention_factor,
                                             float* cos, float* sin) noexcept {
    using word = xsimd::batch<std::uint32_t, Arch>;
    const xsimd::batch<float, Arch> factor(static_cast<float>(attention_factor));
    for (index_t i = 0; i < count; i += static_cast<index_t>(word::size)) {
        const auto value = cos_sin_of_phase32<Arch>(word::load_unaligned(phase + i));
        (value.cos * factor).store_unaligned(cos + i);
        (value.sin * factor).store_unaligned(sin + i);
    }
}

/// The row of pairs [first, first + count), count <= row_block, of one token. A table of the right type is read where
/// it lies; exact angles in float are made in vectors; others one at a time.
template <class Arch, class Source, class Real>
angle_row<Real> make_angle_row(const Source& angles, index_t row, index_t token, index_t first, index_t count,
                               row_buffer<Real>& buffer) noexcept {
    if constexpr (std::is_same_v<Source, cos_sin_view<Real>>) {
        const index_t offset = ((angles.rows == 1 ? 0 : row) * angles.token_count + token) * angles.pair_count + first;
        return {angles.cos_data + offset, angles.sin_data + offset};
    } else if constexpr (has_vector_rows<Arch, Source, Real>) {
        make_phases<Arch>(angles, row, token, first, count, buffer.phase);
        cos_sin_of_phases<Arch>(buffer.phase, count, angles.attention_factor(row), buffer.cos, buffer.sin);
    } else {
        for (index_t i = 0; i < count; ++i) {
            const auto at = angles.template at<Real>(row, token, first + i);
            buffer.cos[i] = at.cos;
            buffer.sin[i] = at.sin;
        }
    }
    return {buffer.cos, buffer.sin};
}

}  // namespace cordage::backend
