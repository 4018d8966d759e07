// SPDX-License-Identifier: MIT
// m cos and m sin of the pairs of a thread, from any source of angles; serves the CUDA kernels.
#pragma once

#include "cordage/angles/angle_source.hpp"
#include "cordage/backend/cuda/unit.hpp"
#include "cordage/backend/direction.hpp"

namespace cordage::backend {

/// m cos and m sin of pairs [pair, pair + N) of a token, for one direction: sin with its sign, and divided by m instead
/// of multiplied for the inverse. NaN where the source reports invalid input.
template <class Direction, int N, class Source>
CORDAGE_HOST_DEVICE pair_values<N> angles_of(const Source& source, index_t row, index_t token, index_t pair) noexcept {
    constexpr auto sign = static_cast<float>(Direction::sine_sign);
    pair_values<N> at;
    if constexpr (has_cos_sin<Source>) {
        float factor = 1.0f;
        if constexpr (std::same_as<Direction, inverse>) {
            factor = static_cast<float>(Direction::extra_factor(source.attention_factor(row, token)));
        }
        for (int i = 0; i < N; ++i) {
            const cos_sin<float> given = source.template at<float>(row, token, pair + i);
            at.first[i] = factor * given.cos;
            at.second[i] = factor * sign * given.sin;
        }
    } else {
        std::uint64_t phase[N];  // in registers, whatever a source does for a phase
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (int i = 0; i < N; ++i) phase[i] = angle_detail::phase_at(source, row, token, pair + i);
        const double m = source.attention_factor(row, token);
        const auto factor = static_cast<float>(std::same_as<Direction, inverse> ? 1.0 / m : m);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (int i = 0; i < N; ++i) {
            const auto exact = cos_sin_of_phase32<float>(static_cast<std::uint32_t>(phase[i] >> 32));
            at.first[i] = factor * exact.cos;
            at.second[i] = factor * sign * exact.sin;
            if (angle_detail::is_valid_pair(source, row, token, pair + i)) continue;
            at.first[i] = at.second[i] = lane_traits<float>::from_bits(0x7fff'ffffu);
        }
    }
    return at;
}

}  // namespace cordage::backend
