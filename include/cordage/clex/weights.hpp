// SPDX-License-Identifier: MIT
// The parameters of CLEX: their flat order, and the layout of released checkpoints; first file of the stage clex.
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

/// ode_up_proj and ode_down_proj of a released checkpoint: matrices that act on rows, h = sigma(z up), y = h down.
struct clex_row_weights {
    index_t hidden = 0;        ///< param_factor * rotary_dim
    index_t pairs = 0;         ///< rotary_dim/2
    std::vector<double> up;    ///< [pairs, hidden]
    std::vector<double> down;  ///< [hidden, pairs]

    friend bool operator==(const clex_row_weights&, const clex_row_weights&) = default;
};

namespace clex_detail {

// [columns, rows] of a [rows, columns] matrix.
inline std::vector<double> transposed(const char* name, std::span<const double> matrix, index_t rows, index_t columns) {
    if (rows < 0 || columns < 0 || matrix.size() != static_cast<std::size_t>(rows * columns)) {
        fail<shape_error>({name, " size ", matrix.size(), " must be ", rows, " * ", columns});
    }
    const auto height = static_cast<std::size_t>(rows), width = static_cast<std::size_t>(columns);
    std::vector<double> out(matrix.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i % width * height + i / width] = matrix[i];
    return out;
}

}  // namespace clex_detail

/// The same weights acting on columns: both matrices transposed.
/// @throws shape_error unless both matrices have pairs * hidden entries
inline clex_weights to_columns(const clex_row_weights& rows) {
    using clex_detail::transposed;
    return {rows.hidden, rows.pairs, transposed("to_columns: up", rows.up, rows.pairs, rows.hidden),
            transposed("to_columns: down", rows.down, rows.hidden, rows.pairs)};
}

/// The same weights acting on rows, the layout of released checkpoints; also transposes a gradient. Throws as
/// to_columns.
inline clex_row_weights to_rows(const clex_weights& weights) {
    using clex_detail::transposed;
    return {weights.hidden, weights.pairs, transposed("to_rows: up", weights.up, weights.hidden, weights.pairs),
            transposed("to_rows: down", weights.down, weights.pairs, weights.hidden)};
}

}  // namespace cordage
