// SPDX-License-Identifier: MIT
// A first step size from the sizes of f and of its change; serves the stage ode.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "cordage/core/bits.hpp"
#include "cordage/ode/field.hpp"
#include "cordage/ode/tolerance.hpp"
#include "cordage/ode/trajectory.hpp"

namespace cordage {

/// A step size > 0, at most the interval's length, whose error should be near the tolerance for a rule of this order:
/// Hairer, Norsett, Wanner, "Solving ODEs I", II.4. Looks at f after a small Euler step: one evaluation.
template <class Scalar, ode_field<Scalar> Field>
double first_step_size(Field& field, time_interval<Scalar> interval, std::span<const Scalar> z0,
                       std::span<const Scalar> slope0, const tolerance& allowed, int order) {
    const double length = std::abs(double{interval.end} - double{interval.begin});
    const double state_norm = scaled_norm(allowed, z0, z0, z0);
    const double slope_norm = scaled_norm(allowed, slope0, z0, z0);
    const bool tiny = state_norm < 1e-5 || slope_norm < 1e-5;
    const double trial = std::min(tiny ? 1e-6 : 0.01 * state_norm / slope_norm, length);

    const auto h = static_cast<Scalar>(interval.end > interval.begin ? trial : -trial);
    std::vector<Scalar> z(z0.begin(), z0.end()), change(z0.size());
    for (std::size_t i = 0; i < z.size(); ++i) z[i] += h * slope0[i];
    field(interval.begin + h, std::span<const Scalar>(z), std::span<Scalar>(change));
    for (std::size_t i = 0; i < z.size(); ++i) change[i] -= slope0[i];
    const double bend_norm = scaled_norm(allowed, std::span<const Scalar>(change), z0, z0) / trial;
    if (!is_finite(bend_norm)) return trial;

    const double steepest = std::max(slope_norm, bend_norm);
    const double wanted =
        steepest <= 1e-15 ? std::max(1e-6, 1e-3 * trial) : std::pow(0.01 / steepest, 1.0 / (order + 1.0));
    return std::min({100.0 * trial, wanted, length});
}

}  // namespace cordage
