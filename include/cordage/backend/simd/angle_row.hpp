// SPDX-License-Identifier: MIT
// One token's cos and sin as dense rows, from whatever source; serves the SIMD rotation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cordage/angles/angle_source.hpp"
#include "cordage/angles/axis_angles.hpp"
#include "cordage/angles/cos_sin_table.hpp"
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
    alignas(64) std::uint32_t phase[row_block];
    alignas(64) Real cos[row_block];
    alignas(64) Real sin[row_block];
};

/// The row of pairs [first, first + count), count <= row_block, of one token. A table of the right type is read where
/// it lies; exact angles in float are made in vectors, 32 upper bits of each 64-bit phase (1.5e-9 rad); others one at a
/// time.
template <class Arch, class Source, class Real>
angle_row<Real> make_angle_row(const Source& angles, index_t row, index_t token, index_t first, index_t count,
                               row_buffer<Real>& buffer) noexcept {
    for (index_t i = 0; i < count; ++i) {
        const auto at = angles.template at<Real>(row, token, first + i);
        buffer.cos[i] = at.cos;
        buffer.sin[i] = at.sin;
    }
    return {buffer.cos, buffer.sin};
}

template <class Arch, class Real>
angle_row<Real> make_angle_row(const cos_sin_view<Real>& table, index_t row, index_t token, index_t first, index_t,
                               row_buffer<Real>&) noexcept {
    const index_t offset = ((table.rows == 1 ? 0 : row) * table.token_count + token) * table.pair_count + first;
    return {table.cos_data + offset, table.sin_data + offset};
}

/// Turns the phases of a buffer into its cos and sin, in vectors.
template <class Arch>
angle_row<float> row_of_phases(index_t count, double attention_factor, row_buffer<float>& buffer) noexcept {
    using word = xsimd::batch<std::uint32_t, Arch>;
    constexpr auto width = static_cast<index_t>(word::size);
    static_assert(row_block % width == 0);
    const index_t padded = (count + width - 1) / width * width;
    std::fill(buffer.phase + count, buffer.phase + padded, 0u);
    const xsimd::batch<float, Arch> factor(static_cast<float>(attention_factor));
    for (index_t i = 0; i < padded; i += width) {
        const auto value = cos_sin_of_phase32<Arch>(word::load_aligned(buffer.phase + i));
        (value.cos * factor).store_aligned(buffer.cos + i);
        (value.sin * factor).store_aligned(buffer.sin + i);
    }
    return {buffer.cos, buffer.sin};
}

template <class Arch, position_type P>
requires has_fused_multiply_add<Arch> angle_row<float> make_angle_row(const exact_angles<P>& angles, index_t row,
                                                                      index_t token, index_t first, index_t count,
                                                                      row_buffer<float>& buffer)
noexcept {
    const P position = angles.position_id(row, token);
    if constexpr (std::is_integral_v<P>) {
        const std::uint64_t* fraction = angles.fractions_of_turn().data() + first;
        const auto steps = static_cast<std::uint64_t>(static_cast<std::int64_t>(position));
        for (index_t i = 0; i < count; ++i) buffer.phase[i] = static_cast<std::uint32_t>((fraction[i] * steps) >> 32);
    } else {
        const turns* rate = angles.turns_per_position().data() + first;
        for (index_t i = 0; i < count; ++i) {
            buffer.phase[i] = static_cast<std::uint32_t>(phase_of(rate[i], position) >> 32);
        }
    }
    return row_of_phases<Arch>(count, angles.attention_factor(), buffer);
}

template <class Arch, position_type P>
requires has_fused_multiply_add<Arch> angle_row<float> make_angle_row(const axis_angles<P>& angles, index_t row,
                                                                      index_t token, index_t first, index_t count,
                                                                      row_buffer<float>& buffer)
noexcept {
    if constexpr (std::is_integral_v<P>) {
        const std::uint64_t* fraction = angles.fractions_of_turn().data() + first;
        const std::uint8_t* axis_of_pair = angles.axis_of_pair().data() + first;
        for (index_t axis = 0; axis < angles.axes(); ++axis) {  // they are few, and this makes vectors
            const std::int64_t position = angles.position_id(row, token, axis);
            for (index_t i = 0; i < count; ++i) {
                if (axis_of_pair[i] != axis) continue;
                buffer.phase[i] =
                    static_cast<std::uint32_t>((fraction[i] * static_cast<std::uint64_t>(position)) >> 32);
            }
        }
    } else {
        for (index_t i = 0; i < count; ++i) {
            buffer.phase[i] = static_cast<std::uint32_t>(angles.phase(row, token, first + i) >> 32);
        }
    }
    return row_of_phases<Arch>(count, angles.attention_factor(), buffer);
}

template <class Arch, class Source, class Real>
angle_row<Real> make_angle_row(const row_angles<Source>& angles, index_t row, index_t token, index_t first,
                               index_t count, row_buffer<Real>& buffer) noexcept {
    return make_angle_row<Arch>(angles.source(row), 0, token, first, count, buffer);
}

}  // namespace cordage::backend
