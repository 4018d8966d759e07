// SPDX-License-Identifier: MIT
// Solves an ODE with steps chosen by an estimate of their error; serves the stage ode.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "cordage/ode/problem.hpp"
#include "cordage/ode/tableaus.hpp"
#include "cordage/ode/trajectory.hpp"

namespace cordage {

/// The error allowed in each entry of a step: absolute + relative * max(|z|, |z_next|).
struct tolerance {
    double relative = 1e-8;
    double absolute = 1e-8;
};

/// Settings of solve_adaptive.
struct adaptive_options {
    cordage::tolerance tolerance = {};
    index_t max_steps = 100'000;            ///< limit on steps, accepted and rejected; at most trajectory::most_steps
    std::optional<double> first_step = {};  ///< size of the first step tried; chosen by first_step_size if absent
};

namespace ode_detail {

inline void validate(const char* who, const tolerance& allowed) {
    validate_positive({who, ": tolerance.relative"}, allowed.relative);
    validate_positive({who, ": tolerance.absolute"}, allowed.absolute);
}

/// Root mean square of x relative to the error allowed between the states z and z_next; allowed if <= 1.
template <class Scalar>
double scaled_norm(const tolerance& allowed, std::span<const Scalar> x, std::span<const Scalar> z,
                   std::span<const Scalar> z_next) noexcept {
    if (x.empty()) return 0.0;
    constexpr std::size_t lanes = 8;  // running sums, which compilers vectorise
    double sums[lanes] = {};
    const auto square = [&](std::size_t i) {
        const double size = std::max(std::abs(double{z[i]}), std::abs(double{z_next[i]}));
        const double ratio = double{x[i]} / (allowed.absolute + allowed.relative * size);
        return ratio * ratio;
    };
    const std::size_t whole = x.size() / lanes * lanes;
    for (std::size_t i = 0; i < whole; i += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += square(i + lane);
    }
    for (std::size_t i = whole; i < x.size(); ++i) sums[0] += square(i);
    return std::sqrt(std::accumulate(sums, sums + lanes, 0.0) / static_cast<double>(x.size()));
}

/// Proportional-integral control (Gustafsson 1991; Hairer, Norsett, Wanner, vol. II, IV.2): with e the error of a step
/// relative to the tolerance and p the order of the embedded rule,
///
///   factor = safety * e^(-0.7/(p+1)) * e_previous^(0.4/(p+1)),  within [shrink, grow]; never above 1 after a
///   rejection.
///
/// A rejected step is tried again smaller by safety * e^(-1/(p+1)).
class pi_controller {
 public:
    static constexpr double safety = 0.9, shrink = 0.2, grow = 10.0;
    static constexpr double least_error = 1e-10;  ///< an error of 0 gives `grow`, not infinity

    explicit pi_controller(int embedded_order) noexcept : exponent_(1.0 / (embedded_order + 1.0)) {}

    /// The factor on the step size after a step with error <= 1.
    double after_accepted(double error) noexcept {
        error = std::max(error, least_error);
        const double factor = safety * std::pow(error, -0.7 * exponent_) * std::pow(previous_error_, 0.4 * exponent_);
        const double most = after_rejection_ ? 1.0 : grow;
        previous_error_ = error;
        after_rejection_ = false;
        return std::clamp(factor, shrink, most);
    }

    /// The factor on the step size after a step with error > 1.
    double after_rejected(double error) noexcept {
        after_rejection_ = true;
        return std::max(shrink, safety * std::pow(error, -exponent_));
    }
    double after_non_finite() noexcept {
        after_rejection_ = true;
        return shrink;
    }

