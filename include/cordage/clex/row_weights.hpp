// SPDX-License-Identifier: MIT
// CLEX's weights as released checkpoints lay them out, and the way from and to ours; serves the stage clex.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cordage/clex/weights.hpp"

namespace cordage {

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
    for (std::size_t row = 0; row < height; ++row) {
        for (std::size_t column = 0; column < width; ++column)
            out[column * height + row] = matrix[row * width + column];
    }
    return out;
}

}  // namespace clex_detail

/// The same weights for columns: both matrices transposed.
/// @throws shape_error if a matrix has not pairs * hidden numbers
inline clex_weights to_columns(const clex_row_weights& rows) {
    using clex_detail::transposed;
    return {rows.hidden, rows.pairs, transposed("to_columns: up", rows.up, rows.pairs, rows.hidden),
            transposed("to_columns: down", rows.down, rows.hidden, rows.pairs)};
}

/// The same weights for rows, to be saved as released code reads them; a gradient is turned in the same way.
/// @throws shape_error if a matrix has not hidden * pairs numbers
inline clex_row_weights to_rows(const clex_weights& weights) {
    using clex_detail::transposed;
    return {weights.hidden, weights.pairs, transposed("to_rows: up", weights.up, weights.hidden, weights.pairs),
            transposed("to_rows: down", weights.down, weights.pairs, weights.hidden)};
}

}  // namespace cordage
