// SPDX-License-Identifier: MIT
#include "cordage/ode/solve_fixed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "test_fields.hpp"

using namespace cordage;

namespace {
const std::vector<double> one{1.0};
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();
void doubling(double, std::span<const double> z, std::span<double> dz) { dz[0] = 2.0 * z[0]; }
}  // namespace

TEST_CASE("ode/solve_fixed: a field may be a plain function, or constant") {
    const auto same = [](double, std::span<const double> z, std::span<double> dz) { dz[0] = 2.0 * z[0]; };
    const auto expected = solve_fixed<euler>(same, {0.0, 1.0}, one, equal_steps{2});
    CHECK(solve_fixed<euler>(doubling, {0.0, 1.0}, one, equal_steps{2}).state(2)[0] == expected.state(2)[0]);
    CHECK(expected.state(2)[0] == 4.0);
}

TEST_CASE("ode/solve_fixed: nodes are equally spaced and the field is called as often as stated") {
    const auto path = solve_fixed<rk4_classic>(cordage_test::swinging{}, {1.0, 3.0}, one, equal_steps{8});
    CHECK(path.status() == solve_status::success);
    REQUIRE(path.nodes() == 9);
    for (std::size_t n = 0; n < 9; ++n) CHECK(path.times()[n] == 1.0 + 0.25 * static_cast<double>(n));
    CHECK(path.statistics() == solve_statistics{4 * 8 + 1, 8, 0});
    CHECK(solve_fixed<dopri5>(cordage_test::swinging{}, {1.0, 3.0}, one, equal_steps{8}).statistics().evaluations ==
          49);
}

TEST_CASE("ode/solve_fixed: a step size that does not divide the interval is shortened at the end") {
    const auto path = solve_fixed<euler>(cordage_test::growing{}, {0.0, 1.0}, one, step_size{0.375});
    REQUIRE(path.nodes() == 4);
    CHECK(path.times()[2] == 0.75);
    CHECK(path.times()[3] == 1.0);
    CHECK(path.step_size(2) == 0.25);
    CHECK(path.state(3)[0] == doctest::Approx(1.375 * 1.375 * 1.25));
}

TEST_CASE("ode/solve_fixed: a step size that divides the interval but for rounding adds no sliver") {
    CHECK(solve_fixed<euler>(cordage_test::growing{}, {1.0, 16.0}, one, step_size{0.01}).nodes() == 1501);
    CHECK(solve_fixed<euler>(cordage_test::growing{}, {0.0, 0.3}, one, step_size{0.1}).nodes() == 4);
    CHECK(solve_fixed<euler>(cordage_test::growing{}, {0.7, 1.0}, one, step_size{0.1}).nodes() == 4);
    CHECK(solve_fixed<euler>(cordage_test::growing{}, {0.0, 0.1}, one, step_size{0.3}).nodes() == 2);
}

TEST_CASE("ode/solve_fixed: there and back again") {
    const std::vector<double> z0{0.5, -0.8};
    const auto there = solve_fixed<dopri5>(cordage_test::knotted{}, {0.0, 2.0}, z0, equal_steps{200});
    const auto back = solve_fixed<dopri5>(cordage_test::knotted{}, {2.0, 0.0}, there.state(200), step_size{0.01});
    REQUIRE(back.nodes() == 201);
    std::vector<double> z(2), w(2);
    back.at(0.0, z);
    for (std::size_t i = 0; i < 2; ++i) CHECK(z[i] == doctest::Approx(z0[i]).epsilon(1e-10));
    there.at(1.2345, z);
    back.at(1.2345, w);
    for (std::size_t i = 0; i < 2; ++i) CHECK(z[i] == doctest::Approx(w[i]).epsilon(1e-9));
}

TEST_CASE("ode/solve_fixed: an empty interval is one node that can be read") {
    const auto path = solve_fixed<midpoint>(cordage_test::growing{}, {1.0, 1.0}, one, equal_steps{3});
    CHECK(path.nodes() == 1);
    std::vector<double> z(1);
    path.at(1.0, z);
    CHECK(z[0] == 1.0);
    CHECK(solve_fixed<midpoint>(cordage_test::growing{}, {1.0, 1.0}, one, step_size{0.1}).nodes() == 1);
}

TEST_CASE("ode/solve_fixed: a field that leaves the finite numbers ends the solve with that status") {
    const auto bad_later = [](double t, std::span<const double>, std::span<double> dz) {
        dz[0] = t < 1.5 ? 1.0 : nan_value;
    };
    const auto path = solve_fixed<rk4_38>(bad_later, {0.0, 3.0}, one, equal_steps{6});
    CHECK(path.status() == solve_status::non_finite);
    CHECK(path.reached() == 1.0);
    // dopri5 gives its second stage no weight, and this field only compares the state.
    const auto hides = [](double t, std::span<const double> z, std::span<double> dz) {
        dz[0] = t == 0.2 ? nan_value : z[0] > 0.0 ? 1.0 : 0.0;
    };
    CHECK(solve_fixed<dopri5>(hides, {0.0, 1.0}, one, equal_steps{1}).status() == solve_status::non_finite);
    const auto bad_at_once = [](double, std::span<const double>, std::span<double> dz) { dz[0] = infinite; };
    CHECK(solve_fixed<euler>(bad_at_once, {0.0, 3.0}, one, equal_steps{6}).status() == solve_status::non_finite);
    const auto overflowing = [](double, std::span<const double>, std::span<double> dz) { dz[0] = 1e307; };
    CHECK(solve_fixed<euler>(overflowing, {0.0, 30.0}, one, equal_steps{6}).status() == solve_status::non_finite);
}

// A step whose slopes and result are finite, but cancel in sums: between nodes other weights do not.
TEST_CASE("ode/solve_fixed: a solve succeeds only if the interpolant and its derivative are finite everywhere") {
    const auto solved = [](double slope, double length) {
        const auto turning = [=](double t, std::span<const double>, std::span<double> dz) {
            dz[0] = t < 0.5 * length ? slope : -slope;
        };
        return solve_fixed<rk4_38>(turning, {0.0, length}, one, equal_steps{1});
    };
    CHECK(solved(1e308, 1.0).status() == solve_status::non_finite);
    CHECK(solved(1e300, 1e9).status() == solve_status::non_finite);
    const auto growing = [](double, std::span<const double>, std::span<double> dz) { dz[0] = 1e305; };
    CHECK(solve_fixed<euler>(growing, {0.0, 5.0}, one, equal_steps{5}).reached() == 1.0);
    CHECK(solved(1e-300, std::numeric_limits<double>::max()).status() == solve_status::success);
    for (const double length : {1e-3, 1.0, 1e9}) {
        const auto path = solved(1e305 / std::max(length, 1.0), length);
        REQUIRE(path.status() == solve_status::success);
        std::vector<double> z(1), dz(1);
        for (int i = 0; i <= 100; ++i) {
            path.at(length * i / 100, z);
            path.slope_at(length * i / 100, dz);
            CHECK((is_finite(z[0]) && is_finite(dz[0])));
        }
    }
}
