// SPDX-License-Identifier: MIT
#include "cordage/positions/sampler.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace cordage;

namespace {

bool is_strictly_increasing(const std::vector<double>& p) {
    return std::adjacent_find(p.begin(), p.end(), std::greater_equal<>{}) == p.end();
}
bool is_whole(double x) { return std::floor(x) == x; }

}  // namespace

TEST_CASE("positions/sampler: the same numbers on every platform") {
    std::mt19937_64 generator(2024);
    // mt19937_64 is fixed by the C++ standard, and what follows it is integers and one fused multiply-add.
    CHECK(sample_ratio(generator, 4.0) == 0x1.6b45576f01d86p+1);
    CHECK(sorted_random_positions(generator, {.train_length = 6, .original_length = 8, .t = 4.0}) ==
          std::vector<double>{1, 5, 8, 10, 22, 30});
    CHECK(two_contiguous_runs(generator, {.train_length = 6, .original_length = 8, .t = 4.0}) ==
          std::vector<double>{11, 12, 13, 14, 21, 22});
}

TEST_CASE("positions/sampler: t' is uniform between 1 and t_train") {
    std::mt19937_64 generator(5);
    double sum = 0.0, smallest = 16.0, largest = 1.0;
    for (int i = 0; i < 10'000; ++i) {
        const double t = sample_ratio(generator, 16.0);
        REQUIRE((t >= 1.0 && t <= 16.0));
        sum += t;
        smallest = std::min(smallest, t);
        largest = std::max(largest, t);
    }
    CHECK(std::fabs(sum / 10'000 - 8.5) < 4 * 15 / std::sqrt(12.0) / 100);
    CHECK(smallest < 1.02);
    CHECK(largest > 15.98);
    CHECK(sample_ratio(generator, 1.0) == 1.0);
}

TEST_CASE("positions/sampler: uniform positions are the multiples of t' L / L_train up to t' L") {
    CHECK(uniform_positions({.train_length = 4, .original_length = 4, .t = 2.5}) ==
          std::vector<double>{2.5, 5, 7.5, 10});
    CHECK(uniform_positions({.train_length = 3, .original_length = 6, .t = 1.0}) == std::vector<double>{2, 4, 6});
    const auto long_run = uniform_positions({.train_length = 4096, .original_length = 4096, .t = 3.3});
    CHECK(long_run.size() == 4096);
    CHECK(long_run.back() == doctest::Approx(3.3 * 4096).epsilon(1e-15));
}

TEST_CASE("positions/sampler: sorted random positions are distinct integers of 1 to floor of t' L") {
    std::mt19937_64 generator(6);
    for (const double t : {1.0, 1.7, 4.0, 16.0}) {
        const auto p = sorted_random_positions(generator, {.train_length = 512, .original_length = 512, .t = t});
        CHECK(p.size() == 512);
        CHECK(is_strictly_increasing(p));
        CHECK(std::all_of(p.begin(), p.end(), is_whole));
        CHECK(p.front() >= 1.0);
        CHECK(p.back() <= std::floor(512 * t));
    }
    const auto all = sorted_random_positions(generator, {.train_length = 5, .original_length = 5, .t = 1.0});
    CHECK(all == std::vector<double>{1, 2, 3, 4, 5});  // no choice: every integer there is
}

// The r-th of n sorted draws from 1 ... N has mean r (N + 1) / (n + 1) when every subset is equally likely.
TEST_CASE("positions/sampler: every subset is equally likely, so the r-th of 6 from 20 has mean 3 r") {
    std::mt19937_64 generator(9);
    constexpr int draws = 20'000;
    std::vector<double> sums(6, 0.0), counts(21, 0.0);
    for (int i = 0; i < draws; ++i) {
        const auto p = sorted_random_positions(generator, {.train_length = 6, .original_length = 20, .t = 1.0});
        for (std::size_t r = 0; r < 6; ++r) sums[r] += p[r];
        for (const double position : p) counts[static_cast<std::size_t>(position)] += 1.0;
    }
    for (std::size_t r = 0; r < 6; ++r) {
        CHECK(std::fabs(sums[r] / draws - 3.0 * static_cast<double>(r + 1)) < 4 * 2.8 / std::sqrt(double{draws}));
    }
    for (std::size_t position = 1; position <= 20; ++position) {
        CHECK(std::fabs(counts[position] / draws - 0.3) < 4 * std::sqrt(0.21 / draws));
    }
}

TEST_CASE("positions/sampler: where t' L < L_train the draws are distinct multiples of 1/m within the same range") {
    std::mt19937_64 generator(10);
    for (const index_t train_length : {9, 16, 17, 100}) {
        const auto p =
            sorted_random_positions(generator, {.train_length = train_length, .original_length = 8, .t = 1.1});
        const double m = std::ceil(static_cast<double>(train_length) / 8.0);
        CHECK(static_cast<index_t>(p.size()) == train_length);
        CHECK(is_strictly_increasing(p));
        CHECK(p.front() > 0.0);
        CHECK(p.back() <= 8.0);
        for (const double position : p) CHECK(std::fabs(position * m - std::round(position * m)) < 1e-9);
    }
}

TEST_CASE("positions/sampler: two contiguous runs have neighbours at distance 1 and one skip, inside t' L") {
    std::mt19937_64 generator(11);
    double furthest = 0.0, largest_skip = 0.0;
    bool skips_early = false, skips_late = false;
    for (int i = 0; i < 3000; ++i) {
        const auto p = two_contiguous_runs(generator, {.train_length = 32, .original_length = 32, .t = 3.5});
        REQUIRE(p.size() == 32);
        REQUIRE((p.front() >= 0.0 && p.back() < 112.0 && is_whole(p.front())));
        int gaps = 0;
        for (std::size_t k = 1; k < p.size(); ++k) {
            if (p[k] - p[k - 1] == 1.0) continue;
            ++gaps;
            largest_skip = std::max(largest_skip, p[k] - p[k - 1]);
            skips_early |= k == 1;
            skips_late |= k == 31;
        }
        REQUIRE(gaps <= 1);
        furthest = std::max(furthest, p.back());
    }
    CHECK(furthest == 111.0);
    CHECK(largest_skip > 75.0);  // of at most 81
    CHECK((skips_early && skips_late));
}

TEST_CASE("positions/sampler: two contiguous runs without room for a skip are 0 to L_train - 1") {
    std::mt19937_64 generator(12);
    const std::vector<double> plain{0, 1, 2, 3, 4};
    CHECK(two_contiguous_runs(generator, {.train_length = 5, .original_length = 5, .t = 1.0}) == plain);
    CHECK(two_contiguous_runs(generator, {.train_length = 5, .original_length = 2, .t = 1.5}) == plain);
}

TEST_CASE("positions/sampler: settings out of their domain are named, with the sampler's name") {
    std::mt19937_64 generator(13);
    CHECK_THROWS_WITH_AS(uniform_positions({.train_length = 0, .original_length = 8}),
                         "uniform_positions: train_length 0 must be >= 1", value_error);
    CHECK_THROWS_WITH_AS(sorted_random_positions(generator, {.train_length = 4, .original_length = 0.0}),
                         "sorted_random_positions: original_length 0 must be finite and >= 1", value_error);
    CHECK_THROWS_WITH_AS(two_contiguous_runs(generator, {.train_length = 4, .original_length = 8, .t = 0.99}),
                         "two_contiguous_runs: t 0.99 must be finite and >= 1", value_error);
    CHECK_THROWS_WITH_AS(sample_ratio(generator, 0.0), "sample_ratio: t_train 0 must be finite and >= 1", value_error);
    CHECK_THROWS_AS(uniform_positions({.train_length = 4, .original_length = 1e300, .t = 10}), value_error);
}
