// SPDX-License-Identifier: MIT
#include "cordage/positions/sampler.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
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
    // mt19937_64 is fixed by the C++ standard; the rest is integers and one fused multiply-add.
    CHECK(sample_ratio(generator, 4.0) == 0x1.6b45576f01d86p+1);
    CHECK(sorted_random_positions(generator, {.train_length = 6, .original_length = 8, .t = 4.0}) ==
          std::vector<double>{1, 5, 8, 10, 22, 30});
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
    CHECK(all == std::vector<double>{1, 2, 3, 4, 5});  // no choice: all integers of the range
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

TEST_CASE("positions/sampler: settings out of their domain are named, with the sampler's name") {
    std::mt19937_64 generator(13);
    CHECK_THROWS_WITH_AS(uniform_positions({.train_length = 0, .original_length = 8}),
                         "uniform_positions: train_length 0 must be >= 1", value_error);
    CHECK_THROWS_WITH_AS(sorted_random_positions(generator, {.train_length = 4, .original_length = 0.0}),
                         "sorted_random_positions: original_length 0 must be finite and >= 1", value_error);
    CHECK_THROWS_WITH_AS(pose_positions(generator, {.train_length = 4, .original_length = 8, .t = 0.99}),
                         "pose_positions: t 0.99 must be finite and >= 1", value_error);
    CHECK_THROWS_WITH_AS(sample_ratio(generator, 0.0), "sample_ratio: t_train 0 must be finite and >= 1", value_error);
    CHECK_THROWS_AS(uniform_positions({.train_length = 4, .original_length = 1e300, .t = 10}), value_error);
}

