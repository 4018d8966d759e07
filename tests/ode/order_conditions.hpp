// SPDX-License-Identifier: MIT
// The order of a tableau and of its interpolant, computed at compile time. Copy it to check a tableau of your own.
#pragma once

#include <array>
#include <cstddef>

#include "cordage/ode/butcher_tableau.hpp"

namespace cordage_test {

using namespace cordage;

/// Tolerance for the rounding of published coefficients: those of tsit5 have 16 digits and are as large as 13.
inline constexpr double order_tolerance = 1e-13;

/// Whether x and y differ by less than order_tolerance.
constexpr bool nearly_equal(double x, double y) { return x - y < order_tolerance && y - x < order_tolerance; }

/// Whether the row sums of a are c and a is strictly lower triangular.
template <butcher_tableau T>
constexpr bool is_explicit_and_consistent() {
    for (std::size_t i = 0; i < stages_of<T>; ++i) {
        double row = 0.0;
        for (std::size_t j = 0; j < stages_of<T>; ++j) {
            row += T::a[i][j];
            if (j >= i && T::a[i][j] != 0.0) return false;
        }
        if (!nearly_equal(row, T::c[i])) return false;
    }
    return true;
}

/// The highest p <= 5 such that sum_i weights[i] Phi_i(tree) = s^r / gamma(tree) for all trees of r <= p nodes
/// (Hairer, Norsett, Wanner, II.2.12 at s = 1, and II.6.21 for an interpolant at s). Weights are those of fsal_form.
template <butcher_tableau T, std::size_t Slopes>
constexpr int order_of(const std::array<double, Slopes>& weights, double s = 1.0) {
    using form = fsal_form<T>;
    static_assert(Slopes == form::slopes);
    using vector = std::array<double, Slopes>;
    // The two ways to make a larger tree: attach one to a new root (a times v), or join two at the root (v times w).
    const auto grow = [](const vector& v) {
        vector out{};
        for (std::size_t i = 0; i < Slopes; ++i) {
            for (std::size_t j = 0; j < i && j < form::stages; ++j) out[i] += form::a(i, j) * v[j];
        }
        return out;
    };
    const auto join = [](const vector& v, const vector& w) {
        vector out{};
        for (std::size_t i = 0; i < Slopes; ++i) out[i] = v[i] * w[i];
        return out;
    };
    const auto holds = [&](const vector& phi, double power, double gamma) {
        double sum = 0.0;
        for (std::size_t i = 0; i < Slopes; ++i) sum += weights[i] * phi[i];
        return nearly_equal(sum, power / gamma);
    };
    vector one{}, c{};
    for (std::size_t i = 0; i < Slopes; ++i) one[i] = 1.0, c[i] = form::c(i);
    const vector c2 = join(c, c), c3 = join(c2, c), ac = grow(c), ac2 = grow(c2), aac = grow(ac);

    double power = s;
    if (!holds(one, power, 1)) return 0;
    if (!holds(c, power *= s, 2)) return 1;
    power *= s;
    if (!(holds(c2, power, 3) && holds(ac, power, 6))) return 2;
    power *= s;
    if (!(holds(c3, power, 4) && holds(join(c, ac), power, 8) && holds(ac2, power, 12) && holds(aac, power, 24))) {
        return 3;
    }
    power *= s;
    const bool fifth =
        holds(join(c3, c), power, 5) && holds(join(c2, ac), power, 10) && holds(join(ac, ac), power, 20) &&
        holds(join(c, ac2), power, 15) && holds(join(c, aac), power, 30) && holds(grow(c3), power, 20) &&
        holds(grow(join(c, ac)), power, 40) && holds(grow(ac2), power, 60) && holds(grow(aac), power, 120);
    return fifth ? 5 : 4;
}

/// The order of the weights b.
template <butcher_tableau T>
constexpr int order_of_solution() {
    std::array<double, fsal_form<T>::slopes> weights{};
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = fsal_form<T>::b(i);
    return order_of<T>(weights);
}

/// The order of the embedded weights b - error.
template <has_error_weights T>
constexpr int order_of_embedded() {
    std::array<double, fsal_form<T>::slopes> weights{};
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = fsal_form<T>::b(i) - fsal_form<T>::error(i);
    return order_of<T>(weights);
}

/// The order of the interpolant at every s, tested at four s, which suffice since its weights are quartics without a
/// constant term.
template <butcher_tableau T>
constexpr int order_of_interpolant() {
    int order = 5;
    for (const double s : {0.25, 0.5, 0.75, 1.0}) {
        const int here = order_of<T>(ode_detail::dense_weights<T, double>(s), s);
        order = here < order ? here : order;
    }
    return order;
}

/// All properties that are asserted of every tableau: static_assert(is_proved<my_rule>()).
template <butcher_tableau T>
constexpr bool is_proved() {
    return is_explicit_and_consistent<T>() && order_of_solution<T>() == T::order;
}

}  // namespace cordage_test
