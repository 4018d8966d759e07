// SPDX-License-Identifier: MIT
// Initial weights for training CLEX; stage clex. Not part of cordage.hpp: <random> adds much to compile time, and only
// training needs it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>

#include "cordage/clex/weights.hpp"

namespace cordage {

/// Initial weights for training: hidden = lambda * rotary_dim, up normal with standard deviation 1/sqrt(pairs), down
/// zero, so that the initial basis is the prior's. The same numbers on every platform.
/// @throws value_error if lambda is not 1 to 1024 or the config is not valid
inline clex_weights clex_initial_weights(const rope_config& config, index_t lambda, std::uint64_t seed) {
    validate(config);
    if (lambda < 1 || lambda > 1024) {
        fail<value_error>({"clex_initial_weights: lambda ", lambda, " must be >= 1 and <= 1024"});
    }
    clex_weights weights{lambda * config.rotary_dim, config.pairs(), {}, {}};
    const auto size = static_cast<std::size_t>(weights.hidden * weights.pairs);
    weights.up.resize(size);
    weights.down.assign(size, 0.0);
    // The sum of 12 uniform integers below 2^32 has standard deviation 2^32 and is close to normal. It is exact,
    // whereas logarithms and the distributions of <random> differ between platforms.
    std::mt19937_64 generator(seed);
    constexpr double unit = 4294967296.0, mean = 6.0 * (unit - 1.0);
    const double deviation = 1.0 / std::sqrt(static_cast<double>(weights.pairs));
    for (double& weight : weights.up) {
        std::uint64_t sum = 0;
        for (int draw = 0; draw < 6; ++draw) {
            const std::uint64_t bits = generator();
            sum += (bits >> 32) + (bits & 0xffff'ffffu);
        }
        weight = deviation * ((static_cast<double>(sum) - mean) / unit);
    }
    return weights;
}

/// The same for log_length_field: up has standard deviation sqrt(pairs), so that W_up z / (pairs r) has about 1.
inline clex_weights log_length_initial_weights(const rope_config& config, index_t lambda, std::uint64_t seed) {
    clex_weights weights = clex_initial_weights(config, lambda, seed);
    for (double& weight : weights.up) weight *= static_cast<double>(weights.pairs);
    return weights;
}

}  // namespace cordage
