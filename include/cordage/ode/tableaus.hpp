// SPDX-License-Identifier: MIT
// The classical rules without an error estimate, and the door to those with one; serves the stage ode.
#pragma once

#include <string_view>

#include "cordage/ode/bosh3.hpp"
#include "cordage/ode/butcher_tableau.hpp"
#include "cordage/ode/dopri5.hpp"
#include "cordage/ode/tsit5.hpp"

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

/// "The" Runge-Kutta rule (Kutta 1901).
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

}  // namespace cordage
