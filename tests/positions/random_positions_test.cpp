// SPDX-License-Identifier: MIT
#include "cordage/positions/random_positions.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace cordage;

TEST_CASE("positions/random_positions: distinct integers of 1 to the longest, in order") {
    std::mt19937_64 generator(31);
    for (int i = 0; i < 200; ++i) {
        const auto p = random_positions(generator, {.train_length = 40, .original_length = 2048});
        REQUIRE(p.size() == 40);
        REQUIRE(std::adjacent_find(p.begin(), p.end(), std::greater_equal<>{}) == p.end());
        REQUIRE((p.front() >= 1.0 && p.back() <= 2048.0));
        REQUIRE(std::all_of(p.begin(), p.end(), [](double x) { return x == std::floor(x); }));
    }
    const auto all = random_positions(generator, {.train_length = 5, .original_length = 2.5, .t = 2.0});
    CHECK(all == std::vector<double>{1, 2, 3, 4, 5});  // no choice
}

// The r-th of n sorted draws from 1 ... N has mean r (N + 1) / (n + 1); here 3 r.
TEST_CASE("positions/random_positions: every subset is equally likely") {
    std::mt19937_64 generator(32);
    constexpr int draws = 20'000;
    std::vector<double> sums(6, 0.0);
    for (int i = 0; i < draws; ++i) {
        const auto p = random_positions(generator, {.train_length = 6, .original_length = 20});
        for (std::size_t r = 0; r < 6; ++r) sums[r] += p[r];
    }
    for (std::size_t r = 0; r < 6; ++r) {
        CHECK(std::fabs(sums[r] / draws - 3.0 * static_cast<double>(r + 1)) < 4 * 2.8 / std::sqrt(double{draws}));
    }
}

TEST_CASE("positions/random_positions: the same numbers on every platform") {
    std::mt19937_64 generator(2024);
    CHECK(random_positions(generator, {.train_length = 6, .original_length = 32}) ==
          std::vector<double>{1, 5, 8, 11, 17, 23});
}

TEST_CASE("positions/random_positions: a range of too few integers is refused, as are lengths that cannot be") {
    std::mt19937_64 generator(33);
    CHECK_THROWS_WITH_AS(random_positions(generator, {.train_length = 9, .original_length = 5, .t = 1.75}),
                         "random_positions: train_length 9 must be <= floor(t * original_length) 8", value_error);
    CHECK_THROWS_WITH_AS(random_positions(generator, {.train_length = 0, .original_length = 5}),
                         "random_positions: train_length 0 must be >= 1", value_error);
    CHECK_THROWS_WITH_AS(random_positions(generator, {.train_length = 4, .original_length = 8, .t = 0.5}),
                         "random_positions: t 0.5 must be finite and >= 1", value_error);
}
