// SPDX-License-Identifier: MIT
// The parameters of CLEX and their flat order; first file of the stage clex.
#pragma once

#include <algorithm>
#include <cstddef>
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

/// All weights in one vector: up, then down.
inline std::vector<double> flat_parameters(const clex_weights& weights) {
    std::vector<double> flat(weights.up.size() + weights.down.size());
    const auto rest = std::copy(weights.up.begin(), weights.up.end(), flat.begin());
    std::copy(weights.down.begin(), weights.down.end(), rest);
    return flat;
}

/// Weights of the same shape with the numbers of `flat`.
/// @throws shape_error unless flat has 2 * hidden * pairs entries
inline clex_weights with_flat_parameters(const clex_weights& shape, std::span<const double> flat) {
    const auto half = static_cast<std::size_t>(saturated_product(shape.hidden, shape.pairs));
    if (flat.size() % 2 != 0 || flat.size() / 2 != half) {
        fail<shape_error>({"clex_weights: parameters size ", flat.size(), " must be 2 * hidden ", shape.hidden,
                           " * pairs ", shape.pairs});
    }
    const auto up = flat.first(half), down = flat.last(half);
    return {shape.hidden, shape.pairs, {up.begin(), up.end()}, {down.begin(), down.end()}};
}

/// Throws shape_error or value_error naming the field that does not fit the config or is not finite.
inline void validate(const clex_weights& weights, const rope_config& config) {
    if (weights.pairs != config.pairs()) {
        fail<shape_error>({"clex_weights: pairs ", weights.pairs, " must be rotary_dim/2 = ", config.pairs()});
    }
    if (weights.hidden < 1) fail<shape_error>({"clex_weights: hidden ", weights.hidden, " must be >= 1"});
    const auto check = [](const char* name, const std::vector<double>& matrix, index_t rows, index_t columns) {
        if (static_cast<index_t>(matrix.size()) != saturated_product(rows, columns)) {
            fail<shape_error>({"clex_weights: ", name, " size ", matrix.size(), " must be ", rows, " * ", columns});
        }
        for (std::size_t i = 0; i < matrix.size(); ++i) {
            if (is_finite(matrix[i])) continue;
            const auto width = static_cast<std::size_t>(columns);
            fail<value_error>(
                {"clex_weights: ", name, "[", i / width, ", ", i % width, "] ", matrix[i], " must be finite"});
        }
    };
    check("up", weights.up, weights.hidden, weights.pairs);
    check("down", weights.down, weights.pairs, weights.hidden);
}

}  // namespace cordage
