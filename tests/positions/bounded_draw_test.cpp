// SPDX-License-Identifier: MIT
#include "cordage/positions/sampler.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <random>

using namespace cordage;

namespace {
// Returns words from a list: tests draws of chosen bits.
struct scripted {
    using result_type = std::uint64_t;
    std::array<std::uint64_t, 3> words;
    std::size_t next = 0;
    static constexpr std::uint64_t min() { return 0; }
    static constexpr std::uint64_t max() { return std::numeric_limits<std::uint64_t>::max(); }
    std::uint64_t operator()() { return words[next++]; }
};
}  // namespace

TEST_CASE("positions/bounded_draw: an integer is the high half of word times bound, biased words are drawn again") {
    // bound 3: 2^64 mod 3 = 1, so only the word whose low half is 0 is rejected.
    scripted zero{{0, std::uint64_t{1} << 63, 7}};
    CHECK(draw_below(zero, 3) == 1);
    CHECK(zero.next == 2);
    scripted top{{~std::uint64_t{0}, 0, 0}};
    CHECK(draw_below(top, 3) == 2);
    scripted one{{123, 0, 0}};
    CHECK(draw_below(one, 1) == 0);
    scripted power{{std::uint64_t{5} << 60, 0, 0}};  // a power of two rejects nothing
    CHECK(draw_below(power, 16) == 5);
}

TEST_CASE("positions/bounded_draw: every integer below the bound is equally likely") {
    std::mt19937_64 generator(7);
    std::array<int, 7> counts{};
    constexpr int expected = 10'000;
    for (int i = 0; i < 7 * expected; ++i) ++counts[draw_below(generator, 7)];
    double chi_squared = 0.0;
    for (const int count : counts) chi_squared += (count - expected) * (count - expected) / double{expected};
    CHECK(chi_squared < 22.5);  // six degrees of freedom: exceeded once in a thousand seeds, and the seed is fixed
}

TEST_CASE("positions/bounded_draw: a real has 53 random bits between low and high") {
    scripted ends{{0, ~std::uint64_t{0}, std::uint64_t{1} << 63}};
    CHECK(draw_real(ends, 2.0, 6.0) == 2.0);
    CHECK(draw_real(ends, 2.0, 6.0) <= 6.0);
    CHECK(draw_real(ends, 2.0, 6.0) == 4.0);
    scripted last_bit{{std::uint64_t{1} << 11}};
    CHECK(draw_real(last_bit, 0.0, 1.0) == 0x1p-53);
    std::mt19937_64 generator(8);
    double sum = 0.0;
    for (int i = 0; i < 10'000; ++i) sum += draw_real(generator, -1.0, 1.0);
    CHECK(std::fabs(sum / 10'000) < 4 * 0.577 / 100);  // four standard deviations of the mean
}
