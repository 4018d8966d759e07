// SPDX-License-Identifier: MIT
// The concept of an explicit Runge-Kutta rule, a type with its coefficients as constants, and the interpolant of its
// steps; first file of the stage ode.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace cordage {

/// The coefficients of an explicit rule, as in Hairer, Norsett, Wanner, "Solving ODEs I", II.1:
///
///   k_i = f(t + c[i] h, z + h sum_{j<i} a[i][j] k_j)          z_next = z + h sum_i b[i] k_i
template <class T>
concept butcher_tableau = requires {
    std::string_view{T::name};
    int{T::order};
    double{T::c[0]};
    double{T::a[0][0]};
    double{T::b[0]};
};

/// Number of stages.
template <butcher_tableau T>
inline constexpr std::size_t stages_of = std::size(T::b);

/// A rule that also has `error`, b minus the weights of an embedded rule of order `embedded_order`.
template <class T>
concept has_error_weights = butcher_tableau<T> && requires {
    int{T::embedded_order};
    double{T::error[0]};
};

/// A rule with an interpolant of order 4: `quartic` holds its difference from the cubic.
template <class T>
concept has_quartic = butcher_tableau<T> && requires { double{T::quartic[0]}; };

/// A rule whose dense output is linear interpolation between nodes.
template <class T>
concept has_linear_output = butcher_tableau<T> && requires { requires T::is_read_linearly; };

/// First same as last: the last stage is the slope at the end of the step, which is the next step's first stage.
template <butcher_tableau T>
constexpr bool is_fsal() {
    constexpr std::size_t last = stages_of<T> - 1;
    bool same = last > 0 && T::c[last] == 1.0;
    for (std::size_t j = 0; j <= last; ++j) same = same && T::a[last][j] == T::b[j];
    return same;
}

/// Any rule in fsal form: a rule that is not fsal gets the slope at the end of the step as an additional stage. Steps,
/// dense output and gradients are implemented for this form only.
template <butcher_tableau T>
struct fsal_form {
    static constexpr std::size_t stages = stages_of<T>;
    static constexpr std::size_t slopes = is_fsal<T>() ? stages : stages + 1;
    static constexpr std::size_t last = slopes - 1;

    static constexpr double c(std::size_t i) { return i < stages ? T::c[i] : 1.0; }
    static constexpr double a(std::size_t i, std::size_t j) { return i < stages ? T::a[i][j] : b(j); }
    static constexpr double b(std::size_t i) { return i < stages ? T::b[i] : 0.0; }

    static constexpr double error(std::size_t i)
        requires has_error_weights<T>
    {
        return i < stages ? T::error[i] : 0.0;
    }
    static constexpr double quartic(std::size_t i) {
        if constexpr (has_quartic<T>) return i < stages ? T::quartic[i] : 0.0;
        return 0.0;
    }
};

namespace ode_detail {

/// Weights w(s) of the interpolant inside a step, s in [0, 1], on the slopes of fsal_form:
///
///   z(t + s h) = z + h sum_i w_i(s) k_i
///   w_i(s) = b_i (3 s^2 - 2 s^3)  +  [i first] s (1-s)^2  -  [i last] s^2 (1-s)  +  quartic_i s^2 (1-s)^2
///
/// The first three terms are the cubic that matches z and f at both ends, of order 3. Every quartic that matches them
/// too differs from it by a multiple of s^2 (1-s)^2, so that interpolants of order 4 need one more number for each
/// slope. With linear output w_i(s) = s b_i.
template <butcher_tableau T, class Scalar>
constexpr std::array<Scalar, fsal_form<T>::slopes> dense_weights(Scalar s) {
    using form = fsal_form<T>;
    const Scalar r = 1 - s;
    std::array<Scalar, form::slopes> w{};
    if constexpr (has_linear_output<T>) {
        for (std::size_t i = 0; i < form::slopes; ++i) w[i] = s * static_cast<Scalar>(form::b(i));
    } else {
        for (std::size_t i = 0; i < form::slopes; ++i) {
            w[i] =
                s * s * (static_cast<Scalar>(form::b(i)) * (3 - 2 * s) + static_cast<Scalar>(form::quartic(i)) * r * r);
        }
        w[0] += s * r * r;
        w[form::last] -= s * s * r;
    }
    return w;
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

}  // namespace ode_detail

}  // namespace cordage