TEST_CASE("positions/sampler: random_positions: distinct integers of 1 to the longest, in order") {
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
TEST_CASE("positions/sampler: random_positions: every subset is equally likely") {
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

TEST_CASE("positions/sampler: random_positions: the same numbers on every platform") {
    std::mt19937_64 generator(2024);
    CHECK(random_positions(generator, {.train_length = 6, .original_length = 32}) ==
          std::vector<double>{1, 5, 8, 11, 17, 23});
}

TEST_CASE(
    "positions/sampler: random_positions: a range of too few integers is refused, as are lengths that cannot be") {
    std::mt19937_64 generator(33);
    CHECK_THROWS_WITH_AS(random_positions(generator, {.train_length = 9, .original_length = 5, .t = 1.75}),
                         "random_positions: train_length 9 must be <= floor(t * original_length) 8", value_error);
    CHECK_THROWS_WITH_AS(random_positions(generator, {.train_length = 0, .original_length = 5}),
                         "random_positions: train_length 0 must be >= 1", value_error);
    CHECK_THROWS_WITH_AS(random_positions(generator, {.train_length = 4, .original_length = 8, .t = 0.5}),
                         "random_positions: t 0.5 must be finite and >= 1", value_error);
}

namespace {

// Properties of the chunks of a sequence of positions: the skip before each position, and where it grows.
struct chunks_seen {
    std::vector<double> skips;
    std::vector<index_t> starts;

    explicit chunks_seen(const std::vector<double>& positions) {
        for (std::size_t i = 0; i < positions.size(); ++i) {
            skips.push_back(positions[i] - static_cast<double>(i));
            if (i > 0 && skips[i] != skips[i - 1]) starts.push_back(static_cast<index_t>(i));
        }
    }
};

}  // namespace

TEST_CASE(
    "positions/sampler: pose: chunks of neighbours from 0 on, each moved at least as far as the one before, below t "
    "L") {
    std::mt19937_64 generator(41);
    for (const index_t chunks : {1, 2, 3, 8, 20, 32}) {  // 20: the longest chunks would use up all tokens
        double furthest = 0.0;
        for (int i = 0; i < 3000; ++i) {
            const auto p = pose_positions(generator, {.train_length = 32, .original_length = 32, .t = 3.5}, chunks);
            REQUIRE(p.size() == 32);
            REQUIRE(p.front() == 0.0);
            REQUIRE(p.back() < 112.0);
            const chunks_seen seen(p);
            REQUIRE(std::is_sorted(seen.skips.begin(), seen.skips.end()));
            REQUIRE(std::all_of(seen.skips.begin(), seen.skips.end(), [](double s) { return s == std::floor(s); }));
            REQUIRE(static_cast<index_t>(seen.starts.size()) < chunks);
            furthest = std::max(furthest, p.back());
        }
        CHECK(furthest == (chunks == 1 ? 31.0 : 111.0));
    }
}

TEST_CASE(
    "positions/sampler: pose: with two chunks the first has 1 to half of the tokens, and every skip is equally "
    "likely") {
    std::mt19937_64 generator(42);
    constexpr int draws = 40'000;
    std::vector<double> lengths(9, 0.0), skips(12, 0.0);
    for (int i = 0; i < draws; ++i) {  // 8 tokens, 1 to 4 in the first chunk; skips 0 to 11
        const auto p = pose_positions(generator, {.train_length = 8, .original_length = 8, .t = 19.0 / 8});
        const chunks_seen seen(p);
        skips[static_cast<std::size_t>(seen.skips.back())] += 1.0;
        if (!seen.starts.empty()) lengths[static_cast<std::size_t>(seen.starts.front())] += 1.0;
    }
    for (const double count : skips) CHECK(std::fabs(count / draws - 1.0 / 12) < 4 * std::sqrt(11.0 / 144 / draws));
    const double moved = std::accumulate(lengths.begin(), lengths.end(), 0.0);
    for (std::size_t length = 1; length <= 8; ++length) {
        if (length <= 4) CHECK(std::fabs(lengths[length] / moved - 0.25) < 4 * std::sqrt(3.0 / 16 / moved));
        if (length > 4) CHECK(lengths[length] == 0.0);
    }
    // An odd number of tokens: up to the larger half.
    index_t longest = 0;
    for (int i = 0; i < 500; ++i) {
        const chunks_seen seen(pose_positions(generator, {.train_length = 7, .original_length = 7, .t = 4.0}));
        if (!seen.starts.empty()) longest = std::max(longest, seen.starts.front());
    }
    CHECK(longest == 4);
}

TEST_CASE("positions/sampler: pose: with as many chunks as tokens every token may be moved by itself") {
    std::mt19937_64 generator(43);
    std::size_t most = 0;
    for (int i = 0; i < 200; ++i) {
        const chunks_seen seen(pose_positions(generator, {.train_length = 5, .original_length = 5, .t = 1e6}, 5));
        most = std::max(most, seen.starts.size());
    }
    CHECK(most == 4);
}

TEST_CASE("positions/sampler: pose: without room nothing moves") {
    std::mt19937_64 generator(44);
    const std::vector<double> plain{0, 1, 2, 3, 4};
    CHECK(pose_positions(generator, {.train_length = 5, .original_length = 5, .t = 1.0}) == plain);
    CHECK(pose_positions(generator, {.train_length = 5, .original_length = 2, .t = 1.5}, 3) == plain);
    CHECK(pose_positions(generator, {.train_length = 5, .original_length = 2, .t = 100}, 1) == plain);
}

TEST_CASE("positions/sampler: pose: the same numbers on every platform") {
    std::mt19937_64 generator(2024);
    CHECK(pose_positions(generator, {.train_length = 6, .original_length = 8, .t = 4.0}) ==
          std::vector<double>{0, 1, 23, 24, 25, 26});
    CHECK(pose_positions(generator, {.train_length = 6, .original_length = 8, .t = 4.0}, 3) ==
          std::vector<double>{0, 1, 5, 6, 7, 8});
}

TEST_CASE("positions/sampler: pose: settings out of their domain are named") {
    std::mt19937_64 generator(45);
    CHECK_THROWS_WITH_AS(pose_positions(generator, {.train_length = 4, .original_length = 8}, 0),
                         "pose_positions: chunks 0 must be 1 to train_length 4", value_error);
    CHECK_THROWS_WITH_AS(pose_positions(generator, {.train_length = 4, .original_length = 8}, 5),
                         "pose_positions: chunks 5 must be 1 to train_length 4", value_error);
    CHECK_THROWS_WITH_AS(pose_positions(generator, {.train_length = 4, .original_length = 0}),
                         "pose_positions: original_length 0 must be finite and >= 1", value_error);
}
