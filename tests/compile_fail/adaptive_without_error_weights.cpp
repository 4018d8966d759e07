// SPDX-License-Identifier: MIT
// A rule without an embedded one cannot choose its steps; the error names what it lacks.
// expected: cordage::solve_adaptive: Tableau needs 'static constexpr int embedded_order' and 'static constexpr
// expected: double error[stages]', b minus the weights of the embedded rule; docs/extending.md
#include <vector>

#include "cordage/ode/solve_adaptive.hpp"

#ifdef CORDAGE_COMPILE_FAIL
using rule = cordage::rk4_classic;
#else
using rule = cordage::dopri5;
#endif

double solve() {
    const auto field = [](double, std::span<const double> z, std::span<double> dz) { dz[0] = z[0]; };
    const std::vector<double> start{1.0};
    return cordage::solve_adaptive<rule>(field, {0.0, 1.0}, start).state(0)[0];
}
