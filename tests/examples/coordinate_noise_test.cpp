// SPDX-License-Identifier: MIT
#include "../../examples/own_methods/coordinate_noise.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace cordage;
using namespace own;

TEST_CASE("examples/coordinate_noise: none changes nothing, and each draws its own") {
    std::mt19937_64 generator(7);
    const grid_rule rule{.coordinate = grid_coordinate::centre};
    const grid_rule same = with_noise(generator, rule, {});
    CHECK(same.shift == rule.shift);
    CHECK(same.factor == rule.factor);
    const grid_rule shifted = with_noise(generator, rule, {.shift = 0.25});
    CHECK(shifted.shift[0] != shifted.shift[1]);
    CHECK(shifted.factor == rule.factor);
    const grid_rule stretched = with_noise(generator, rule, {.jitter = 2.0});
    CHECK(stretched.factor[0] != stretched.factor[1]);
    CHECK(stretched.shift == rule.shift);
    const grid_rule rescaled = with_noise(generator, rule, {.rescale = 2.0});
    CHECK(rescaled.factor[0] == rescaled.factor[1]);
    CHECK(rescaled.factor[0] != 1.0);
}

TEST_CASE("examples/coordinate_noise: draws fill their ranges, logarithms evenly") {
    std::mt19937_64 generator(11);
    constexpr int draws = 4000;
    double sum_of_shifts = 0.0, sum_of_logs = 0.0, most_shift = 0.0, most_log = 0.0, squares = 0.0;
    for (int i = 0; i < draws; ++i) {
        const grid_rule drawn = with_noise(generator, {}, {.shift = 0.5, .jitter = 2.0});
        const double shift = drawn.shift[0], log_factor = std::log2(drawn.factor[1]);
        sum_of_shifts += shift, sum_of_logs += log_factor, squares += log_factor * log_factor;
        most_shift = std::max(most_shift, std::fabs(shift)), most_log = std::max(most_log, std::fabs(log_factor));
    }
    const double deviation = 6.0 / std::sqrt(3.0 * draws);  // six standard deviations of a mean over -1 ... 1
    CHECK(std::fabs(sum_of_shifts / draws) < 0.5 * deviation);
    CHECK(std::fabs(sum_of_logs / draws) < deviation);
    CHECK(std::fabs(squares / draws - 1.0 / 3.0) < deviation);
    CHECK(most_shift <= 0.5);
    CHECK(most_shift > 0.49);
    CHECK(most_log <= 1.0);
    CHECK(most_log > 0.98);
}

TEST_CASE("examples/coordinate_noise: a rule's own shift and factor are applied first") {
    std::mt19937_64 generator(3), again(3);
    const coordinate_noise noise{.shift = 0.5, .jitter = 2.0, .rescale = 3.0};
    const patch_grid grid{.rows = 2, .columns = 3};
    const grid_rule rule{.shift = {1.0, 2.0}, .factor = {-2.0, 4.0}};
    const auto before = grid_positions(rule, {&grid, 1}),
               after = grid_positions(with_noise(generator, rule, noise), {&grid, 1});
    const grid_rule alone = with_noise(again, {}, noise);
    for (std::size_t i = 0; i < before.size(); ++i) {
        CHECK(after[i] == doctest::Approx((before[i] + alone.shift[i % 2]) * alone.factor[i % 2]).epsilon(1e-12));
    }
}

TEST_CASE("examples/coordinate_noise: a field out of range is named") {
    std::mt19937_64 generator(1);
    CHECK_THROWS_WITH_AS(with_noise(generator, {}, {.shift = -0.5}), "with_noise: shift -0.5 must be finite and >= 0",
                         value_error);
    CHECK_THROWS_WITH_AS(with_noise(generator, {}, {.jitter = 0.5}), "with_noise: jitter 0.5 must be finite and >= 1",
                         value_error);
    CHECK_THROWS_WITH_AS(with_noise(generator, {}, {.rescale = 0.0}), "with_noise: rescale 0 must be finite and >= 1",
                         value_error);
}
