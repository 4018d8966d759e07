// SPDX-License-Identifier: MIT
// Where a kernel has cos and sin from: phases of exact positions, or a table; serves the CUDA kernels.
#pragma once

#include "cordage/angles/cos_sin_view.hpp"
#include "cordage/backend/cuda/cos_sin.hpp"
#include "cordage/backend/cuda/device_basis.hpp"
#include "cordage/backend/cuda/unit.hpp"
#include "cordage/backend/direction.hpp"

namespace cordage::backend {

enum class position_kind : std::int32_t { int32, int64, float32, float64 };

template <position_type P>
inline constexpr position_kind kind_of = std::same_as<P, std::int32_t>   ? position_kind::int32
                                         : std::same_as<P, std::int64_t> ? position_kind::int64
                                         : std::same_as<P, float>        ? position_kind::float32
                                                                         : position_kind::float64;

/// What device_angles is to a kernel, for one of the directions. Position types share a kernel: a position is read once
/// a token, and the branch costs nothing.
struct phase_angles {
    const std::uint64_t* words;  // see device_words
    index_t pairs;
    index_t bases;
    const void* positions;
    index_t row_stride;  // 0 where all rows share their positions
    position_kind kind;
    bool divides;  // by the attention factor
    float sine_sign;

    template <class Direction, position_type P>
    static phase_angles of(const device_angles<P>& angles) noexcept {
        const position_view<P>& ids = angles.position_ids();
        return {.words = angles.basis_view().words(),
                .pairs = angles.pairs(),
                .bases = angles.bases(),
                .positions = ids.data,
                .row_stride = ids.batch == 1 ? 0 : ids.batch_stride,
                .kind = kind_of<P>,
                .divides = std::same_as<Direction, inverse>,
                .sine_sign = Direction::turn(cordage::cos_sin<float>{1.0f, 1.0f}).sin};
    }

    CORDAGE_HOST_DEVICE index_t basis_of(index_t row) const noexcept { return bases == 1 ? 0 : row; }
    CORDAGE_HOST_DEVICE const std::uint64_t* fractions(index_t row) const noexcept {
        return words + basis_of(row) * pairs;
    }
    CORDAGE_HOST_DEVICE double inv_freq(index_t row, index_t pair) const noexcept {
        return number(2 * bases * pairs + basis_of(row) * pairs + pair);
    }
    CORDAGE_HOST_DEVICE double attention_factor(index_t row) const noexcept {
        return number(3 * bases * pairs + basis_of(row));
    }
    CORDAGE_HOST_DEVICE double inverse_factor(index_t row) const noexcept {
        return number(3 * bases * pairs + bases + basis_of(row));
    }

    CORDAGE_HOST_DEVICE split_position split_position_of(index_t row, index_t token) const noexcept {
        const index_t i = row * row_stride + token;
        switch (kind) {
            case position_kind::int32:
                return split(std::int64_t{static_cast<const std::int32_t*>(positions)[i]});
            case position_kind::int64:
                return split(static_cast<const std::int64_t*>(positions)[i]);
            case position_kind::float32:
                return split(double{static_cast<const float*>(positions)[i]});
            default:
                return split(static_cast<const double*>(positions)[i]);
        }
    }
    CORDAGE_HOST_DEVICE double position(index_t row, index_t token) const noexcept {
        const split_position p = split_position_of(row, token);
        if (kind == position_kind::int32 || kind == position_kind::int64) {
            return static_cast<double>(static_cast<std::int64_t>(p.steps));
        }
        const double magnitude = static_cast<double>(p.steps) + static_cast<double>(p.rest) * 0x1p-64;
        return p.negative ? -magnitude : magnitude;
    }

    /// m cos and m sin of the pairs from `pair` on.
    template <int N>
    CORDAGE_HOST_DEVICE pair_values<N> turn(index_t row, index_t token, index_t pair) const noexcept {
        const split_position p = split_position_of(row, token);
        const std::uint64_t* fraction = fractions(row) + pair;
        const std::uint64_t* whole = fraction + bases * pairs;
        const auto factor = static_cast<float>(divides ? inverse_factor(row) : attention_factor(row));
        pair_values<N> turn;
        for (int i = 0; i < N; ++i) {
            const auto phase = static_cast<std::uint32_t>(phase_of(p, fraction[i], whole + i) >> 32);
            const cos_and_sin at = cos_sin_of_phase32(phase);
            turn.first[i] = factor * at.cos;
            turn.second[i] = factor * sine_sign * at.sin;
        }
        return turn;
    }

 private:
    CORDAGE_HOST_DEVICE double number(index_t word) const noexcept { return __builtin_bit_cast(double, words[word]); }
};

/// What a cos_sin_view is to a kernel.
struct table_angles {
    const float* cos;
    const float* sin;
    index_t pairs;
    index_t tokens;
    bool has_rows;
    float sine_sign;
    float extra_factor;

    template <class Direction>
    static table_angles of(const cos_sin_view<float>& table) noexcept {
        return {.cos = table.cos_data,
                .sin = table.sin_data,
                .pairs = table.pair_count,
                .tokens = table.token_count,
                .has_rows = table.rows > 1,
                .sine_sign = Direction::turn(cordage::cos_sin<float>{1.0f, 1.0f}).sin,
                .extra_factor = static_cast<float>(Direction::extra_factor(table.carried_attention_factor))};
    }

    template <int N>
    CORDAGE_HOST_DEVICE pair_values<N> turn(index_t row, index_t token, index_t pair) const noexcept {
        const index_t first = ((has_rows ? row : 0) * tokens + token) * pairs + pair;
        pair_values<N> turn;
        for (int i = 0; i < N; ++i) {
            turn.first[i] = extra_factor * cos[first + i];
            turn.second[i] = extra_factor * sine_sign * sin[first + i];
        }
        return turn;
    }
};

/// What a kernel takes for a source of angles, by direction.
template <class Direction, position_type P>
phase_angles kernel_angles(const device_angles<P>& angles) noexcept {
    return phase_angles::of<Direction>(angles);
}
template <class Direction>
table_angles kernel_angles(const cos_sin_view<float>& table) noexcept {
    return table_angles::of<Direction>(table);
}

template <class S>
concept device_angle_source = angles_of_tokens<S> && requires(const S& s) {
    kernel_angles<forward>(s);
};

}  // namespace cordage::backend
