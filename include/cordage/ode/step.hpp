// SPDX-License-Identifier: MIT
// One step of an explicit rule; serves the stage ode.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "cordage/ode/butcher_tableau.hpp"
#include "cordage/ode/field.hpp"
#include "cordage/ode/loops.hpp"

namespace cordage::ode_detail {

/// The weights a of fsal_form, in the type of the states.
template <butcher_tableau Tableau, class Scalar>
inline constexpr auto stage_weights = [] {
    using form = fsal_form<Tableau>;
    std::array<std::array<Scalar, form::slopes>, form::slopes> weights{};
    for (std::size_t i = 0; i < form::slopes; ++i) {
        for (std::size_t j = 0; j < i; ++j) weights[i][j] = static_cast<Scalar>(form::a(i, j));
    }
    return weights;
}();

/// The memory of one step: the state it starts from, the slopes of fsal_form (k[0] is known, the others are filled in)
/// and the state it ends in. Nothing overlaps.
template <butcher_tableau Tableau, class Scalar>
struct step_view {
    std::span<const Scalar> z;                               ///< [size]
    std::array<Scalar*, fsal_form<Tableau>::slopes> slopes;  ///< each [size]
    std::span<Scalar> z_next;                                ///< [size]
};

/// The state of a stage into out: z + h sum_{j < stage} a(stage, j) k_j.
template <butcher_tableau Tableau, class Scalar, class Pointer>
void stage_state(std::size_t stage, Scalar h, std::span<const Scalar> z,
                 const std::array<Pointer, fsal_form<Tableau>::slopes>& slopes, std::span<Scalar> out) noexcept {
    add_slopes<Scalar>(h, {stage_weights<Tableau, Scalar>[stage].data(), stage}, slopes.data(), z.data(), out);
}

/// Goes from t to t + h. Every stage's state is formed in z_next; the last stage's state is the result.
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

/// True if a step ended in numbers and met nothing else on its way: a field may hide the NaN of an earlier stage.
template <butcher_tableau Tableau, class Scalar>
bool is_finite_step(const step_view<Tableau, Scalar>& view) noexcept {
    bool finite = all_finite(std::span<const Scalar>(view.z_next));
    for (const Scalar* slope : view.slopes) finite = finite && all_finite(std::span(slope, view.z.size()));
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
