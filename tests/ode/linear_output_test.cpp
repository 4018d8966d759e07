// SPDX-License-Identifier: MIT
#include "cordage/ode/linear_output.hpp"

#include <doctest/doctest.h>

#include "cordage/ode/solve_fixed.hpp"
#include "test_fields.hpp"

using namespace cordage;

TEST_CASE("ode/linear_output: the nodes are the rule's, and between them lie straight lines") {
    const std::vector<double> z0{1.0};
    const auto plain = solve_fixed<rk4_38>(cordage_test::swinging{}, {0.0, 2.0}, z0, equal_steps{8});
    const auto straight = solve_fixed<linear_output<rk4_38>>(cordage_test::swinging{}, {0.0, 2.0}, z0, equal_steps{8});
    std::vector<double> z(1), slope(1);
    for (std::size_t n = 0; n < 8; ++n) {
        CHECK(straight.state(n)[0] == plain.state(n)[0]);
        const double left = straight.state(n)[0], right = straight.state(n + 1)[0];
        for (const double s : {0.25, 0.9}) {
            straight.at((static_cast<double>(n) + s) * 0.25, z);
            CHECK(z[0] == doctest::Approx((1.0 - s) * left + s * right).epsilon(1e-14));
            straight.slope_at((static_cast<double>(n) + s) * 0.25, slope);
            CHECK(slope[0] == doctest::Approx((right - left) / 0.25).epsilon(1e-13));
        }
    }
}

TEST_CASE("ode/linear_output: a rule whose last stage is the next one's first is read in the same way") {
    const std::vector<double> z0{1.0};
    const auto path = solve_fixed<linear_output<dopri5>>(cordage_test::swinging{}, {0.0, 1.0}, z0, equal_steps{2});
    std::vector<double> z(1);
    path.at(0.125, z);
    CHECK(z[0] == doctest::Approx(0.75 * path.state(0)[0] + 0.25 * path.state(1)[0]).epsilon(1e-15));
}
