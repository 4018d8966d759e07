// SPDX-License-Identifier: MIT
// m cos and m sin of the pairs of a thread, from any source of angles; serves the CUDA kernels.
#pragma once

#include "cordage/backend/cuda/angles.hpp"
#include "cordage/backend/cuda/pairs.cuh"

namespace cordage::backend {

/// 1 / m for m within float's range, without the branches of a division.
__device__ inline double reciprocal(double m) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(m));  // 20 bits
    for (int i = 0; i < 2; ++i) r = fma(fma(-m, r, 1.0), r, r);
    return r;
}

__device__ inline double not_a_number() { return lane_traits<double>::from_bits(0x7fff'ffff'ffff'ffffu); }

/// The phases of N neighbouring pairs of a token in units of 2^-64 turn, and its attention factor, NaN where the input
/// of the token is invalid. Bit i of `invalid`: that of pair i is.
template <int N>
struct token_phases {
    std::uint64_t phase[N] = {};
    double attention_factor;
    std::uint32_t invalid = 0;
};

template <position_type P>
__device__ split_position split_of(const P& position) {
    return position_traits<P>::split(position);
}

/// Those of one basis, of its numbers from the first of N pairs on. N is even.
template <int N>
__device__ token_phases<N> phases_of(const split_position& at, const std::uint64_t* fractions,
                                     const std::uint64_t* whole_turns, double attention_factor) {
    token_phases<N> of{.attention_factor = attention_factor};
#pragma unroll
    for (int i = 0; i < N; i += 2) {
        const ulonglong2 two = reinterpret_cast<const ulonglong2*>(fractions)[i / 2];
        of.phase[i] = phase_of(at, two.x, whole_turns + i);
        of.phase[i + 1] = phase_of(at, two.y, whole_turns + i + 1);
    }
    return of;
}
/// Those of pairs [pair, pair + N) of a source.
template <int N, class Source>
__device__ token_phases<N> phases_of(const Source& source, index_t row, index_t token, std::int32_t pair) {
    if constexpr (requires { typename Source::rule; }) {
        using rule = typename Source::rule;
        token_phases<N> of = phases_of<N>(source.first(), row, token, pair);
        const token_phases<N> second = phases_of<N>(source.second(), row, token, pair);
#pragma unroll
        for (int i = 0; i < N; ++i) of.phase[i] = rule::phase(of.phase[i], second.phase[i]);
        of.attention_factor = rule::factor(of.attention_factor, second.attention_factor);
        of.invalid |= second.invalid;
        return of;
    } else if constexpr (has_one_axis<Source> && N % 2 == 0) {
        const basis_view& bases = source.basis_numbers();
        const index_t found = bases.index(row, token);
        const bool is_basis = found >= 0 && found < bases.count;
        const index_t basis = is_basis ? found : 0, first = basis * bases.pairs + pair;
        const auto at = split_of(source.position_id(row, token));
        return phases_of<N>(at, bases.fractions + first, bases.whole_turns + first,
                            is_basis && at.is_valid ? bases.attention_factors[basis] : not_a_number());
    } else {
        token_phases<N> of{.attention_factor = source.attention_factor(row, token)};
#pragma unroll
        for (int i = 0; i < N; ++i) {
            of.phase[i] = angle_detail::phase_at(source, row, token, pair + i);
            if (!angle_detail::is_valid_pair(source, row, token, pair + i)) of.invalid |= 1u << i;
        }
        return of;
    }
}
template <int N, position_type P>
__device__ token_phases<N> phases_of(const one_basis_angles<P>& source, index_t row, index_t token, std::int32_t pair) {
    const split_position at = position_traits<P>::split(
        source.position_ids[row * source.row_stride + static_cast<std::int32_t>(token) * index_t{source.token_stride}]);
    return phases_of<N>(at, source.fractions + pair, source.whole_turns + pair,
                        at.is_valid ? *source.attention_factors : not_a_number());
}

/// m cos and m sin of pairs [pair, pair + N) of a token, for one direction: sin with its sign, and divided by m instead
/// of multiplied for the inverse. NaN where the input is invalid.
template <int N, class Source>
__device__ pair_values<N> angles_of(const Source& source, const direction_data& direction, index_t row, index_t token,
                                    std::int32_t pair) {
    const token_phases<N> of = phases_of<N>(source, row, token, pair);
    const double m = of.attention_factor;
    const auto factor = static_cast<float>(direction.divides_by_factor ? reciprocal(m) : m);
    const float sine = direction.sine_sign < 0 ? -factor : factor;
    pair_values<N> at;
#pragma unroll
    for (int i = 0; i < N; ++i) {
        const auto exact = cos_sin_of_phase32<float>(static_cast<std::uint32_t>(of.phase[i] >> 32));
        at.first[i] = factor * exact.cos;
        at.second[i] = sine * exact.sin;
        if ((of.invalid >> i & 1u) != 0) at.first[i] = at.second[i] = lane_traits<float>::from_bits(0x7fff'ffffu);
    }
    return at;
}
/// As above, of a table: by runs of its numbers where they are aligned.
template <int N, has_cos_sin Table>
__device__ pair_values<N> angles_of(const Table& table, const direction_data& direction, index_t row, index_t token,
                                    std::int32_t pair) {
    pair_values<N> at;
    bool is_read = false;
    if constexpr (std::same_as<Table, cos_sin_view<float>> && N > 1) {
        const index_t first = table.entry(row, token) * table.pair_count + pair;
        const float *const cos = table.cos_data + first, *const sin = table.sin_data + first;
        is_read =
            (reinterpret_cast<std::uintptr_t>(cos) | reinterpret_cast<std::uintptr_t>(sin)) % (N < 4 ? 8 : 16) == 0;
        if (is_read) {
            run_of<float, N>::load(cos).unpack(at.first);
            run_of<float, N>::load(sin).unpack(at.second);
        }
    }
    if (!is_read) {
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const cos_sin<float> given = table.template at<float>(row, token, pair + i);
            at.first[i] = given.cos, at.second[i] = given.sin;
        }
    }
    float factor = 1.0f;
    if (direction.divides_by_factor)
        factor = static_cast<float>(direction.extra_factor(table.attention_factor(row, token)));
#pragma unroll
    for (int i = 0; i < N; ++i) at.first[i] *= factor, at.second[i] *= direction.sine_sign < 0 ? -factor : factor;
    return at;
}

}  // namespace cordage::backend
