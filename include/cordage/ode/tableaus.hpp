// SPDX-License-Identifier: MIT
// The explicit rules of the library, each a type of constants; serves the stage ode.
#pragma once

#include <string_view>

#include "cordage/ode/butcher_tableau.hpp"

namespace cordage {

/// Euler's rule.
struct euler {
    static constexpr std::string_view name = "euler";
    static constexpr int order = 1;
    static constexpr double c[1] = {0.0};
    static constexpr double a[1][1] = {{0.0}};
    static constexpr double b[1] = {1.0};
};

/// The midpoint rule (Runge 1895).
struct midpoint {
    static constexpr std::string_view name = "midpoint";
    static constexpr int order = 2;
    static constexpr double c[2] = {0.0, 1.0 / 2};
    static constexpr double a[2][2] = {{}, {1.0 / 2}};
    static constexpr double b[2] = {0.0, 1.0};
};

/// Heun's rule of order 2, the trapezoidal one.
struct heun2 {
    static constexpr std::string_view name = "heun2";
    static constexpr int order = 2;
    static constexpr double c[2] = {0.0, 1.0};
    static constexpr double a[2][2] = {{}, {1.0}};
    static constexpr double b[2] = {1.0 / 2, 1.0 / 2};
};

/// Ralston's rule of order 2, with the least bound on the truncation error (Ralston 1962).
struct ralston2 {
    static constexpr std::string_view name = "ralston2";
    static constexpr int order = 2;
    static constexpr double c[2] = {0.0, 2.0 / 3};
    static constexpr double a[2][2] = {{}, {2.0 / 3}};
    static constexpr double b[2] = {1.0 / 4, 3.0 / 4};
};

/// Heun's rule of order 3 (Heun 1900).
struct heun3 {
    static constexpr std::string_view name = "heun3";
    static constexpr int order = 3;
    static constexpr double c[3] = {0.0, 1.0 / 3, 2.0 / 3};
    static constexpr double a[3][3] = {{}, {1.0 / 3}, {0.0, 2.0 / 3}};
    static constexpr double b[3] = {1.0 / 4, 0.0, 3.0 / 4};
};

/// The classical Runge-Kutta rule (Kutta 1901).
struct rk4_classic {
    static constexpr std::string_view name = "rk4_classic";
    static constexpr int order = 4;
    static constexpr double c[4] = {0.0, 1.0 / 2, 1.0 / 2, 1.0};
    static constexpr double a[4][4] = {{}, {1.0 / 2}, {0.0, 1.0 / 2}, {0.0, 0.0, 1.0}};
    static constexpr double b[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
};

/// Kutta's 3/8 rule (Kutta 1901). Some libraries call this one rk4.
struct rk4_38 {
    static constexpr std::string_view name = "rk4_38";
    static constexpr int order = 4;
    static constexpr double c[4] = {0.0, 1.0 / 3, 2.0 / 3, 1.0};
    static constexpr double a[4][4] = {{}, {1.0 / 3}, {-1.0 / 3, 1.0}, {1.0, -1.0, 1.0}};
    static constexpr double b[4] = {1.0 / 8, 3.0 / 8, 3.0 / 8, 1.0 / 8};
};

/// Bogacki and Shampine, "A 3(2) pair of Runge-Kutta formulas", Appl. Math. Letters 2 (1989). Three evaluations per
/// step.
struct bosh3 {
    static constexpr std::string_view name = "bosh3";
    static constexpr int order = 3;
    static constexpr int embedded_order = 2;
    static constexpr double c[4] = {0.0, 1.0 / 2, 3.0 / 4, 1.0};
    static constexpr double a[4][4] = {{}, {1.0 / 2}, {0.0, 3.0 / 4}, {2.0 / 9, 1.0 / 3, 4.0 / 9}};
    static constexpr double b[4] = {2.0 / 9, 1.0 / 3, 4.0 / 9, 0.0};
    static constexpr double error[4] = {-5.0 / 72, 1.0 / 12, 1.0 / 9, -1.0 / 8};
};
static_assert(is_fsal<bosh3>());

/// Dormand and Prince, "A family of embedded Runge-Kutta formulae", J. Comp. Appl. Math. 6 (1980). Six evaluations per
/// step. The error weights are the authors', as in DOPRI5 of Hairer, Norsett, Wanner (other codes use Shampine's); so
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

/// Tsitouras, "Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying assumption", Comput. Math.
/// Appl. 62 (2011), with its error weights and its interpolant of order 4. Six evaluations per step.
struct tsit5 {
    static constexpr std::string_view name = "tsit5";
    static constexpr int order = 5;
    static constexpr int embedded_order = 4;
    static constexpr double c[7] = {0.0, 0.161, 0.327, 0.9, 0.9800255409045097, 1.0, 1.0};
    static constexpr double a[7][7] = {
        {},
        {0.161},
        {-0.008480655492356989, 0.335480655492357},
        {2.8971530571054935, -6.359448489975075, 4.3622954328695815},
        {5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525},
        {5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383},
        {0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774},
    };
    static constexpr double b[7] = {
        0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774, 0.0,
    };
    static constexpr double error[7] = {
        -0.00178001105222577714,
        -0.0008164344596567469,
        0.007880878010261995,
        -0.1447110071732629,
        0.5823571654525552,
        -0.45808210592918697,
        1.0 / 66,
    };
    static constexpr double quartic[7] = {
        -1.0530884977290216,   0.1017, 2.490627285651252793, -16.54810288924490272, 47.37952196281928122,
        -34.87065786149660974, 2.5,
    };
};
static_assert(is_fsal<tsit5>());

/// A rule with linear interpolation, z(t + s h) = (1 - s) z + s z_next, of order 1 between nodes for every rule.
/// torchdiffeq (0.2.5) interpolates its fixed-step solutions in this way. At a node, where two line segments meet, the
/// slope of the trajectory is that of the field.
template <butcher_tableau Rule>
struct linear_output : Rule {
    static constexpr bool is_read_linearly = true;
};
static_assert(has_linear_output<linear_output<rk4_38>> && !has_linear_output<rk4_38>);

}  // namespace cordage
