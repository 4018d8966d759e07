// SPDX-License-Identifier: MIT
// Solves an ODE with given steps; serves the stage ode.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <type_traits>

#include "cordage/ode/problem.hpp"
#include "cordage/ode/tableaus.hpp"
#include "cordage/ode/trajectory.hpp"

namespace cordage {

/// Number of steps of equal size, h = (end - begin)/count.
struct equal_steps {
    index_t count;
};

/// Size of the steps (> 0 in either direction); the last one may be shortened to end at interval.end.
struct step_size {
    double value;
};

namespace ode_detail {

/// Takes `count` steps of size h; the last one has the remaining size and ends at interval.end.
template <butcher_tableau Tableau, class Scalar>
trajectory<Tableau, Scalar> solved_in_steps(const any_field<Scalar>& field, time_interval<Scalar> interval,
                                            std::span<const Scalar> z0, std::size_t count, Scalar h) {
    return solved<Tableau>(field, interval, z0, count, [&](trajectory<Tableau, Scalar>& path) {
        for (std::size_t n = 1; n <= count; ++n) {
            const Scalar t = path.reached();
            const Scalar t_next = n == count ? interval.end : interval.begin + static_cast<Scalar>(n) * h;
            const Scalar size = n == count ? interval.end - t : h;
            const auto view = path.next_step();
            step(field, t, size, view);
            path.count_evaluations(fsal_form<Tableau>::last);
            if (!is_finite_step(size, view)) return solve_status::non_finite;
            path.accept(t_next, size);
        }
        return solve_status::success;
    });
}

}  // namespace ode_detail

/// Solves dz/dt = f(t, z), z(begin) = z0, with equal steps. An empty interval gives a trajectory of one node.
///
///   const auto path = solve_fixed<rk4_classic>(field, {1.0, 16.0}, z0, equal_steps{60});
///
/// @param z0  [size], finite
/// @throws value_error unless all numbers are finite and steps.count is 1 to trajectory::most_steps; shape_error unless
///         z0 has the field's size
/// Ends with `success` or `non_finite`. Evaluates the field stages * count + 1 times, once less for each step if the
/// rule is fsal. Allocates the trajectory before the first step. Gradient: ode/adjoint.hpp.
template <butcher_tableau Tableau, class Scalar = double, class Field>
trajectory<Tableau, Scalar> solve_fixed(Field&& field, std::type_identity_t<time_interval<Scalar>> interval,
                                        std::type_identity_t<std::span<const Scalar>> z0, equal_steps steps) {
    const auto any = ode_detail::checked_field<Scalar>("solve_fixed", field, interval, z0);
    const std::size_t most = trajectory<Tableau, Scalar>::most_steps(z0.size());
    if (steps.count < 1 || static_cast<std::size_t>(steps.count) > most) {
        fail<value_error>({"solve_fixed: equal_steps.count ", steps.count, " must be >= 1 and <= ", most,
                           ", the capacity of a trajectory with states of ", z0.size(), " numbers"});
    }
    const auto count = interval.begin == interval.end ? 0 : static_cast<std::size_t>(steps.count);
    const Scalar h = (interval.end - interval.begin) / static_cast<Scalar>(steps.count);
    return ode_detail::solved_in_steps<Tableau>(any, interval, z0, count, h);
}

/// As above with steps of a given size; the last one is shortened if the interval is not a multiple of it.
/// @throws value_error unless the size is finite, > 0, and gives at most trajectory::most_steps steps
template <butcher_tableau Tableau, class Scalar = double, class Field>
trajectory<Tableau, Scalar> solve_fixed(Field&& field, std::type_identity_t<time_interval<Scalar>> interval,
                                        std::type_identity_t<std::span<const Scalar>> z0, step_size step) {
    const auto any = ode_detail::checked_field<Scalar>("solve_fixed", field, interval, z0);
    const double length = std::abs(static_cast<double>(interval.end) - static_cast<double>(interval.begin));
    const std::size_t most = trajectory<Tableau, Scalar>::most_steps(z0.size());
    if (!is_finite(step.value) || !(step.value > 0.0) || !(length <= step.value * static_cast<double>(most))) {
        fail<value_error>({"solve_fixed: step_size ", step.value, " must be finite, > 0 and at least 1/", most,
                           " of the interval ", length, ": a trajectory with states of ", z0.size(), " numbers holds ",
                           most, " steps"});
    }
    // A ratio that is an integer up to rounding means that many steps, not an additional step of size 0.
    const double ratio = length / step.value, whole = std::round(ratio);
    const bool exact = std::abs(ratio - whole) <= 16.0 * double{std::numeric_limits<Scalar>::epsilon()} * ratio;
    const auto count = static_cast<std::size_t>(exact ? whole : std::ceil(ratio));
    const auto h = static_cast<Scalar>(interval.end < interval.begin ? -step.value : step.value);
    return ode_detail::solved_in_steps<Tableau>(any, interval, z0, count, h);
}

}  // namespace cordage
