// SPDX-License-Identifier: MIT
// The object behind a cordage_angles: positions, bases and tables of their angles; serves the C interface.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
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
using difference_source = angle_difference<exact_source, exact_source>;
using float32_source = float32_angles<held_position>;

/// The angles of a call as cos and sin, in float and, once used, in double.
struct cos_sin_tables {
    cos_sin_view<float> of_float;
    cos_sin_view<double> of_double;

    template <class Real>
    CORDAGE_ALWAYS_INLINE const cos_sin_view<Real>& of() const noexcept {
        if constexpr (std::same_as<Real, float>)
            return of_float;
        else
            return of_double;
    }
};

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

/// A table of angles, with the positions and bases to which gradients flow.
template <class Real>
struct gradient_source {
    cos_sin_view<Real> table = {};
    const held_position* position_ids = nullptr;  ///< [axes, 1 or rows, tokens]
    index_t position_rows = 1, position_axes = 1;
    const std::uint8_t* axis_of_pair = nullptr;
    basis_view numbers = {};

    gradient_source() = default;
    gradient_source(const origin_of_angles& origin, const cos_sin_view<Real>& of)
        : table(of),
          position_ids(origin.position_ids.data()),
          position_rows(origin.rows),
          position_axes(origin.axes),
          axis_of_pair(origin.axis_of_pair.data()),
          numbers(origin.view_of_bases()) {}

    index_t batch() const noexcept { return table.rows; }
    CORDAGE_ALWAYS_INLINE index_t tokens() const noexcept { return table.token_count; }
    CORDAGE_ALWAYS_INLINE index_t pairs() const noexcept { return table.pair_count; }
    CORDAGE_ALWAYS_INLINE double attention_factor(index_t row, index_t token) const noexcept {
        return table.attention_factor(row, token);
    }
    template <class To>
    CORDAGE_ALWAYS_INLINE cos_sin<To> at(index_t row, index_t token, index_t pair) const noexcept {
        return table.template at<To>(row, token, pair);
    }
    CORDAGE_ALWAYS_INLINE index_t axes() const noexcept { return position_axes; }
    CORDAGE_ALWAYS_INLINE index_t axis(index_t pair) const noexcept { return axis_of_pair[pair]; }
    CORDAGE_ALWAYS_INLINE index_t bases() const noexcept { return numbers.count; }
    CORDAGE_ALWAYS_INLINE index_t basis_index(index_t row, index_t token) const noexcept {
        return numbers.index(row, token);
    }
    CORDAGE_ALWAYS_INLINE bool has_basis_of_token() const noexcept { return numbers.of_token != nullptr; }
    CORDAGE_ALWAYS_INLINE const double* inv_freq(index_t basis) const noexcept {
        return numbers.inv_freq + basis * numbers.pairs;
    }
    CORDAGE_ALWAYS_INLINE double position(index_t row, index_t token, index_t axis) const noexcept {
        return position_ids[(axis * position_rows + (position_rows == 1 ? 0 : row)) * tokens() + token].value;
    }
};

/// A table that is computed when it is first used.
template <class Real>
class lazy_table {
 public:
    /// View of the table, which must outlive it.
    /// @param with_source  with_source(f) calls f with the source of the angles
    template <class WithSource>
    cos_sin_view<Real> view(const WithSource& with_source) {
        std::call_once(is_made_, [&] { with_source([&](const auto& source) { table_.emplace(source); }); });
        return table_->view();
    }

 private:
    std::once_flag is_made_;
    std::optional<cos_sin_table<Real>> table_;
};

/// Angles and their tables: those in float computed by the constructor, others when first used.
class angles_object {
 public:
    /// @throws value_error, shape_error
    explicit angles_object(std::shared_ptr<const origin_of_angles> to,
                           std::shared_ptr<const origin_of_angles> from = nullptr)
        : to_(std::move(to)), from_(std::move(from)) {
        with_source([&](const auto& source) { rows_ = source.batch(); });
        tables(false);
    }

    const std::shared_ptr<const origin_of_angles>& to() const { return to_; }
    bool is_difference() const { return from_ != nullptr; }
    index_t batch() const noexcept { return rows_; }
    index_t tokens() const noexcept { return to_->tokens; }
    index_t pairs() const noexcept { return to_->bases.pairs(); }

    cos_sin_tables tables(bool with_doubles) const {
        const auto source = [this](const auto& f) { with_source(f); };
        return {of_float_.view(source), with_doubles ? of_double_.view(source) : cos_sin_view<double>{}};
    }

 private:
    template <class F>
    void with_source(const F& f) const {
        if (is_difference()) {
            const difference_source difference = to_->exact() - from_->exact();
            f(difference);
        } else if (to_->rounds_to_float32) {
            f(to_->float32());
        } else {
            f(to_->exact());
        }
    }

    std::shared_ptr<const origin_of_angles> to_, from_;
    index_t rows_ = 1;
    mutable lazy_table<float> of_float_;
    mutable lazy_table<double> of_double_;
};

template <>
inline constexpr const char* kind_of<angles_object> = "angles";

}  // namespace cordage::c