 private:
    double exponent_;
    double previous_error_ = 1.0;
    bool after_rejection_ = false;
};

/// A step size > 0, at most the interval's length, whose error should be near the tolerance for a rule of this order:
/// Hairer, Norsett, Wanner, "Solving ODEs I", II.4. Evaluates the field once, after a small Euler step.
template <class Scalar>
double first_step_size(const any_field<Scalar>& field, time_interval<Scalar> interval, std::span<const Scalar> z0,
                       std::span<const Scalar> slope0, const tolerance& allowed, int order) {
    const double length = std::abs(double{interval.end} - double{interval.begin});
    const double state_norm = scaled_norm(allowed, z0, z0, z0);
    const double slope_norm = scaled_norm(allowed, slope0, z0, z0);
    const bool no_ratio = state_norm < 1e-5 || slope_norm < 1e-5 || !is_finite(slope_norm);  // norms may overflow
    const double trial = std::min(no_ratio ? 1e-6 : 0.01 * state_norm / slope_norm, length);

    const auto h = static_cast<Scalar>(interval.end > interval.begin ? trial : -trial);
    std::vector<Scalar> z(z0.begin(), z0.end()), change(z0.size());
    for (std::size_t i = 0; i < z.size(); ++i) z[i] += h * slope0[i];
    field(interval.begin + h, std::span<const Scalar>(z), std::span<Scalar>(change));
    for (std::size_t i = 0; i < z.size(); ++i) change[i] -= slope0[i];
    const double bend_norm = scaled_norm(allowed, std::span<const Scalar>(change), z0, z0) / trial;
    if (!is_finite(slope_norm) || !is_finite(bend_norm)) return trial;

    const double steepest = std::max(slope_norm, bend_norm);
    const double wanted =
        steepest <= 1e-15 ? std::max(1e-6, 1e-3 * trial) : std::pow(0.01 / steepest, 1.0 / (order + 1.0));
    return std::min({100.0 * trial, wanted, length});
}

inline void validate(const char* who, const adaptive_options& options) {
    validate(who, options.tolerance);
    if (options.max_steps < 1) fail<value_error>({who, ": max_steps ", options.max_steps, " must be >= 1"});
    if (options.first_step) validate_positive({who, ": first_step"}, *options.first_step);
}

/// Takes steps from the first node until interval().end or failure.
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
    solve_status trouble = solve_status::step_too_small;  // status if the next step would be too small
    const index_t most = std::min(options.max_steps, static_cast<index_t>(path.most_steps(path.size())));
    for (index_t tried = 0; tried < most; ++tried) {
        const Scalar t = path.reached();
        const bool last = 1.01 * size >= std::abs(double{end} - double{t});  // avoids a tiny last step
        const double resolution = 8.0 * std::numeric_limits<Scalar>::epsilon() * std::abs(double{t});
        if (!last && size <= std::max(resolution, double{std::numeric_limits<Scalar>::min()})) return trouble;
        const Scalar h = last ? end - t : static_cast<Scalar>(end > begin ? size : -size);
        size = std::abs(double{h});

        const auto view = path.next_step();
        step(field, t, h, view);
        path.count_evaluations(fsal_form<Tableau>::last);
        local_error<Tableau>(h, view.slopes, std::span<Scalar>(difference));
        const double error = scaled_norm<Scalar>(options.tolerance, difference, view.z, view.z_next);
        const bool finite = is_finite_step(h, view) && is_finite(error);
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

/// Solves dz/dt = f(t, z), z(begin) = z0, with steps that keep the error estimate within the tolerance. The result can
/// be evaluated at every t of the interval, at the order of the rule's interpolant. An empty interval gives one node.
///
///   const auto path = solve_adaptive<tsit5>(field, {1.0, 16.0}, z0, {.tolerance = {1e-10, 1e-10}});
///   path.at(2.5, z);
///
/// @param z0  [size], finite
/// @throws value_error for a setting or number out of range; shape_error unless z0 has the field's size and a
///         trajectory holds one step of it
/// Ends with any solve_status; only after `success` can the trajectory be read. Allocates as the trajectory grows.
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
    const std::size_t most_steps = trajectory<Tableau, Scalar>::most_steps(z0.size());
    if (most_steps == 0) {
        fail<shape_error>({"solve_adaptive: z0 size ", z0.size(), " must be smaller: a trajectory of ",
                           most_trajectory_numbers, " numbers must hold one step"});
    }
    return ode_detail::solved<Tableau>(
        any, interval, z0, std::min<std::size_t>(16, most_steps),
        [&](trajectory<Tableau, Scalar>& path) { return ode_detail::march(path, any, options); });
}

}  // namespace cordage
