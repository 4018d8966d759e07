// SPDX-License-Identifier: MIT
// Common start of every solve: checks and the first node; serves the stage ode.
#pragma once

#include <functional>
#include <span>

#include "cordage/core/error.hpp"
#include "cordage/ode/field.hpp"
#include "cordage/ode/step.hpp"
#include "cordage/ode/trajectory.hpp"

namespace cordage::ode_detail {

/// The field in the form that solvers call.
/// @throws value_error or shape_error naming the invalid part of the initial value problem
template <class Scalar, class Field>
any_field<Scalar> checked_field(const char* function, Field& field, time_interval<Scalar> interval,
                                std::span<const Scalar> z0) {
    static_assert(
        ode_field<Field, Scalar>,
        "cordage::solve_fixed, solve_adaptive: Field needs 'void operator()(Scalar t, std::span<const Scalar> "
        "z, std::span<Scalar> dz)'; docs/extending.md");
    validate_finite({function, ": interval.begin"}, interval.begin);
    validate_finite({function, ": interval.end"}, interval.end);
    for (std::size_t i = 0; i < z0.size(); ++i) validate_finite({function, ": z0[", i, "]"}, z0[i]);
    if constexpr (sized_field<Field>) {
        if (static_cast<std::size_t>(field.size()) != z0.size()) {
            fail<shape_error>({function, ": z0 size ", z0.size(), " must be the field's size ", field.size()});
        }
    }
    return std::ref(field);
}

/// Makes the first node with its slope; `march` then takes the steps and returns how the solve ended.
template <butcher_tableau Tableau, class Scalar, class March>
trajectory<Tableau, Scalar> solved(const any_field<Scalar>& field, time_interval<Scalar> interval,
                                   std::span<const Scalar> z0, std::size_t expected_steps, const March& march) {
    trajectory<Tableau, Scalar> path(interval, z0, expected_steps);
    field(interval.begin, path.state(0), path.first_slope());
    path.count_evaluations(1);
    path.finish(all_finite(path.slope(0)) ? march(path) : solve_status::non_finite);
    return path;
}

}  // namespace cordage::ode_detail
