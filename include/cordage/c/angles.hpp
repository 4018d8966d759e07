// SPDX-License-Identifier: MIT
// The object behind a cordage_angles: positions, bases and tables of their angles; serves the C interface.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "cordage/angles/angle_difference.hpp"
#include "cordage/angles/axis_angles.hpp"
#include "cordage/basis/basis_list.hpp"
#include "cordage/c/handles.hpp"
#include "cordage/rotate/cos_sin_table.hpp"

namespace cordage::c {

/// A position of any type, in the form from which angles are computed.
struct held_position {
    split_position split;
    double value = 0.0;

    explicit CORDAGE_ALWAYS_INLINE operator float() const noexcept { return static_cast<float>(value); }
};

}  // namespace cordage::c

template <>
struct cordage::position_traits<cordage::c::held_position> {
    static CORDAGE_ALWAYS_INLINE constexpr split_position split(const c::held_position& p) noexcept { return p.split; }
    static CORDAGE_ALWAYS_INLINE constexpr double value(const c::held_position& p) noexcept { return p.value; }
};

namespace cordage::c {

using exact_source = axis_angles<held_position>;
using float32_source = float32_angles<held_position>;

/// The angles of a call as cos and sin, in float and, once used, in double.
using cos_sin_tables = std::tuple<cos_sin_view<float>, cos_sin_view<double>>;

/// Positions and bases, viewed by angle sources.
struct origin_of_angles {
    explicit origin_of_angles(basis_list of) : bases(std::move(of)) {}

    basis_list bases;
    std::vector<std::int32_t> basis_of_token;
    index_t rows_of_basis = 1;
    std::vector<held_position> position_ids;  ///< [axes, rows, tokens]
    index_t axes = 1, rows = 1, tokens = 0;
    std::vector<std::uint8_t> axis_of_pair;
    bool rounds_to_float32 = false;
    bool has_basis_of_token = false;

    basis_view view_of_bases() const {
        return has_basis_of_token ? bases.of(basis_of_token, rows_of_basis) : bases.of_rows();
    }
    position_view<held_position> positions() const { return axis_major(position_ids.data(), axes, rows, tokens); }
    exact_source exact() const { return {view_of_bases(), axis_of_pair, positions()}; }
    float32_source float32() const { return {view_of_bases(), positions()}; }
};

/// A table of angles, with the positions and bases to which gradients flow. For a difference these are not all: its
/// batch and attention factors are the table's.
template <class Real>
class gradient_source : exact_source {
 public:
    explicit gradient_source(const exact_source& source) : exact_source(source) {}

    cos_sin_view<Real> table = {};

    index_t batch() const noexcept { return table.batch(); }
    CORDAGE_ALWAYS_INLINE double attention_factor(index_t row, index_t token) const noexcept {
        return table.attention_factor(row, token);
    }
    template <class To>
    CORDAGE_ALWAYS_INLINE cos_sin<To> at(index_t row, index_t token, index_t pair) const noexcept {
        return table.template at<To>(row, token, pair);
    }
    using exact_source::axes, exact_source::axis, exact_source::position, exact_source::tokens, exact_source::pairs;
    using exact_source::bases, exact_source::basis_index, exact_source::has_basis_of_token, exact_source::inv_freq;
};
static_assert(has_cos_sin<gradient_source<float>> && !has_phase<gradient_source<float>>);  // kernels read the table

/// Angles and their tables: those in float computed by the constructor, those in double when first used.
class angles_object {
 public:
    /// @throws value_error, shape_error
    explicit angles_object(std::shared_ptr<const origin_of_angles> to,
                           std::shared_ptr<const origin_of_angles> from = nullptr)
        : to_(std::move(to)), from_(std::move(from)), floats_(table<float>()) {}

    const std::shared_ptr<const origin_of_angles>& to() const { return to_; }
    bool is_difference() const { return from_ != nullptr; }
    index_t batch() const noexcept { return floats_.view().batch(); }
    index_t tokens() const noexcept { return to_->tokens; }
    index_t pairs() const noexcept { return to_->bases.pairs(); }

    cos_sin_tables tables(bool with_doubles) const {
        if (!with_doubles) return {floats_.view(), {}};
        std::call_once(has_doubles_, [this] { doubles_.emplace(table<double>()); });
        return {floats_.view(), doubles_->view()};
    }

 private:
    template <class Real>
    cos_sin_table<Real> table() const {
        using made = cos_sin_table<Real>;
        if (is_difference()) return made(to_->exact() - from_->exact());
        return to_->rounds_to_float32 ? made(to_->float32()) : made(to_->exact());
    }

    std::shared_ptr<const origin_of_angles> to_, from_;
    cos_sin_table<float> floats_;
    mutable std::once_flag has_doubles_;
    mutable std::optional<cos_sin_table<double>> doubles_;
};
template <>
inline constexpr const char* kind_of<angles_object> = "angles";

}  // namespace cordage::c
