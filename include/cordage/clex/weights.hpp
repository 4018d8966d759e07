// SPDX-License-Identifier: MIT
// The numbers that CLEX learns, their flat order and their beginning; first file of the stage clex.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "cordage/core/bits.hpp"
#include "cordage/core/config.hpp"
#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"

namespace cordage {

/// W_up and W_down of CLEX (Chen et al. 2024, eq. 13): two matrices that act on columns, without bias.
struct clex_weights {
    index_t hidden = 0;        ///< width of the hidden layer, lambda * rotary_dim
    index_t pairs = 0;         ///< rotary_dim/2
    std::vector<double> up;    ///< [hidden, pairs]
    std::vector<double> down;  ///< [pairs, hidden]

    friend bool operator==(const clex_weights&, const clex_weights&) = default;
};

/// All weights in one row: up, then down.
inline std::vector<double> flat_parameters(const clex_weights& weights) {
    std::vector<double> flat(weights.up);
    flat.insert(flat.end(), weights.down.begin(), weights.down.end());
    return flat;
}

/// Weights of the same shape with the numbers of `flat`.
/// @throws shape_error if there are not 2 * hidden * pairs of them
inline clex_weights with_flat_parameters(const clex_weights& shape, std::span<const double> flat) {
    const auto half = static_cast<std::size_t>(saturated_product(shape.hidden, shape.pairs));
    if (flat.size() % 2 != 0 || flat.size() / 2 != half) {
        throw shape_error(message("clex_weights: parameters size ", flat.size(), " must be 2 * hidden ", shape.hidden,
                                  " * pairs ", shape.pairs));
    }
    const auto up = flat.first(half), down = flat.last(half);
    return {shape.hidden, shape.pairs, {up.begin(), up.end()}, {down.begin(), down.end()}};
}

/// Throws shape_error or value_error naming what does not fit the config or is not a number.
inline void validate(const clex_weights& weights, const rope_config& config) {
    if (weights.pairs != config.pairs()) {
        throw shape_error(message("clex_weights: pairs ", weights.pairs, " must be rotary_dim/2 = ", config.pairs()));
    }
    if (weights.hidden < 1) throw shape_error(message("clex_weights: hidden ", weights.hidden, " must be >= 1"));
    const auto check = [](const char* name, const std::vector<double>& matrix, index_t rows, index_t columns) {
        if (static_cast<index_t>(matrix.size()) != saturated_product(rows, columns)) {
            throw shape_error(
                message("clex_weights: ", name, " size ", matrix.size(), " must be ", rows, " * ", columns));
        }
        for (std::size_t i = 0; i < matrix.size(); ++i) {
            if (is_finite(matrix[i])) continue;
            const auto width = static_cast<std::size_t>(columns);
            throw value_error(
                message("clex_weights: ", name, "[", i / width, ", ", i % width, "] ", matrix[i], " must be finite"));
        }
    };
    check("up", weights.up, weights.hidden, weights.pairs);
    check("down", weights.down, weights.pairs, weights.hidden);
}

/// Weights to begin training with: hidden = lambda * rotary_dim, up random with standard deviation 1/sqrt(pairs), down
/// zero, so that the first basis is the prior's. The same numbers on every machine.
/// @throws value_error if lambda is not 1 to 1024 or the config is not valid
inline clex_weights clex_initial_weights(const rope_config& config, index_t lambda, std::uint64_t seed) {
    validate(config);
    if (lambda < 1 || lambda > 1024) {
        throw value_error(message("clex_initial_weights: lambda ", lambda, " must be >= 1 and <= 1024"));
    }
    clex_weights weights{lambda * config.rotary_dim, config.pairs(), {}, {}};
    const auto size = static_cast<std::size_t>(weights.hidden * weights.pairs);
    weights.up.resize(size);
    weights.down.assign(size, 0.0);
    // The sum of 12 uniform integers below 2^32 has standard deviation 2^32 and is close to normal. It is exact, where
    // the logarithms of other ways, and the distributions of <random>, differ between machines.
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

}  // namespace cordage
