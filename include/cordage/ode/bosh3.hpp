// SPDX-License-Identifier: MIT
// Bogacki-Shampine 3(2), for loose tolerances; a tableau of the stage ode.
#pragma once

#include <string_view>

#include "cordage/ode/butcher_tableau.hpp"

namespace cordage {

/// Bogacki and Shampine, "A 3(2) pair of Runge-Kutta formulas", Appl. Math. Letters 2 (1989). Three evaluations a step.
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

}  // namespace cordage
