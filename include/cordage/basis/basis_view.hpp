// SPDX-License-Identifier: MIT
// One basis or several as the numbers that angles read, in memory of the host or of a device; stage policy at t ->
// basis.
#pragma once

#include <cstdint>

#include "cordage/core/index.hpp"
#include "cordage/core/macros.hpp"

namespace cordage {

/// The numbers of `count` bases, and which basis a token has: the one, or a row's own, or the one that an index names.
/// A `basis` converts to it; a basis_list makes the others. A view: what it points to must outlive it.
struct basis_view {
    const std::uint64_t* fractions = nullptr;    ///< [count, pairs], 2^-64 turn a position
    const std::uint64_t* whole_turns = nullptr;  ///< [count, pairs], turns a position
    const double* inv_freq = nullptr;            ///< [count, pairs], radians a position
    const double* attention_factors = nullptr;   ///< [count]
    index_t pairs = 0;
    index_t count = 1;
    const std::int32_t* of_token = nullptr;  ///< [rows, tokens]: the basis of each token; null: of its row
    index_t rows = 1;                        ///< of of_token; 1 serves every row of a batch
    index_t tokens = 0;                      ///< of of_token

    /// Which basis a token has.
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE index_t index(index_t row, index_t token) const noexcept {
        if (of_token != nullptr) return of_token[(rows == 1 ? 0 : row) * tokens + token];
        return count == 1 ? 0 : row;
    }
};

}  // namespace cordage
