// SPDX-License-Identifier: MIT
// A table of cos and sin, built once for many layers; stage rotation.
#pragma once

#include <concepts>
#include <vector>

#include "cordage/angles/cos_sin_view.hpp"
#include "cordage/backend/backend.hpp"
#include "cordage/core/executor.hpp"

namespace cordage {

/// Owns a table of m cos and m sin, [batch, tokens, rotary_dim/2], m the attention factor, bit-identical to the values
/// that a rotation by `Backend` computes from the same angles. With backend::scalar each entry is rounded once to T; a
/// vector backend's floats are within 8e-8 m.
///
///   cos_sin_table<float> table(exact_angles(b, position_ids));
///   rotate_forward<half_split>(table.view(), in_place(q), in_place(k));
///
/// @throws value_error for an invalid position (NaN, 2^63), shape_error for over 2^58 entries; before any allocation
template <class T>
class cos_sin_table {
    static_assert(std::same_as<T, float> || std::same_as<T, double>,
                  "cordage::cos_sin_table: T must be float or double, cos_sin_table<float>(angles); 16-bit tables lose "
                  "the angle");

 public:
    template <angle_source Source, executor Executor = serial, class Backend = backend::fastest>
    explicit cos_sin_table(const Source& angles, const Executor& how = {}, Backend = {})
        : rows_(angles.batch()),
          tokens_(angles.tokens()),
          pairs_(angles.pairs()),
          cos_(entries(angles)),
          sin_(cos_.size()) {
        static_assert(!angle_detail::lie_on_device<Source>,
                      "cordage::cos_sin_table: these angles lie on a device: make the table of angles on the host");
        static_assert(backend::has_fill_range<Backend>,
                      "cordage: a backend needs 'template <class Source, class Real> void fill_range(my_backend, const "
                      "Source& angles, Real* cos, Real* sin, index_t begin, index_t end) noexcept' beside it; "
                      "docs/extending.md");
        attention_factors_.reserve(static_cast<std::size_t>(rows_ * tokens_));
        for (index_t i = 0; i < rows_ * tokens_; ++i) {
            attention_factors_.push_back(angles.attention_factor(i / tokens_, i % tokens_));
        }
        using backend::fill_range;
        const index_t bytes_of_token = 2 * pairs_ * static_cast<index_t>(sizeof(T));
        for_each_range(how, rows_ * tokens_, bytes_of_token, [&](index_t begin, index_t end) noexcept {
            fill_range(Backend{}, angles, cos_.data(), sin_.data(), begin, end);
        });
    }

    /// View of the table; the table must outlive the view.
    cos_sin_view<T> view() const& noexcept {
        return {cos_.data(), sin_.data(), rows_, tokens_, pairs_, 1.0, attention_factors_.data()};
    }
    template <class Real = T>
    auto view() const&& {
        static_assert(!sizeof(Real*), "cordage::cos_sin_table: name the table, which must outlive its view");
    }

 private:
    // Checks the angles before anything is allocated.
    template <class Source>
    static std::size_t entries(const Source& angles) {
        if (!is_addressable(view_axis{angles.batch(), 0}, view_axis{angles.tokens(), 0},
                            view_axis{angles.pairs(), 0})) {
            fail<shape_error>({"cos_sin_table: angles [", angles.batch(), ", ", angles.tokens(), ", ", angles.pairs(),
                               "] must have at most 2^58 entries"});
        }
        if constexpr (requires { angles.check("cos_sin_table"); }) angles.check("cos_sin_table");
        return static_cast<std::size_t>(angles.batch() * angles.tokens() * angles.pairs());
    }

    index_t rows_, tokens_, pairs_;
    std::vector<T> cos_, sin_;
    std::vector<double> attention_factors_;  // [batch, tokens]
};
template <class Source>
cos_sin_table(const Source&) -> cos_sin_table<void>;  // for the message

}  // namespace cordage
