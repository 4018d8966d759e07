// SPDX-License-Identifier: MIT
// Vectorisable sums over states and slopes, and one step of an explicit rule made of them; serves the stage ode.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "cordage/ode/butcher_tableau.hpp"
#include "cordage/ode/field.hpp"

namespace cordage::ode_detail {

/// True if every |entry| <= most, a finite number >= 0; false if one is NaN. Tests all entries without a branch, so
/// that compilers vectorise.
template <class Scalar>
bool all_within(Scalar most, std::span<const Scalar> values) noexcept {
    using bits = std::conditional_t<sizeof(Scalar) == sizeof(float), std::uint32_t, std::uint64_t>;
    const auto largest = std::bit_cast<bits>(most);
    bits found = 0;  // its highest bit is set once a magnitude is above the largest
    for (const Scalar value : values) found |= largest - (std::bit_cast<bits>(value) & (~bits{0} >> 1));
    return found >> (8 * sizeof(Scalar) - 1) == 0;
}

/// True if no entry is infinite or NaN.
template <class Scalar>
bool all_finite(std::span<const Scalar> values) noexcept {
    return all_within(std::numeric_limits<Scalar>::max(), values);
}

/// to += factor * from
template <class Scalar>
void add_scaled(Scalar factor, std::span<const Scalar> from, std::span<Scalar> to) noexcept {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

/// Maximum number of terms of one sum over slopes.
inline constexpr std::size_t most_terms = 8;

/// out[i] = from[i] + factor * sum_j weights[j] slopes[j][i], in one pass, for a fixed number of terms.
template <class Scalar, std::size_t... J>
void sum_slopes(std::index_sequence<J...>, Scalar factor, const Scalar* weights, const Scalar* const* slopes,
                const Scalar* from, std::span<Scalar> out) noexcept {
    const Scalar weight[] = {weights[J]...};
    const Scalar* const slope[] = {slopes[J]...};
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = from[i] + factor * (... + (weight[J] * slope[J][i]));
}

/// out = from + factor * sum_j weights[j] slopes[j], each [out.size()]; from may be out. One function for all rules,
/// with the weights at run time; slopes of weight 0 are not read.
template <class Scalar>
void add_slopes(Scalar factor, std::span<const Scalar> weights, const Scalar* const* slopes, const Scalar* from,
                std::span<Scalar> out) noexcept {
    Scalar weight[most_terms];
    const Scalar* slope[most_terms];
    std::size_t count = 0;
    const auto sum = [&]<std::size_t... Count>(std::index_sequence<Count...>) {
        const auto sum_of = [&](auto terms) { sum_slopes<Scalar>(terms, factor, weight, slope, from, out); };
        (void)((count == Count + 1 && (sum_of(std::make_index_sequence<Count + 1>{}), true)) || ...);
        if (count > 0) from = out.data();
        count = 0;
    };
    for (std::size_t j = 0; j < weights.size(); ++j) {
        if (weights[j] == 0) continue;
        weight[count] = weights[j], slope[count++] = slopes[j];
        if (count == most_terms) sum(std::make_index_sequence<most_terms>{});
    }
    sum(std::make_index_sequence<most_terms>{});
    if (from != out.data()) std::copy_n(from, out.size(), out.data());
}

/// The weights a of fsal_form in the type of the states.
template <butcher_tableau Tableau, class Scalar>
inline constexpr auto stage_weights = [] {
    using form = fsal_form<Tableau>;
    std::array<std::array<Scalar, form::slopes>, form::slopes> weights{};
    for (std::size_t i = 0; i < form::slopes; ++i) {
        for (std::size_t j = 0; j < i; ++j) weights[i][j] = static_cast<Scalar>(form::a(i, j));
    }
    return weights;
}();

/// The memory of one step: the initial state, the slopes of fsal_form (k[0] is given, the others are computed) and the
/// final state. Nothing overlaps.
template <butcher_tableau Tableau, class Scalar>
struct step_view {
    std::span<const Scalar> z;                               ///< [size]
    std::array<Scalar*, fsal_form<Tableau>::slopes> slopes;  ///< each [size]
    std::span<Scalar> z_next;                                ///< [size]
};

/// Writes the state of a stage to out: z + h sum_{j < stage} a(stage, j) k_j.
template <butcher_tableau Tableau, class Scalar, class Pointer>
void stage_state(std::size_t stage, Scalar h, std::span<const Scalar> z,
                 const std::array<Pointer, fsal_form<Tableau>::slopes>& slopes, std::span<Scalar> out) noexcept {
    add_slopes<Scalar>(h, {stage_weights<Tableau, Scalar>[stage].data(), stage}, slopes.data(), z.data(), out);
}

/// Steps from t to t + h. Every stage's state is computed in z_next; the last stage's state is the result.
/// Evaluates the field slopes-1 times. Allocates nothing.
template <butcher_tableau Tableau, class Scalar>
void step(const any_field<Scalar>& field, Scalar t, Scalar h, const step_view<Tableau, Scalar>& view) {
    using form = fsal_form<Tableau>;
    for (std::size_t stage = 1; stage <= form::last; ++stage) {
        stage_state<Tableau>(stage, h, view.z, view.slopes, view.z_next);
        field(t + static_cast<Scalar>(form::c(stage)) * h, std::span<const Scalar>(view.z_next),
              std::span<Scalar>(view.slopes[stage], view.z.size()));
    }
}

/// True if the result, all slopes and h times them are within 2^-10 of the largest number, so that the interpolant and
/// its derivative are finite in the whole step. (All slopes are tested, since a field may map a NaN of an earlier stage
/// to a finite number.)
template <butcher_tableau Tableau, class Scalar>
bool is_finite_step(Scalar h, const step_view<Tableau, Scalar>& view) noexcept {
    const Scalar most = std::numeric_limits<Scalar>::max() / 1024;  // weights add up to far less
    const Scalar most_slope = most / std::max(std::abs(h), Scalar{1});
    bool finite = all_within(most, std::span<const Scalar>(view.z_next));
    for (const Scalar* slope : view.slopes) finite = finite && all_within(most_slope, std::span(slope, view.z.size()));
    return finite;
}

/// h sum_i error_i k_i into out [size]: the step's result minus that of the embedded rule.
template <has_error_weights Tableau, class Scalar, class Pointer>
void local_error(Scalar h, const std::array<Pointer, fsal_form<Tableau>::slopes>& slopes, std::span<Scalar> out) {
    using form = fsal_form<Tableau>;
    static constexpr auto weights = [] {
        std::array<Scalar, form::slopes> error{};
        for (std::size_t i = 0; i < form::slopes; ++i) error[i] = static_cast<Scalar>(form::error(i));
        return error;
    }();
    std::ranges::fill(out, Scalar{0});
    add_slopes<Scalar>(h, weights, slopes.data(), out.data(), out);
}

}  // namespace cordage::ode_detail
