// SPDX-License-Identifier: MIT
// m cos and m sin of the pairs of a thread, from any source of angles; serves the CUDA kernels.
#pragma once

#include "cordage/angles/angle_source.hpp"
#include "cordage/backend/cuda/unit.hpp"
#include "cordage/backend/direction.hpp"

namespace cordage::backend {

/// m cos and m sin of pairs [pair, pair + N) of a token, for one of the directions: with the angle's sign, and for the
/// inverse over m instead of times m. NaN where the source says that what it was given is not valid.
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
        std::uint64_t phase[N];
        for (int i = 0; i < N; ++i) phase[i] = angle_detail::phase_at(source, row, token, pair + i);
        const double m = source.attention_factor(row, token);
        const auto factor = static_cast<float>(std::same_as<Direction, inverse> ? 1.0 / m : m);
        for (int i = 0; i < N; ++i) {
            const auto exact = cos_sin_of_phase32<float>(static_cast<std::uint32_t>(phase[i] >> 32));
            at.first[i] = factor * exact.cos;
            at.second[i] = factor * sign * exact.sin;
            if constexpr (requires { source.is_valid(row, token, pair); }) {
                if (source.is_valid(row, token, pair + i)) continue;
                at.first[i] = at.second[i] = lane_traits<float>::from_bits(0x7fff'ffffu);
            }
        }
    }
    return at;
}

}  // namespace cordage::backend
