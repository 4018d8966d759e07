// SPDX-License-Identifier: MIT
// The layout of released checkpoints, matrices that act on rows: h = sigma(z up), y = h down.
#pragma once

#include <cstddef>
#include <vector>

#include "cordage/clex/weights.hpp"

namespace cordage_test {

/// [columns, rows] of a [rows, columns] matrix.
inline std::vector<double> transposed(const std::vector<double>& matrix, cordage::index_t rows) {
    const auto height = static_cast<std::size_t>(rows), width = matrix.size() / height;
    std::vector<double> out(matrix.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i % width * height + i / width] = matrix[i];
    return out;
}

/// Weights of ode_up_proj [pairs, hidden] and ode_down_proj [hidden, pairs].
inline cordage::clex_weights from_rows(cordage::index_t hidden, cordage::index_t pairs, const std::vector<double>& up,
                                       const std::vector<double>& down) {
    return {hidden, pairs, transposed(up, pairs), transposed(down, hidden)};
}

}  // namespace cordage_test
