// SPDX-License-Identifier: MIT
// One step of an explicit rule, unrolled over its stages at compile time; serves the stage ode.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "cordage/ode/butcher_tableau.hpp"
#include "cordage/ode/field.hpp"
#include "cordage/ode/unroll.hpp"

namespace cordage {

/// The memory of one step: the state it starts from, the slopes of fsal_form (k[0] is known, the others are filled in)
/// and the state it ends in. Nothing overlaps.
template <butcher_tableau Tableau, class Scalar>
struct step_view {
    std::span<const Scalar> z;                               ///< [size]
    std::array<Scalar*, fsal_form<Tableau>::slopes> slopes;  ///< each [size]
    std::span<Scalar> z_next;                                ///< [size]
};

/// sum_j a(Stage, j) slopes[j][lane]: how far stage Stage lies from the start of the step, over h.
template <butcher_tableau Tableau, std::size_t Stage, class Scalar, class Pointer, std::size_t Slopes>
constexpr Scalar stage_slope(const std::array<Pointer, Slopes>& slopes, std::size_t lane) {
    Scalar sum = 0;
    unroll<Stage>([&](auto j) {
        constexpr auto weight = static_cast<Scalar>(fsal_form<Tableau>::a(Stage, j));
        if constexpr (weight != 0) sum += weight * slopes[j][lane];
    });
    return sum;
}

/// Goes from t to t + h. Every stage's state is formed in z_next; the last stage's state is the result.
/// Evaluates the field slopes-1 times. Allocates nothing.
template <butcher_tableau Tableau, class Scalar, ode_field<Scalar> Field>
void step(Field& field, Scalar t, Scalar h, const step_view<Tableau, Scalar>& view) {
    using form = fsal_form<Tableau>;
    const std::size_t size = view.z.size();
    unroll<form::last>([&](auto previous) {
        constexpr std::size_t stage = previous + 1;
        for (std::size_t lane = 0; lane < size; ++lane) {
            view.z_next[lane] = view.z[lane] + h * stage_slope<Tableau, stage, Scalar>(view.slopes, lane);
        }
        field(t + static_cast<Scalar>(form::c(stage)) * h, std::span<const Scalar>(view.z_next),
              std::span<Scalar>(view.slopes[stage], size));
    });
}

/// h sum_i error_i k_i into out [size]: the step's result minus that of the embedded rule.
template <has_error_weights Tableau, class Scalar, class Pointer, std::size_t Slopes>
void local_error(Scalar h, const std::array<Pointer, Slopes>& slopes, std::span<Scalar> out) {
    using form = fsal_form<Tableau>;
    for (std::size_t lane = 0; lane < out.size(); ++lane) {
        Scalar sum = 0;
        unroll<form::slopes>([&](auto i) {
            constexpr auto weight = static_cast<Scalar>(form::error(i));
            if constexpr (weight != 0) sum += weight * slopes[i][lane];
        });
        out[lane] = h * sum;
    }
}

}  // namespace cordage
