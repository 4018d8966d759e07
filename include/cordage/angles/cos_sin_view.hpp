// SPDX-License-Identifier: MIT
// A table of cos and sin, made by cordage or elsewhere, as an angle source; stage angles.
#pragma once

#include "cordage/angles/angle_source.hpp"
#include "cordage/basis/basis.hpp"

namespace cordage {

/// View of a table of cos and sin in T, float or double. The table must outlive it.
template <class T>
struct cos_sin_view {
    const T* cos_data = nullptr;  ///< [batch, tokens, pairs], dense, multiplied by the attention factor
    const T* sin_data = nullptr;  ///< as cos_data
    index_t rows = 1;
    index_t token_count = 0;
    index_t pair_count = 0;
    double carried_attention_factor = 1.0;  ///< the attention factor in cos and sin
    const double* token_attention_factors =
        nullptr;  ///< [rows, tokens], used instead if not null: a factor for each token

    index_t batch() const noexcept { return rows; }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE index_t tokens() const noexcept { return token_count; }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE index_t pairs() const noexcept { return pair_count; }
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE double attention_factor(index_t row, index_t token) const noexcept {
        return token_attention_factors == nullptr ? carried_attention_factor
                                                  : token_attention_factors[entry(row, token)];
    }

    /// Index of a token in [rows, tokens].
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE index_t entry(index_t row, index_t token) const noexcept {
        return (rows == 1 ? 0 : row) * token_count + token;
    }
    template <class To>
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE cos_sin<To> at(index_t row, index_t token, index_t pair) const noexcept {
        const index_t i = entry(row, token) * pair_count + pair;
        return {static_cast<To>(cos_data[i]), static_cast<To>(sin_data[i])};
    }

    /// Checks the fields, which a host fills in as an aggregate. Does not read what the pointers point to.
    /// @throws shape_error, value_error  naming the field
    void check_fields(const char* function) const {
        if (rows < 1 || token_count < 0 || pair_count < 1) {
            fail<shape_error>({function, ": table [", rows, ", ", token_count, ", ", pair_count,
                               "] must have rows >= 1, tokens >= 0 and pairs >= 1"});
        }
        if (!is_addressable(view_axis{rows, 0}, view_axis{token_count, 0}, view_axis{pair_count, 0})) {
            fail<shape_error>(
                {function, ": table [", rows, ", ", token_count, ", ", pair_count, "] must have at most 2^58 entries"});
        }
        if ((cos_data == nullptr || sin_data == nullptr) && token_count > 0) {
            fail<shape_error>({function, ": table's cos_data and sin_data must point to the table, not nullptr"});
        }
        if (token_attention_factors == nullptr && !is_attention_factor(carried_attention_factor)) {
            fail<value_error>({function, ": table's carried_attention_factor ", carried_attention_factor,
                               " must be 2^-60 to 2^60 in magnitude"});
        }
    }
    /// check_fields, and the attention factors of tokens.
    void check(const char* function) const {
        check_fields(function);
        for (index_t i = 0; token_attention_factors != nullptr && i < rows * token_count; ++i) {
            if (const double m = token_attention_factors[i]; !is_attention_factor(m)) {
                fail<value_error>({function, ": table's token_attention_factors[", i, "] ", m,
                                   " must be 2^-60 to 2^60 in magnitude"});
            }
        }
    }
};
static_assert(angle_source<cos_sin_view<float>> && angle_source<cos_sin_view<double>>);

}  // namespace cordage
