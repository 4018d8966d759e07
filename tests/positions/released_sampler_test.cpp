// SPDX-License-Identifier: MIT
#include "cordage/positions/sampler.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <random>

using namespace cordage;

namespace {

bool is_strictly_increasing(const std::vector<double>& p) {
    return std::adjacent_find(p.begin(), p.end(), std::greater_equal<>{}) == p.end();
}
std::vector<index_t> count_up(index_t first, index_t count) {
    std::vector<index_t> all;
    for (index_t i = 0; i < count; ++i) all.push_back(first + i);
    return all;
}

}  // namespace

TEST_CASE("positions/released_sampler: trained at the original length, both ends are whole and the same as released") {
    const released_range range{.train_length = 5, .original_length = 5, .t = 3};
    const std::vector<index_t> drawn{0, 7, 12};
    CHECK(released_positions(range, drawn) == std::vector<double>{0, 1, 8, 13, 14});
    auto original = range;
    original.original_end = true;
    CHECK(released_positions(original, drawn) == released_positions(range, drawn));
}

TEST_CASE("positions/released_sampler: trained on longer sequences the positions are fractions, to the very end") {
    const released_range range{.train_length = 6, .original_length = 2, .t = 1};
    CHECK(range.per_unit() == 3);
    const auto third = [](int n) { return double{static_cast<float>(n) / 3.0f}; };
    CHECK(released_positions(range, count_up(0, 4)) ==
          std::vector<double>{0, third(1), third(2), third(3), third(4), third(5)});
}

// floor(n / s) - 1 as the last position equals the one before it with s = 2, and lies below it with s = 3.
TEST_CASE("positions/released_sampler: the released end repeats or falls back, ours never does") {
    for (const index_t per_unit : {2, 3, 5}) {
        released_range range{.train_length = 8 * per_unit, .original_length = 8, .t = 2};
        const auto drawn = count_up(8 * per_unit, range.train_length - 2);  // the upper end of 0 ... n - 3
        CHECK(is_strictly_increasing(released_positions(range, drawn)));
        range.original_end = true;
        const auto original = released_positions(range, drawn);
        const double last = original.back(), before = original[original.size() - 2];
        if (per_unit == 2) CHECK(last == before);
        if (per_unit >= 3) CHECK(last < before);
        CHECK(last == 15.0);
    }
}

TEST_CASE("positions/released_sampler: drawn here they are increasing, distinct, in range, and their ends are fixed") {
    std::mt19937_64 generator(4);
    for (const index_t original_length : {16, 32, 64, 100}) {
        for (const index_t t : {1, 2, 7}) {
            const released_range range{.train_length = 64, .original_length = original_length, .t = t};
            const auto p = released_positions(generator, range);
            REQUIRE(p.size() == 64);
            REQUIRE(is_strictly_increasing(p));
            REQUIRE(p.front() == 0.0);
            const auto unit = static_cast<float>(range.per_unit());
            REQUIRE(p.back() == double{static_cast<float>(64 * t - 1) / unit});
        }
    }
    const auto shortest = released_positions(generator, {.train_length = 2, .original_length = 1, .t = 1});
    CHECK(shortest == std::vector<double>{0.0, 0.5});
}

TEST_CASE("positions/released_sampler: every draw between the ends is equally likely") {
    std::mt19937_64 generator(5);
    constexpr int draws = 20'000;
    std::vector<double> counts(20, 0.0);
    for (int i = 0; i < draws; ++i) {
        for (const double p : released_positions(generator, {.train_length = 5, .original_length = 5, .t = 4})) {
            counts[static_cast<std::size_t>(p)] += 1.0;
        }
    }
    CHECK(counts.front() == draws);
    CHECK(counts.back() == draws);
    for (std::size_t p = 1; p < 19; ++p) {  // 3 of 18
        CHECK(std::fabs(counts[p] / draws - 1.0 / 6.0) < 4 * std::sqrt(5.0 / 36.0 / draws));
    }
}

TEST_CASE("positions/released_sampler: whole t of 1 to max_factor are equally likely") {
    std::mt19937_64 generator(6);
    std::vector<double> counts(6, 0.0);
    for (int i = 0; i < 20'000; ++i) counts[static_cast<std::size_t>(sample_whole_ratio(generator, 5))] += 1.0;
    CHECK(counts[0] == 0.0);
    for (std::size_t t = 1; t <= 5; ++t) CHECK(std::fabs(counts[t] / 20'000 - 0.2) < 4 * std::sqrt(0.16 / 20'000));
    CHECK(sample_whole_ratio(generator, 1) == 1);
    CHECK_THROWS_WITH_AS(sample_whole_ratio(generator, 0), "sample_whole_ratio: max_factor 0 must be >= 1",
                         value_error);
}

TEST_CASE("positions/released_sampler: settings and draws out of their domain are named") {
    const auto drawn = count_up(0, 3);
    CHECK_THROWS_WITH_AS(released_positions({.train_length = 1, .original_length = 4}, {}),
                         "released_positions: train_length 1 must be >= 2", value_error);
    CHECK_THROWS_WITH_AS(released_positions({.train_length = 5, .original_length = 0}, drawn),
                         "released_positions: original_length 0 must be >= 1", value_error);
    CHECK_THROWS_WITH_AS(released_positions({.train_length = 5, .original_length = 5, .t = 0}, drawn),
                         "released_positions: t 0 must be >= 1", value_error);
    CHECK_THROWS_WITH_AS(released_positions({.train_length = 5, .original_length = 5, .t = index_t{1} << 52}, drawn),
                         "released_positions: t 4503599627370496 * train_length 5 must be at most 2^53", value_error);
    const released_range range{.train_length = 5, .original_length = 5, .t = 2};
    CHECK_THROWS_WITH_AS(released_positions(range, std::span(drawn).first(2)),
                         "released_positions: drawn size 2 must be train_length - 2 = 3", shape_error);
    const std::vector<index_t> repeated{1, 1, 2}, negative{-1, 0, 1}, beyond{0, 1, 8};
    CHECK_THROWS_WITH_AS(released_positions(range, repeated),
                         "released_positions: drawn 1 must be > 1, the draw before it, and <= train_length * t - 3 "
                         "= 7",
                         value_error);
    CHECK_THROWS_AS(released_positions(range, negative), value_error);
    CHECK_THROWS_AS(released_positions(range, beyond), value_error);
}

// Once they were quotients in double, which differ from the released ones unless the fraction is a float.
TEST_CASE("positions/released_sampler: the released float32 bits, also where draws are beyond 2^24") {
    const released_range sevenths{.train_length = 30, .original_length = 4, .t = 2};
    std::mt19937_64 generator(7);
    for (const double p : released_positions(generator, sevenths)) CHECK(p == double{static_cast<float>(p)});
    const released_range wide{.train_length = 4, .original_length = 1, .t = index_t{1} << 23};
    const std::vector<index_t> drawn{(index_t{1} << 24) + 1, (index_t{1} << 24) + 2};
    // torch 2.15.0: float(2^24 + 1) is 2^24, one more is 2^24 again; float(2^24 + 2) + 1 is a tie, to 2^24 + 4.
    CHECK(released_positions(wide, drawn) == std::vector<double>{0.0, 4194304.0, 4194305.0, 8388608.0});
}
