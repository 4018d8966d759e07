// SPDX-License-Identifier: MIT
// Dormand-Prince 5(4); a tableau of the stage ode.
#pragma once

#include <string_view>

#include "cordage/ode/butcher_tableau.hpp"

namespace cordage {

/// Dormand and Prince, "A family of embedded Runge-Kutta formulae", J. Comp. Appl. Math. 6 (1980). Six evaluations a
/// step. The error weights are the authors' own, as in DOPRI5 of Hairer, Norsett, Wanner (others ship Shampine's); so
/// is the interpolant of order 4 (II.6.13).
struct dopri5 {
    static constexpr std::string_view name = "dopri5";
    static constexpr int order = 5;
    static constexpr int embedded_order = 4;
    static constexpr double c[7] = {0.0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1.0, 1.0};
    static constexpr double a[7][7] = {
        {},
        {1.0 / 5},
        {3.0 / 40, 9.0 / 40},
        {44.0 / 45, -56.0 / 15, 32.0 / 9},
        {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
        {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
        {35.0 / 384, 0.0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
    };
    static constexpr double b[7] = {35.0 / 384, 0.0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84, 0.0};
    static constexpr double error[7] = {
        71.0 / 57600, 0.0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40,
    };
    static constexpr double quartic[7] = {
        -12715105075.0 / 11282082432,  0.0,
        87487479700.0 / 32700410799,   -10690763975.0 / 1880347072,
        701980252875.0 / 199316789632, -1453857185.0 / 822651844,
        69997945.0 / 29380423,
    };
};
static_assert(is_fsal<dopri5>());

}  // namespace cordage
