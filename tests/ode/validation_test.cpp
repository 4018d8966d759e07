// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "cordage/ode/solve_adaptive.hpp"
#include "cordage/ode/solve_fixed.hpp"
#include "test_fields.hpp"

using namespace cordage;

namespace {
const std::vector<double> one{1.0};
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();
}  // namespace

TEST_CASE("ode/solve_fixed: bad input is one clear error") {
    const cordage_test::growing f;
    CHECK_THROWS_WITH_AS(
        solve_fixed<euler>(f, {0.0, 1.0}, one, equal_steps{0}),
        "solve_fixed: equal_steps.count 0 must be >= 1 and <= 67108863, the capacity of a trajectory with states "
        "of 1 numbers",
        value_error);
    const auto most = static_cast<index_t>(trajectory<euler>::most_steps(1));
    CHECK_THROWS_AS(solve_fixed<euler>(f, {1.0, 1.0}, one, equal_steps{most + 1}), value_error);
    CHECK_NOTHROW(solve_fixed<euler>(f, {1.0, 1.0}, one, equal_steps{most}));
    CHECK_THROWS_WITH_AS(solve_fixed<euler>(f, {0.0, 1.0}, one, step_size{0.0}),
                         "solve_fixed: step_size 0 must be finite, > 0 and at least 1/67108863 of the interval 1: a "
                         "trajectory with states of 1 numbers holds 67108863 steps",
                         value_error);
    for (const double step : {-0.1, nan_value, infinite, 1e-300}) {
        CHECK_THROWS_AS(solve_fixed<euler>(f, {0.0, 1.0}, one, step_size{step}), value_error);
    }
    CHECK_THROWS_WITH_AS(solve_fixed<euler>(f, {0.0, infinite}, one, equal_steps{1}),
                         "solve_fixed: interval.end inf must be finite", value_error);
    CHECK_THROWS_AS(solve_fixed<euler>(f, {nan_value, 1.0}, one, equal_steps{1}), value_error);
    const std::vector<double> z0{1.0, nan_value};
    CHECK_THROWS_WITH_AS(solve_fixed<euler>(f, {0.0, 1.0}, z0, equal_steps{1}), "solve_fixed: z0[1] nan must be finite",
                         value_error);
    CHECK_THROWS_WITH_AS(solve_fixed<euler>(cordage_test::knotted{}, {0.0, 1.0}, one, equal_steps{1}),
                         "solve_fixed: z0 size 1 must be the field's size 2", shape_error);
}

TEST_CASE("ode/solve_adaptive: bad settings are one clear error each") {
    const cordage_test::growing f;
    const auto with = [&](adaptive_options options) { return solve_adaptive(f, {0.0, 1.0}, one, options); };
    CHECK_THROWS_WITH_AS(with({.tolerance = {.relative = 0.0}}),
                         "solve_adaptive: tolerance.relative 0 must be finite and > 0", value_error);
    CHECK_THROWS_WITH_AS(with({.tolerance = {.absolute = -1.0}}),
                         "solve_adaptive: tolerance.absolute -1 must be finite and > 0", value_error);
    CHECK_THROWS_AS(with({.tolerance = {.absolute = nan_value}}), value_error);
    CHECK_THROWS_WITH_AS(with({.max_steps = 0}), "solve_adaptive: max_steps 0 must be >= 1", value_error);
    CHECK_THROWS_WITH_AS(with({.first_step = 0.0}), "solve_adaptive: first_step 0 must be finite and > 0", value_error);
    CHECK_THROWS_AS(with({.first_step = nan_value}), value_error);
    CHECK_THROWS_AS(solve_adaptive(f, {0.0, nan_value}, one), value_error);
}

TEST_CASE("ode/validation: a NaN from a field is detected under any compiler flags") {
    const auto bad = [](double, std::span<const double>, std::span<double> dz) { dz[0] = nan_value; };
    CHECK(solve_adaptive(bad, {0.0, 3.0}, one).status() == solve_status::non_finite);
    CHECK(solve_fixed<rk4_38>(bad, {0.0, 3.0}, one, equal_steps{2}).status() == solve_status::non_finite);
}

// Numbers of steps within their own bounds once ended in bad_alloc.
TEST_CASE("ode/solve_fixed: more steps than a trajectory of this many numbers a state holds are refused") {
    const std::vector<double> wide(1000, 1.0);
    const auto f = [](double, std::span<const double> z, std::span<double> dz) { std::ranges::copy(z, dz.begin()); };
    CHECK_THROWS_AS(solve_fixed<rk4_38>(f, {1.0, 16.0}, wide, step_size{2e-8}), value_error);
    CHECK_THROWS_AS(solve_fixed<rk4_38>(f, {1.0, 16.0}, wide, equal_steps{100'000'000}), value_error);
    // 1000 numbers of the state and 4 * 1000 slopes, t and h a step
    CHECK(trajectory<rk4_38>::most_steps(1000) == most_trajectory_numbers / 5002 - 1);
}

// The number of steps once was 0 - 1, without a sign.
TEST_CASE("ode/solve_adaptive: a state of which a trajectory holds no step is refused before the field is evaluated") {
    constexpr std::size_t wide = most_trajectory_numbers / 14;
    CHECK(trajectory<tsit5>::most_steps(wide - 1) == 1);
    CHECK(trajectory<tsit5>::most_steps(wide) == 0);
    CHECK(trajectory<tsit5>::most_steps(most_trajectory_numbers) == 0);
    bool is_evaluated = false;
    const auto f = [&](float, std::span<const float>, std::span<float>) { is_evaluated = true; };
    const std::vector<float> z0(wide, 1.0f);
    CHECK_THROWS_WITH_AS(
        (solve_adaptive<tsit5, float>(f, {0.0f, 1.0f}, z0)),
        "solve_adaptive: z0 size 19173961 must be smaller: a trajectory of 268435456 numbers must hold one step",
        shape_error);
    CHECK_FALSE(is_evaluated);
}
