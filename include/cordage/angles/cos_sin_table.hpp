// SPDX-License-Identifier: MIT
// A table of cos and sin, built once for many layers; stage angles.
#pragma once

#include <vector>

#include "cordage/angles/angle_source.hpp"
#include "cordage/core/executor.hpp"

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
static_assert(angle_source<cos_sin_view<float>> && angle_source<cos_sin_view<double>>);

/// Owns a table of m*cos and m*sin, [batch, tokens, pairs], each entry rounded once to T.
///
///   cos_sin_table<float> table(exact_angles(b, position_ids));
///   rotate_forward<half_split>(table.view(), in_place(q), in_place(k));
template <class T>
class cos_sin_table {
    static_assert(std::same_as<T, float> || std::same_as<T, double>,
                  "cordage::cos_sin_table: T must be float or double; 16-bit tables lose the angle");

 public:
    template <angle_source Source, executor Executor = serial>
    explicit cos_sin_table(const Source& angles, const Executor& how = {})
        : rows_(angles.batch()),
          tokens_(angles.tokens()),
          pairs_(angles.pairs()),
          cos_(static_cast<std::size_t>(rows_ * tokens_ * pairs_)),
          sin_(cos_.size()) {
        for (index_t row = 0; row < rows_; ++row) attention_factors_.push_back(angles.attention_factor(row));
        for_each_range(how, rows_ * tokens_, 64, [&](index_t begin, index_t end) noexcept {
            for (index_t i = begin; i < end; ++i) {
                for (index_t pair = 0; pair < pairs_; ++pair) {
                    const auto value = angles.template at<T>(i / tokens_, i % tokens_, pair);
                    cos_[static_cast<std::size_t>(i * pairs_ + pair)] = value.cos;
                    sin_[static_cast<std::size_t>(i * pairs_ + pair)] = value.sin;
                }
            }
        });
    }

    /// Valid while the table lives.
    cos_sin_view<T> view() const noexcept {
        return {cos_.data(), sin_.data(), rows_, tokens_, pairs_, attention_factors_[0], attention_factors_.data()};
    }

 private:
    index_t rows_, tokens_, pairs_;
    std::vector<T> cos_, sin_;
    std::vector<double> attention_factors_;  // one a row
};

}  // namespace cordage
