// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "cordage/core/error.hpp"
#include "search/cma_es.hpp"
#include "search/grid.hpp"
#include "search/monotone_evolution.hpp"

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

objective rosenbrock() {
    return {[](point x) {
                double sum = 0.0;
                for (std::size_t i = 0; i + 1 < x.size(); ++i) {
                    sum += 100.0 * square(x[i + 1] - square(x[i])) + square(1.0 - x[i]);
                }
                return sum;
            },
            cost};
}

// A valley ten thousand times as long as wide, rotated out of the axes.
objective rotated_ellipsoid() {
    return {[](point x) { return 1e4 * square(x[0] + x[1] + x[2]) + square(x[0] - x[1]) + 10.0 * square(x[2] - 1.0); },
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

evolution_options three_ordered() {
    return {.starts = {{0.0, 0.5, 1.0, 0.0}, {1.0, 1.0, 1.0, 0.0}},
            .ordered = 3,
            .lowest = 0.0,
            .highest = 3.0,
            .reach = 1.0};
}

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
    check([](const objective& what, index_t budget) {
        return search_cma_es(what, {.start = {1.0, 2.0}, .step = 0.5}, budget);
    });
    check([](const objective& what, index_t budget) { return search_monotone(what, three_ordered(), budget); });
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

TEST_CASE("benchmarks/study/search/cma_es: it finds the bottom of known functions") {
    const search_result round =
        search_cma_es(sphere({1, 2, 3, 4, 5}), {.start = {0, 0, 0, 0, 0}, .step = 1}, 1500 * cost);
    CHECK(round.best().loss < 1e-8);
    CHECK(search_cma_es(rosenbrock(), {.start = {-1, -1, -1, -1}, .step = 0.5}, 5000 * cost).best().loss < 1e-8);
    CHECK(search_cma_es(rotated_ellipsoid(), {.start = {3, 3, 3}, .step = 1}, 1500 * cost).best().loss < 1e-8);
    // One number has a distribution too.
    CHECK(search_cma_es(sphere({7}), {.start = {0}, .step = 1}, 300 * cost).best().loss < 1e-8);
}

TEST_CASE("benchmarks/study/search/cma_es: a seed has the same trials everywhere, another seed others") {
    const auto found = [](std::uint64_t seed) {
        return search_cma_es(rosenbrock(), {.start = {0.5, 0.25, 0.1}, .step = 0.3, .seed = seed}, 100 * cost).trials;
    };
    const std::vector<trial> first = found(1);
    CHECK(first == found(1));
    CHECK(first[1].point != found(2)[1].point);
    CHECK(first[0].point == std::vector<double>{0.5, 0.25, 0.1f});
    CHECK(first[1].point == std::vector<double>{0.488180012f, 0.175315648f, 0.0836059451f});
    CHECK(first[99].point == std::vector<double>{0.683391213f, 0.477737933f, 0.216093853f});
}

TEST_CASE("benchmarks/study/search/cma_es: what is no start is refused") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_WITH_AS(search_cma_es(sphere({}), {.start = {}, .step = 1}, cost),
                         "search_cma_es: start must have a number or more", cordage::value_error);
    CHECK_THROWS_WITH_AS(search_cma_es(sphere({0, 0}), {.start = {0, nan}, .step = 1}, cost),
                         "search_cma_es: start[1] nan must be finite", cordage::value_error);
    CHECK_THROWS_WITH_AS(search_cma_es(sphere({0}), {.start = {0}, .step = 0}, cost),
                         "search_cma_es: step 0 must be finite and > 0", cordage::value_error);
}

TEST_CASE(
    "benchmarks/study/search/monotone_evolution: what is ordered stays so, and the best is found under that "
    "constraint") {
    const evolution_options options = three_ordered();
    // Of the first three numbers the target is out of order: 2, 2, 2.5 is nearest to it in order (2.2, 1.8 pooled).
    const search_result found = search_monotone(sphere({2.2, 1.8, 2.5, -6.0}), options, 3000 * cost);
    for (const trial& t : found.trials) {
        CHECK(std::is_sorted(t.point.begin(), t.point.begin() + 3));
        CHECK(t.point[0] >= 0.0);
        CHECK(t.point[2] <= 3.0);
    }
    CHECK(found.trials[0].point == options.starts[0]);
    CHECK(found.trials[1].point == options.starts[1]);
    CHECK(found.best().loss < 0.08 + 0.02);
    CHECK(found.best().point[0] == doctest::Approx(2.0).epsilon(0.05));
    CHECK(found.best().point[1] == doctest::Approx(2.0).epsilon(0.05));
    CHECK(found.best().point[3] == doctest::Approx(-6.0).epsilon(0.05));  // free of order and range
}

TEST_CASE("benchmarks/study/search/monotone_evolution: a seed has the same trials everywhere, another seed others") {
    const auto found = [](std::uint64_t seed) {
        evolution_options options = three_ordered();
        options.seed = seed;
        return search_monotone(sphere({1, 2, 3, 4}), options, 200 * cost).trials;
    };
    const std::vector<trial> first = found(1);
    CHECK(first == found(1));
    CHECK(first[2].point != found(2)[2].point);
    CHECK(first[199].point == std::vector<double>{0.66762302276075824, 1.8517560839422904, 3.0, 1.4894279519651683});
}

TEST_CASE("benchmarks/study/search/monotone_evolution: what does not fit is refused") {
    const auto refused = [](const auto& change) {
        evolution_options options = three_ordered();
        change(options);
        try {
            search_monotone(sphere({0, 0, 0, 0}), options, cost);
        } catch (const cordage::value_error& problem) {
            return std::string(problem.what());
        }
        return std::string("searched");
    };
    CHECK(refused([](auto& o) { o.starts.clear(); }) == "search_monotone: starts must have a point or more");
    CHECK(refused([](auto& o) { o.ordered = 5; }) ==
          "search_monotone: ordered 5 must be in 1 ... 4, the size of a start");
    CHECK(refused([](auto& o) { o.highest = 0.0; }) == "search_monotone: highest 0 must be finite and > lowest 0");
    CHECK(refused([](auto& o) { o.reach = 0.0; }) == "search_monotone: reach 0 must be finite and > 0");
    CHECK(refused([](auto& o) { o.mutation_share = 1.5; }) ==
          "search_monotone: mutation_share 1.5 must be finite and in (0, 1]");
    CHECK(refused([](auto& o) { o.parents = 17; }) == "search_monotone: parents 17 must be in 1 ... population 16");
    CHECK(refused([](auto& o) { o.starts[1].pop_back(); }) ==
          "search_monotone: starts[1] size 3 must be 4 as that of starts[0]");
    CHECK(refused([](auto& o) { o.starts[1][1] = 0.5; }) ==
          "search_monotone: starts[1][1] 0.5 must be finite and in 1 ... 3");
    CHECK(refused([](auto& o) { o.starts[0][2] = 3.5; }) ==
          "search_monotone: starts[0][2] 3.5 must be finite and in 0.5 ... 3");
}
