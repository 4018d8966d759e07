// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "cordage/core/error.hpp"
#include "search/grid.hpp"

using namespace demo;

namespace {

using point = std::span<const double>;

constexpr index_t cost = 1000;

double square(double x) { return x * x; }

objective sphere(const std::vector<double>& centre) {
    return {[=](point x) {
                double sum = 0.0;
                for (std::size_t i = 0; i < x.size(); ++i) sum += square(x[i] - centre[i]);
                return sum;
            },
            cost};
}

// Counts calls, and returns what is no number now and then.
objective counted(index_t& calls) {
    return {[&calls](point x) {
                ++calls;
                return calls % 3 == 0 ? std::numeric_limits<double>::quiet_NaN() : square(x[0] - 0.3);
            },
            cost};
}

const std::vector<axis> two_axes{{"x", {-1.0, 0.0, 1.0}}, {"y", {0.0, 2.0}, 0.0, 8.0}};

}  // namespace

TEST_CASE("benchmarks/study/search: no search spends more than its budget, and all tell every trial") {
    const auto check = [](const auto& search) {
        for (const index_t budget : {6 * cost, 7 * cost + cost / 2, 40 * cost - 1}) {
            index_t calls = 0;
            const search_result found = search(counted(calls), budget);
            CHECK(found.token_forwards <= budget);
            CHECK(found.token_forwards == calls * cost);
            CHECK(static_cast<index_t>(found.trials.size()) == calls);
            CHECK(budget - found.token_forwards < 10 * cost);
            for (const trial& t : found.trials) {
                CHECK(!std::isnan(t.loss));
                CHECK(found.best().loss <= t.loss);
            }
        }
        CHECK_THROWS_WITH_AS(search(sphere({0, 0, 0, 0}), cost - 1),
                             "search: budget 999 must be >= 1000, the token-forwards of one evaluation",
                             cordage::value_error);
        CHECK_THROWS_WITH_AS(search({[](point) { return 0.0; }, 0}, cost), "search: token_forwards 0 must be >= 1",
                             cordage::value_error);
    };
    check([](const objective& what, index_t budget) { return search_grid(what, two_axes, budget); });
}

TEST_CASE("benchmarks/study/search: trials as CSV") {
    std::ostringstream out;
    write_trials(out, search_grid(sphere({0.0}), {{"log2_low", {-1.0, 0.5}}}, 2 * cost), {"log2_low"});
    CHECK(out.str() == "trial,loss,log2_low\n0,1,-1\n1,0.25,0.5\n");
}

TEST_CASE(
    "benchmarks/study/search/grid: every combination first, then the refinement finds what lies between and beyond") {
    const search_result found = search_grid(sphere({0.37, 5.5}), two_axes, 200 * cost);
    const std::vector<std::vector<double>> grid{{-1, 0}, {-1, 2}, {0, 0}, {0, 2}, {1, 0}, {1, 2}};
    for (std::size_t i = 0; i < grid.size(); ++i) CHECK(found.trials[i].point == grid[i]);
    CHECK(found.best().point[0] == doctest::Approx(0.37).epsilon(0.01));
    CHECK(found.best().point[1] == doctest::Approx(5.5).epsilon(0.01));  // the grid ends at 2
    for (std::size_t i = 0; i < found.trials.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) CHECK(found.trials[i].point != found.trials[j].point);
    }
    const search_result limited = search_grid(sphere({0.0, -3.0}), two_axes, 200 * cost);
    CHECK(limited.best().point[1] == 0.0);
    for (const trial& t : limited.trials) CHECK((t.point[1] >= 0.0 && t.point[1] <= 8.0));
}

TEST_CASE("benchmarks/study/search/grid: what is no grid is refused") {
    CHECK_THROWS_WITH_AS(
        search_grid(sphere({0, 0}), two_axes, 5 * cost),
        "search_grid: a grid of 6 points must be within the budget, which pays for 5; give fewer values "
        "or more budget",
        cordage::value_error);
    CHECK_THROWS_WITH_AS(search_grid(sphere({0}), {{"x", {1.0}}}, cost), "search_grid: x must have two values or more",
                         cordage::value_error);
    CHECK_THROWS_WITH_AS(search_grid(sphere({0}), {{"x", {1.0, 1.0}}}, 9 * cost),
                         "search_grid: x values[1] 1 must be finite and increasing, within -inf ... inf",
                         cordage::value_error);
    CHECK_THROWS_WITH_AS(search_grid(sphere({0}), {{"x", {-1.0, 1.0}, 0.0}}, 9 * cost),
                         "search_grid: x values[0] -1 must be finite and increasing, within 0 ... inf",
                         cordage::value_error);
}

TEST_CASE("benchmarks/study/search/grid: by parts as a point") {
    const by_parts_setting log_scaled = by_parts_at(std::vector{-1.0, 3.0, 0.0, 1.0});
    CHECK(log_scaled.rotations_low == 0.5);
    CHECK(log_scaled.rotations_high == 4.0);
    CHECK(log_scaled.t_multiplier == 1.0);
    CHECK(log_scaled.temperature_slope == 1.0);
    index_t points = 1;
    for (const axis& a : by_parts_axes()) points *= static_cast<index_t>(a.values.size());
    CHECK(points == 54);
    const search_result found = search_grid(sphere({-1.5, 3.5, 0.25, 1.1}), by_parts_axes(), 120 * cost);
    CHECK(found.best().loss < 0.01);
    for (const trial& t : found.trials) {
        const by_parts_setting s = by_parts_at(t.point);
        CHECK(s.rotations_high >= s.rotations_low);
        CHECK(s.t_multiplier >= 1.0);
    }
}
