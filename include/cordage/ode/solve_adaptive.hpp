// SPDX-License-Identifier: MIT
// Solves an ODE with steps chosen by an error estimate; serves the stage ode.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "cordage/ode/problem.hpp"
#include "cordage/ode/step_control.hpp"
#include "cordage/ode/tableaus.hpp"
#include "cordage/ode/trajectory.hpp"

namespace cordage {

/// Settings of solve_adaptive.
struct adaptive_options {
    cordage::tolerance tolerance = {};
    index_t max_steps = 100'000;            ///< steps tried, accepted or not; at most trajectory::most_steps
    std::optional<double> first_step = {};  ///< size of the first step tried; chosen by first_step_size if absent
};

namespace ode_detail {

/// Throws value_error naming the setting that is out of its domain.
inline void validate(const char* who, const adaptive_options& options) {
    validate(who, options.tolerance);
    if (options.max_steps < 1) fail<value_error>({who, ": max_steps ", options.max_steps, " must be >= 1"});
    if (options.first_step) validate_positive({who, ": first_step"}, *options.first_step);
}

/// Takes steps from the first node until interval().end, or until it cannot.
template <has_error_weights Tableau, class Scalar>
solve_status march(trajectory<Tableau, Scalar>& path, const any_field<Scalar>& field, const adaptive_options& options) {
    const auto [begin, end] = path.interval();
    if (begin == end) return solve_status::success;
    double size = options.first_step.value_or(0.0);
    if (!options.first_step) {
        size = first_step_size<Scalar>(field, path.interval(), path.state(0), path.slope(0), options.tolerance,
                                       Tableau::order);
        path.count_evaluations(1);
    }
    pi_controller controller(Tableau::embedded_order);
    std::vector<Scalar> difference(path.size());
    solve_status trouble = solve_status::step_too_small;  // what the last step tried suffered from, should we give up
    const index_t most = std::min(options.max_steps, static_cast<index_t>(path.most_steps(path.size())));
    for (index_t tried = 0; tried < most; ++tried) {
        const Scalar t = path.reached();
        const bool last = 1.01 * size >= std::abs(double{end} - double{t});  // leaves no sliver of a step for the end
        const double resolution = 8.0 * std::numeric_limits<Scalar>::epsilon() * std::abs(double{t});
        if (!last && size <= std::max(resolution, double{std::numeric_limits<Scalar>::min()})) return trouble;
        const Scalar h = last ? end - t : static_cast<Scalar>(end > begin ? size : -size);
        size = std::abs(double{h});

        const auto view = path.next_step();
        step(field, t, h, view);
        path.count_evaluations(fsal_form<Tableau>::last);
        local_error<Tableau>(h, view.slopes, std::span<Scalar>(difference));
        const double error = scaled_norm<Scalar>(options.tolerance, difference, view.z, view.z_next);
        const bool finite = is_finite_step(view) && is_finite(error);
        trouble = finite ? solve_status::step_too_small : solve_status::non_finite;
        if (finite && error <= 1.0) {
            path.accept(last ? end : t + h, h);
            if (last) return solve_status::success;
            size *= controller.after_accepted(error);
        } else {
            path.reject();
            size *= finite ? controller.after_rejected(error) : controller.after_non_finite();
        }
    }
    return solve_status::max_steps_reached;
}

}  // namespace ode_detail

/// Solves dz/dt = f(t, z), z(begin) = z0, with steps that keep the error estimate within the tolerance; the result can
/// be read at every t of the interval at the order of the rule's interpolant. An empty interval gives one node.
///
///   const auto path = solve_adaptive<tsit5>(field, {1.0, 16.0}, z0, {.tolerance = {1e-10, 1e-10}});
///   path.at(2.5, z);
///
/// @param z0  [size], finite
/// @throws value_error for a setting or number out of its domain; shape_error if z0 is not of the field's size
/// Ends with any solve_status; nothing can be read unless it is `success`. Allocates where the trajectory grows.
/// Gradient: ode/adjoint.hpp.
template <butcher_tableau Tableau = tsit5, class Scalar = double, class Field>
trajectory<Tableau, Scalar> solve_adaptive(Field&& field, std::type_identity_t<time_interval<Scalar>> interval,
                                           std::type_identity_t<std::span<const Scalar>> z0,
                                           const adaptive_options& options = {}) {
    static_assert(has_error_weights<Tableau>,
                  "cordage::solve_adaptive: Tableau needs 'static constexpr int embedded_order' and 'static constexpr "
                  "double error[stages]', b minus the weights of the embedded rule; docs/extending.md");
    const auto any = ode_detail::checked_field<Scalar>("solve_adaptive", field, interval, z0);
    ode_detail::validate("solve_adaptive", options);
    return ode_detail::solved<Tableau>(any, interval, z0, 16, [&](trajectory<Tableau, Scalar>& path) {
        return ode_detail::march(path, any, options);
    });
}

}  // namespace cordage
