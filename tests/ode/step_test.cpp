// SPDX-License-Identifier: MIT
#include "cordage/ode/step.hpp"

#include <doctest/doctest.h>

#include "cordage/ode/solve_fixed.hpp"
#include "test_fields.hpp"

using namespace cordage;
using namespace cordage::ode_detail;

TEST_CASE("ode/step: one step of the 3/8 rule is the rule written out") {
    cordage_test::knotted f;
    const double t = 0.3, h = 0.2;
    const std::vector<double> z{0.5, -0.8};
    const auto slope = [&](double at, std::vector<double> state) {
        std::vector<double> dz(2);
        f(at, state, dz);
        return dz;
    };
    const auto moved = [&](double a, const std::vector<double>& x, double b, const std::vector<double>& y, double c,
                           const std::vector<double>& w) {
        return std::vector<double>{z[0] + h * (a * x[0] + b * y[0] + c * w[0]),
                                   z[1] + h * (a * x[1] + b * y[1] + c * w[1])};
    };
    const auto k1 = slope(t, z);
    const auto k2 = slope(t + h / 3, moved(1.0 / 3, k1, 0, k1, 0, k1));
    const auto k3 = slope(t + 2 * h / 3, moved(-1.0 / 3, k1, 1, k2, 0, k1));
    const auto k4 = slope(t + h, moved(1, k1, -1, k2, 1, k3));
    const auto path = solve_fixed<rk4_38>(f, {t, t + h}, z, equal_steps{1});
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(path.state(1)[i] ==
              doctest::Approx(z[i] + h / 8 * (k1[i] + 3 * k2[i] + 3 * k3[i] + k4[i])).epsilon(1e-14));
    }
}

TEST_CASE_TEMPLATE("ode/step: the error estimate is the difference to the embedded rule", Tableau, bosh3, dopri5,
                   tsit5) {
    cordage_test::knotted f;
    const std::vector<double> z{0.5, -0.8};
    const auto estimate = [&](double h) {
        const auto path = solve_fixed<Tableau>(f, {0.3, 0.3 + h}, z, equal_steps{1});
        std::vector<double> difference(2);
        local_error<Tableau>(path.step_size(0), path.slopes(0), std::span<double>(difference));
        return std::abs(difference[0]) + std::abs(difference[1]);
    };
    // The embedded rule of order p has error h^(p+1), the rule itself a smaller one.
    const double order = std::log2(estimate(0.01) / estimate(0.005));
    CHECK(order == doctest::Approx(Tableau::embedded_order + 1).epsilon(0.05));
}

TEST_CASE("ode/step: float steps agree with double ones to float's precision") {
    const std::vector<float> z0{1.0f, 2.0f};
    const auto path = solve_fixed<tsit5, float>(cordage_test::swinging{}, {0.0f, 1.0f}, z0, equal_steps{10});
    CHECK(path.state(10)[1] == doctest::Approx(2.0 * cordage_test::swinging::exact(1.0)).epsilon(1e-6));
}
