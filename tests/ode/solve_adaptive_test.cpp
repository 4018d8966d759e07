// SPDX-License-Identifier: MIT
#include "cordage/ode/solve_adaptive.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "test_fields.hpp"

using namespace cordage;

namespace {
const std::vector<double> one{1.0};
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

template <class Tableau>
double worst_error(const trajectory<Tableau>& path, double end) {
    double worst = 0.0;
    std::vector<double> z(1);
    for (int i = 0; i <= 500; ++i) {
        const double t = end * i / 500;
        path.at(t, z);
        worst = std::max(worst, std::abs(z[0] - cordage_test::swinging::exact(t)));
    }
    return worst;
}
}  // namespace

TEST_CASE_TEMPLATE("ode/solve_adaptive: the error everywhere follows the tolerance", Tableau, bosh3, dopri5, tsit5) {
    index_t steps = 0;
    for (const double allowed : {1e-4, 1e-6, 1e-8, 1e-10}) {
        const auto path = solve_adaptive<Tableau>(cordage_test::swinging{}, {0.0, 10.0}, one,
                                                  {.tolerance = {.relative = allowed, .absolute = allowed}});
        REQUIRE(path.status() == solve_status::success);
        CHECK(worst_error(path, 10.0) < 100.0 * allowed);
        CHECK(path.statistics().accepted > steps);
        steps = path.statistics().accepted;
    }
}

TEST_CASE("ode/solve_adaptive: the controller's steps grow with the fifth root of the tolerance") {
    const auto steps = [](double allowed) {
        return static_cast<double>(
            solve_adaptive(cordage_test::swinging{}, {0.0, 40.0}, one, {.tolerance = {allowed, allowed}})
                .statistics()
                .accepted);
    };
    CHECK(steps(1e-11) / steps(1e-6) == doctest::Approx(10.0).epsilon(0.2));
}

TEST_CASE("ode/solve_adaptive: a first step that is far too large is rejected, and the result is as good") {
    const auto path =
        solve_adaptive(cordage_test::swinging{}, {0.0, 10.0}, one, {.tolerance = {1e-8, 1e-8}, .first_step = 8.0});
    CHECK(path.statistics().rejected >= 1);
    CHECK(worst_error(path, 10.0) < 1e-6);
    const auto& cost = path.statistics();
    CHECK(cost.evaluations == 1 + 6 * (cost.accepted + cost.rejected));
}

TEST_CASE_TEMPLATE("ode/solve_adaptive: the first step is like the others, and none looks beyond the interval", Tableau,
                   bosh3, dopri5, tsit5) {
    for (const auto interval : {time_interval<double>{1.0, 3.0}, time_interval<double>{3.0, 1.0}}) {
        const auto inside = [](double t, std::span<const double> z, std::span<double> dz) {
            CHECK((t >= 1.0 && t <= 3.0));
            dz[0] = z[0];
        };
        const auto path = solve_adaptive<Tableau>(inside, interval, one);
        CHECK(path.statistics().rejected == 0);
        CHECK(path.step_size(0) / (interval.end - interval.begin) > 0.1 / static_cast<double>(path.nodes() - 1));
    }
}

TEST_CASE("ode/solve_adaptive: a pole that the first look at the field hits by chance does not end the solve") {
    const auto pole = [](double t, std::span<const double>, std::span<double> dz) {
        dz[0] = std::abs(t - 0.01) < 1e-9 ? infinite : 1.0;  // it is evaluated at 1/100 of z/slope
    };
    CHECK(solve_adaptive(pole, {0.0, 1.0}, one).status() == solve_status::success);
}

TEST_CASE("ode/solve_adaptive: a slope whose norm overflows ends no solve by a first step of 0") {
    const auto steep = [](double, std::span<const double>, std::span<double> dz) { dz[0] = 1e305; };
    const auto path = solve_adaptive(steep, {0.0, 1.0}, one);
    CHECK(path.status() == solve_status::success);
    std::vector<double> z(1);
    path.at(1.0, z);
    CHECK(z[0] == doctest::Approx(1e305).epsilon(1e-12));
}

TEST_CASE("ode/solve_adaptive: the last node is the interval's end to the last bit") {
    for (int i = 1; i <= 100; ++i) {
        const double end = 0.01 * i;
        CHECK(solve_adaptive(cordage_test::growing{}, {-1.0 / i, end}, one, {.tolerance = {1, 1}}).reached() == end);
    }
}

TEST_CASE("ode/solve_adaptive: it solves backwards, and an empty interval is one node") {
    const std::vector<double> z0{cordage_test::swinging::exact(3.0)};
    const auto path = solve_adaptive(cordage_test::swinging{}, {3.0, 0.0}, z0, {.tolerance = {1e-10, 1e-10}});
    std::vector<double> z(1);
    path.at(0.0, z);
    CHECK(z[0] == doctest::Approx(1.0).epsilon(1e-8));
    path.at(1.7, z);
    CHECK(z[0] == doctest::Approx(cordage_test::swinging::exact(1.7)).epsilon(1e-8));
    CHECK(solve_adaptive(cordage_test::swinging{}, {3.0, 3.0}, z0).nodes() == 1);
}

TEST_CASE("ode/solve_adaptive: a solution that blows up ends the solve at its pole") {
    const auto path = solve_adaptive(cordage_test::exploding{}, {0.0, 2.0}, one);
    CHECK(path.status() == solve_status::step_too_small);
    CHECK(path.reached() == doctest::Approx(1.0).epsilon(1e-6));
}

TEST_CASE("ode/solve_adaptive: a field that stops being a number ends the solve there") {
    const auto bad = [](double t, std::span<const double>, std::span<double> dz) { dz[0] = t < 1.5 ? 1.0 : nan_value; };
    const auto path = solve_adaptive(bad, {0.0, 3.0}, one);
    CHECK(path.status() == solve_status::non_finite);
    CHECK(path.reached() == doctest::Approx(1.5).epsilon(1e-9));
    const auto at_once = [](double, std::span<const double>, std::span<double> dz) { dz[0] = nan_value; };
    CHECK(solve_adaptive(at_once, {0.0, 3.0}, one).status() == solve_status::non_finite);
    const auto overflowing = [](double, std::span<const double>, std::span<double> dz) { dz[0] = 1e307; };
    CHECK(solve_adaptive(overflowing, {0.0, 30.0}, one, {.first_step = 10.0}).status() == solve_status::non_finite);
}

TEST_CASE("ode/solve_adaptive: too few steps allowed is a status, not a short answer") {
    const auto path = solve_adaptive(cordage_test::swinging{}, {0.0, 100.0}, one, {.max_steps = 7});
    CHECK(path.status() == solve_status::max_steps_reached);
    CHECK(path.statistics().accepted + path.statistics().rejected == 7);
}

TEST_CASE("ode/solve_adaptive: float works to float's precision") {
    const std::vector<float> z0{1.0f};
    const auto path =
        solve_adaptive<tsit5, float>(cordage_test::swinging{}, {0.0f, 3.0f}, z0, {.tolerance = {1e-5, 1e-5}});
    std::vector<float> z(1);
    path.at(2.5f, z);
    CHECK(z[0] == doctest::Approx(cordage_test::swinging::exact(2.5)).epsilon(1e-4));
}
