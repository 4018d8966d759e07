// SPDX-License-Identifier: MIT
// The error that a step may have, and the size of the next and of the first step by it; serves the stage ode.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "cordage/core/bits.hpp"
#include "cordage/core/error.hpp"
#include "cordage/ode/field.hpp"
#include "cordage/ode/trajectory.hpp"

namespace cordage {

/// The error allowed in each entry of a step: absolute + relative * max(|z|, |z_next|).
struct tolerance {
    double relative = 1e-8;
    double absolute = 1e-8;
};

namespace ode_detail {

/// Throws value_error unless both are finite and > 0.
inline void validate(const char* who, const tolerance& allowed) {
    validate_positive({who, ": tolerance.relative"}, allowed.relative);
    validate_positive({who, ": tolerance.absolute"}, allowed.absolute);
}

/// Root mean square of x over the error allowed between the states z and z_next. 1 is just allowed.
template <class Scalar>
double scaled_norm(const tolerance& allowed, std::span<const Scalar> x, std::span<const Scalar> z,
                   std::span<const Scalar> z_next) noexcept {
    if (x.empty()) return 0.0;
    constexpr std::size_t lanes = 8;  // running sums, so that compilers use vectors
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
    static constexpr double least_error = 1e-10;  ///< an error of 0 asks for `grow`, not for infinity

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

    /// The factor on the step size after a step with error > 1, or with no finite error: then the most cautious one.
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
/// Hairer, Norsett, Wanner, "Solving ODEs I", II.4. Looks at f after a small Euler step: one evaluation.
template <class Scalar>
double first_step_size(const any_field<Scalar>& field, time_interval<Scalar> interval, std::span<const Scalar> z0,
                       std::span<const Scalar> slope0, const tolerance& allowed, int order) {
    const double length = std::abs(double{interval.end} - double{interval.begin});
    const double state_norm = scaled_norm(allowed, z0, z0, z0);
    const double slope_norm = scaled_norm(allowed, slope0, z0, z0);
    const bool no_ratio = state_norm < 1e-5 || slope_norm < 1e-5 || !is_finite(slope_norm);  // norms overflow too
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

}  // namespace ode_detail

}  // namespace cordage
