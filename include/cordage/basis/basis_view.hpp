// SPDX-License-Identifier: MIT
// View of one basis or several, in memory of the host or of a device; stage policy at t -> basis.
#pragma once

#include <cstdint>

#include "cordage/core/index.hpp"
#include "cordage/core/macros.hpp"

namespace cordage {

/// Frequencies and attention factors of `count` bases. Every token uses basis 0, the basis of its row, or basis
/// of_token[token]. A `basis` converts to the first form, basis_list makes the others. The arrays must outlive it.
struct basis_view {
    const std::uint64_t* fractions = nullptr;    ///< [count, pairs], 2^-64 turn per position
    const std::uint64_t* whole_turns = nullptr;  ///< [count, pairs], turns per position
    const double* inv_freq = nullptr;            ///< [count, pairs], radians per position
    const double* attention_factors = nullptr;   ///< [count]
    index_t pairs = 0;
    index_t count = 1;
    const std::int32_t* of_token = nullptr;  ///< [rows, tokens]: index of each token's basis; null: that of its row
    index_t rows = 1;                        ///< rows of of_token; 1 serves every row of a batch
    index_t tokens = 0;                      ///< tokens of of_token

    /// Index of a token's basis.
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE index_t index(index_t row, index_t token) const noexcept {
        if (of_token != nullptr) return of_token[(rows == 1 ? 0 : row) * tokens + token];
        return count == 1 ? 0 : row;
    }
};

}  // namespace cordage
