// SPDX-License-Identifier: MIT
// Where a kernel has cos and sin from: phases of exact positions of one axis or several, or a table; serves the CUDA
// kernels.
#pragma once

#include "cordage/angles/cos_sin_view.hpp"
#include "cordage/backend/cuda/axis_angles.hpp"
#include "cordage/backend/cuda/kernel_basis.hpp"

namespace cordage::backend {

enum class position_kind : std::int32_t { int32, int64, float32, float64 };

template <position_type P>
inline constexpr position_kind kind_of = std::same_as<P, std::int32_t>   ? position_kind::int32
                                         : std::same_as<P, std::int64_t> ? position_kind::int64
                                         : std::same_as<P, float>        ? position_kind::float32
                                                                         : position_kind::float64;

/// What device_angles is to a kernel, for one of the directions. Position types share a kernel: a position is read once
/// a token, and the branch costs nothing.
struct phase_angles : kernel_basis {
    const void* positions;
    index_t row_stride;  // 0 where all rows share their positions
    position_kind kind;

    CORDAGE_HOST_DEVICE static constexpr index_t axes() noexcept { return 1; }
    CORDAGE_HOST_DEVICE static constexpr index_t axis(index_t) noexcept { return 0; }
    CORDAGE_HOST_DEVICE double position(index_t row, index_t token, index_t) const noexcept {
        const split_position p = split_of(position_bits(row, token));
        if (kind == position_kind::int32 || kind == position_kind::int64) {
            return static_cast<double>(static_cast<std::int64_t>(p.steps));
        }
        const double magnitude = static_cast<double>(p.steps) + static_cast<double>(p.rest) * 0x1p-64;
        return p.negative ? -magnitude : magnitude;
    }

    template <int N>
    struct fetched {
        std::uint64_t position_bits;
        unit_rates<N> rates;
    };
    /// All that turn() reads of the pairs from `pair` on, and no arithmetic that would wait for it.
    template <int N>
    CORDAGE_HOST_DEVICE fetched<N> fetch(index_t row, index_t token, index_t pair) const noexcept {
        const std::uint64_t bits = position_bits(row, token);
        return {bits, rates<N>(row, pair)};
    }

    /// m cos and m sin.
    template <int N>
    CORDAGE_HOST_DEVICE pair_values<N> turn(const fetched<N>& of) const noexcept {
        const split_position p = split_of(of.position_bits);
        std::uint64_t phase[N];
        if (p.rest == 0) {
            const std::uint64_t steps = p.negative ? ~p.steps + 1u : p.steps;
            for (int i = 0; i < N; ++i) phase[i] = steps * of.rates.fraction[i];
        } else {
            for (int i = 0; i < N; ++i) phase[i] = phase_of(p, of.rates.fraction[i], of.rates.whole + i);
        }
        return turn_of(phase, of.rates.factor);
    }

 private:
    CORDAGE_HOST_DEVICE std::uint64_t position_bits(index_t row, index_t token) const noexcept {
        const index_t i = row * row_stride + token;
        switch (kind) {
            case position_kind::int32:
                return static_cast<std::uint32_t>(static_cast<const std::int32_t*>(positions)[i]);
            case position_kind::int64:
                return static_cast<std::uint64_t>(static_cast<const std::int64_t*>(positions)[i]);
            case position_kind::float32:
                return bits_of(static_cast<const float*>(positions)[i]);
            default:
                return __builtin_bit_cast(std::uint64_t, static_cast<const double*>(positions)[i]);
        }
    }
    CORDAGE_HOST_DEVICE split_position split_of(std::uint64_t bits) const noexcept {
        switch (kind) {
            case position_kind::int32:
                return split(std::int64_t{static_cast<std::int32_t>(static_cast<std::uint32_t>(bits))});
            case position_kind::int64:
                return split(static_cast<std::int64_t>(bits));
            case position_kind::float32:
                return split(double{float_of(static_cast<std::uint32_t>(bits))});
            default:
                return split(__builtin_bit_cast(double, bits));
        }
    }
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
    const double* row_factors;  // of the inverse, which then divides by their squares instead; or null

    CORDAGE_HOST_DEVICE float factor(index_t row) const noexcept {
        if (row_factors == nullptr) return extra_factor;
        const double m = row_factors[has_rows ? row : 0];
        return static_cast<float>(1.0 / (m * m));
    }

    template <class Direction>
    static table_angles of(const cos_sin_view<float>& table) noexcept {
        return {.cos = table.cos_data,
                .sin = table.sin_data,
                .pairs = table.pair_count,
                .tokens = table.token_count,
                .has_rows = table.rows > 1,
                .sine_sign = Direction::turn(cordage::cos_sin<float>{1.0f, 1.0f}).sin,
                .extra_factor = static_cast<float>(Direction::extra_factor(table.carried_attention_factor)),
                .row_factors = std::same_as<Direction, inverse> ? table.row_attention_factors : nullptr};
    }

    template <int N>
    struct fetched {
        pair_values<N> turn;
        float factor;
    };
    template <int N>
    CORDAGE_HOST_DEVICE fetched<N> fetch(index_t row, index_t token, index_t pair) const noexcept {
        const index_t first = ((has_rows ? row : 0) * tokens + token) * pairs + pair;
        fetched<N> of;
        for (int i = 0; i < N; ++i) {
            of.turn.first[i] = cos[first + i];
            of.turn.second[i] = sin[first + i];
        }
        of.factor = factor(row);
        return of;
    }
    template <int N>
    CORDAGE_HOST_DEVICE pair_values<N> turn(const fetched<N>& of) const noexcept {
        pair_values<N> turn;
        for (int i = 0; i < N; ++i) {
            turn.first[i] = of.factor * of.turn.first[i];
            turn.second[i] = of.factor * sine_sign * of.turn.second[i];
        }
        return turn;
    }
};

/// What a kernel takes for a source of angles, by direction.
template <class Direction, position_type P>
phase_angles kernel_angles(const device_angles<P>& angles) noexcept {
    const position_view<P>& ids = angles.position_ids();
    return {kernel_basis::of<Direction>(angles.basis_view()), ids.data, ids.batch == 1 ? 0 : ids.batch_stride,
            kind_of<P>};
}
template <class Direction>
table_angles kernel_angles(const cos_sin_view<float>& table) noexcept {
    return table_angles::of<Direction>(table);
}

template <class S>
concept device_angle_source = angles_of_tokens<S> && requires(const S& s) {
    kernel_angles<forward>(s);
};

/// Those that know the positions and frequencies behind their angles, so that gradients can flow to them.
template <class S>
concept differentiable_device_angles = device_angle_source<S> && requires(const S& s) {
    { s.basis_view() } -> std::same_as<const device_basis&>;
    { s.axes() } -> std::same_as<index_t>;
};

}  // namespace cordage::backend
