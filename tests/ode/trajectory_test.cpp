// SPDX-License-Identifier: MIT
#include "cordage/ode/trajectory.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "cordage/ode/solve_adaptive.hpp"
#include "cordage/ode/solve_fixed.hpp"
#include "test_fields.hpp"

using namespace cordage;

TEST_CASE("ode/trajectory: at a node it gives the stored state and slope, bit for bit") {
    const std::vector<double> z0{0.5, -0.8};
    const auto path = solve_adaptive(cordage_test::knotted{}, {0.0, 3.0}, z0);
    std::vector<double> z(2);
    for (std::size_t node = 0; node < path.nodes(); ++node) {
        path.at(path.times()[node], z);
        CHECK(std::ranges::equal(z, path.state(node)));
        path.slope_at(path.times()[node], z);
        CHECK(std::ranges::equal(z, path.slope(node)));
    }
    CHECK(path.times().front() == 0.0);
    CHECK(path.times().back() == 3.0);
}

TEST_CASE("ode/trajectory: slope_at is the derivative of at") {
    const std::vector<double> z0{0.5, -0.8};
    const auto path = solve_adaptive(cordage_test::knotted{}, {0.0, 3.0}, z0);
    std::vector<double> above(2), below(2), slope(2);
    for (const double t : {0.11, 1.234, 2.9}) {
        path.at(t + 1e-5, above);
        path.at(t - 1e-5, below);
        path.slope_at(t, slope);
        for (std::size_t i = 0; i < 2; ++i) {
            CHECK(slope[i] == doctest::Approx((above[i] - below[i]) / 2e-5).epsilon(1e-7));
        }
    }
}

TEST_CASE("ode/trajectory: reading outside the interval or into the wrong size throws and writes nothing") {
    const std::vector<double> z0{1.0};
    const auto path = solve_fixed<rk4_38>(cordage_test::growing{}, {1.0, 2.0}, z0, equal_steps{4});
    std::vector<double> z{-7.0};
    CHECK_THROWS_WITH_AS(path.at(2.5, z), "trajectory::at: t 2.5 must be in [1, 2], the solved interval", value_error);
    CHECK_THROWS_AS(path.at(0.5, z), value_error);
    CHECK_THROWS_AS(path.at(std::numeric_limits<double>::quiet_NaN(), z), value_error);
    std::vector<double> wide(2, -7.0);
    CHECK_THROWS_WITH_AS(path.slope_at(1.5, wide), "trajectory::slope_at: out size 2 must be 1", shape_error);
    CHECK(z[0] == -7.0);
    CHECK(wide[0] == -7.0);
}

TEST_CASE("ode/trajectory: a solve that failed cannot be read, not even where it went well") {
    const std::vector<double> z0{1.0};
    const auto path = solve_adaptive(cordage_test::exploding{}, {0.0, 2.0}, z0, {.max_steps = 5});
    REQUIRE(path.status() == solve_status::max_steps_reached);
    std::vector<double> z{-7.0};
    CHECK_THROWS_AS(path.at(0.0, z), cordage::error);
    CHECK(z[0] == -7.0);
}

TEST_CASE("ode/trajectory: the error of a failed solve names the t it reached and what to change") {
    const std::vector<double> z0{1.0};
    const auto check = [&](const auto& path, const std::string& status, const std::string& remedy) {
        std::vector<double> z(1);
        const std::string reached = cordage::message(path.reached());
        const std::string expected = "trajectory::at: status " + status + " must be success; the solve from t 0 to 2 " +
                                     "ended at t " + reached + "; " + remedy;
        CHECK_THROWS_WITH_AS(path.at(0.0, z), expected.c_str(), cordage::error);
    };
    const cordage_test::exploding pole;
    check(solve_adaptive(pole, {0.0, 2.0}, z0, {.max_steps = 5}), "max_steps_reached",
          "raise max_steps or loosen the tolerance; a trajectory holds at most 2^28 numbers");
    check(solve_adaptive(pole, {0.0, 2.0}, z0), "step_too_small",
          "loosen the tolerance or end at an earlier t: the solution may diverge here");
    check(solve_fixed<euler>([](double, auto, std::span<double> dz) { dz[0] = std::nan(""); }, {0.0, 2.0}, z0,
                             equal_steps{2}),
          "non_finite",
          "end at an earlier t or check the field's parameters: the field or its state is not finite or close to "
          "the largest number");
}

TEST_CASE("ode/trajectory: many t at once are the same reads, of one integration") {
    const std::vector<double> z0{0.5, -0.8}, times{2.9, 0.0, 1.234, 3.0};
    index_t calls = 0;
    const auto counted = [&](double t, std::span<const double> z, std::span<double> dz) {
        ++calls;
        cordage_test::knotted{}(t, z, dz);
    };
    const auto path = solve_adaptive(counted, {0.0, 3.0}, z0);
    std::vector<double> all(8), one(2), narrow(7);
    path.at(times, all);
    CHECK(calls == path.statistics().evaluations);
    for (std::size_t i = 0; i < 4; ++i) {
        path.at(times[i], one);
        CHECK(std::ranges::equal(one, std::span(all).subspan(2 * i, 2)));
    }
    const std::vector<double> late{0.5, 99.0}, before(4, -7.0);
    std::vector<double> states = before;
    CHECK_THROWS_AS(path.at(late, states), value_error);
    CHECK(states == before);
    CHECK_THROWS_WITH_AS(path.at(times, narrow), "trajectory::at: out size 7 must be times 4 * size 2", shape_error);
}
