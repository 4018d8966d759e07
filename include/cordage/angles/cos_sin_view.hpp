// SPDX-License-Identifier: MIT
// A table of cos and sin, made here or elsewhere, as a source of angles; stage angles.
#pragma once

#include "cordage/angles/angle_source.hpp"

namespace cordage {

/// View of a table made here or elsewhere. T, float or double, is part of the type: nothing is narrowed silently.
template <class T>
struct cos_sin_view {
    const T* cos_data = nullptr;  ///< [batch, tokens, pairs], dense, already times the attention factor
    const T* sin_data = nullptr;  ///< as cos_data
    index_t rows = 1;
    index_t token_count = 0;
    index_t pair_count = 0;
    double carried_attention_factor = 1.0;          ///< the factor that cos and sin already carry
    const double* row_attention_factors = nullptr;  ///< [rows], read instead where rows carry factors of their own

    index_t batch() const noexcept { return rows; }
    index_t tokens() const noexcept { return token_count; }
    index_t pairs() const noexcept { return pair_count; }
    double attention_factor(index_t row = 0) const noexcept {
        return row_attention_factors == nullptr ? carried_attention_factor : row_attention_factors[rows == 1 ? 0 : row];
    }

    template <class To>
    CORDAGE_ALWAYS_INLINE cos_sin<To> at(index_t row, index_t token, index_t pair) const noexcept {
        const index_t i = ((rows == 1 ? 0 : row) * token_count + token) * pair_count + pair;
        return {static_cast<To>(cos_data[i]), static_cast<To>(sin_data[i])};
    }
};

}  // namespace cordage
