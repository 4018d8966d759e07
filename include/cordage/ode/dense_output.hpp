// SPDX-License-Identifier: MIT
// The interpolant of a step as weights on its slopes, the same form for every rule; serves the stage ode.
#pragma once

#include <array>
#include <cstddef>

#include "cordage/ode/butcher_tableau.hpp"

namespace cordage::ode_detail {

/// Weights w(s) of the interpolant inside a step, s in [0, 1], on the slopes of fsal_form:
///
///   z(t + s h) = z + h sum_i w_i(s) k_i
///   w_i(s) = b_i (3 s^2 - 2 s^3)  +  [i first] s (1-s)^2  -  [i last] s^2 (1-s)  +  quartic_i s^2 (1-s)^2
///
/// The first three terms are the cubic that meets z and f at both ends, of order 3. Every quartic that meets them too
/// differs from it by a multiple of s^2 (1-s)^2, so that the interpolants of order 4 need one more number a slope. A
/// rule that is read on straight lines has w_i(s) = s b_i.
template <butcher_tableau T, class Scalar>
constexpr std::array<Scalar, fsal_form<T>::slopes> dense_weights(Scalar s) {
    using form = fsal_form<T>;
    const Scalar r = 1 - s;
    std::array<Scalar, form::slopes> w{};
    if constexpr (has_linear_output<T>) {
        for (std::size_t i = 0; i < form::slopes; ++i) w[i] = s * static_cast<Scalar>(form::b(i));
        return w;
    }
    for (std::size_t i = 0; i < form::slopes; ++i) {
        w[i] = s * s * (static_cast<Scalar>(form::b(i)) * (3 - 2 * s) + static_cast<Scalar>(form::quartic(i)) * r * r);
    }
    w[0] += s * r * r;
    w[form::last] -= s * s * r;
    return w;
}

/// The same weights as polynomials: w_i(s) = sum_k c[i][k] s^(k+1).
template <butcher_tableau T>
constexpr auto dense_coefficients() {
    using form = fsal_form<T>;
    std::array<std::array<double, 4>, form::slopes> c{};
    for (std::size_t i = 0; i < form::slopes; ++i) {
        const double b = form::b(i), quartic = form::quartic(i);
        if (has_linear_output<T>) {
            c[i] = {b, 0.0, 0.0, 0.0};
        } else {
            c[i] = {0.0, 3 * b + quartic, -2 * b - 2 * quartic, quartic};
        }
    }
    if constexpr (!has_linear_output<T>) {
        c[0] = {c[0][0] + 1, c[0][1] - 2, c[0][2] + 1, c[0][3]};
        auto& last = c[form::last];
        last = {last[0], last[1] - 1, last[2] + 1, last[3]};
    }
    return c;
}

/// d w / ds, so that dz/dt(t + s h) = sum_i w'_i(s) k_i.
template <butcher_tableau T, class Scalar>
constexpr std::array<Scalar, fsal_form<T>::slopes> dense_weight_rates(Scalar s) {
    using form = fsal_form<T>;
    const Scalar r = 1 - s;
    std::array<Scalar, form::slopes> w{};
    if constexpr (has_linear_output<T>) {
        for (std::size_t i = 0; i < form::slopes; ++i) w[i] = static_cast<Scalar>(form::b(i));
        return w;
    }
    for (std::size_t i = 0; i < form::slopes; ++i) {
        w[i] = s * r * (6 * static_cast<Scalar>(form::b(i)) + 2 * static_cast<Scalar>(form::quartic(i)) * (r - s));
    }
    w[0] += r * (r - 2 * s);
    w[form::last] += s * (s - 2 * r);
    return w;
}

}  // namespace cordage::ode_detail
