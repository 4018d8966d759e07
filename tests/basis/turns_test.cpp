// SPDX-License-Identifier: MIT
#include "cordage/pair/phase.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>

#include "basis/exact_phase.hpp"
#include "tolerances.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

// |phase_of - exact| in units of 2^-64 turn, the short way round.
template <class Position>
double error(double theta, Position position) {
    const std::uint64_t apart = phase_of(turns_of(theta), position) - exact_phase(position, theta);
    return std::fabs(static_cast<double>(static_cast<std::int64_t>(apart)));
}
template <class Position>
void check(double theta, Position position) {
    CAPTURE(theta);
    CAPTURE(position);
    const double cut = std::is_integral_v<Position> ? 0.0 : std::fabs(theta) * turns_cut_per_radian;
    const double bound = turns_per_position * std::fabs(static_cast<double>(position)) + turns_per_call + cut;
    CHECK(error(theta, position) <= bound);
}

// Frequencies of models, then exotic ones: negative, whole turns and more a position, tiny, enormous.
const std::vector<double> frequencies{1.0,     0.8659643233600653,
                                      0.01,    1.1547819846894582e-4,
                                      3e-7,    -0.5,
                                      6.5,     100.25,
                                      -7.0,    6.283185307179586,
                                      0x1p61,  0x1p62,
                                      -0x1p62, 1e-300,
                                      0.0};

}  // namespace

TEST_CASE("basis/turns: the reference itself knows easy phases") {
    CHECK(exact_phase(1, 1.0) == 0x28be'60db'9391'054au);  // 1 / 2 pi
    CHECK(exact_phase(-1, 1.0) == ~std::uint64_t{0x28be'60db'9391'054au} + 1u);
    CHECK(exact_phase(0.5, 0.5) == 0x28be'60db'9391'054au / 4);
    CHECK(exact_phase(0, 3.0) == 0);
    CHECK(std::fabs(static_cast<double>(exact_angle(3, 1.0)) - 3.0) < 1e-15);
}

TEST_CASE("basis/turns: whole positions, negative ones too, within half a unit a position") {
    for (const double theta : frequencies) {
        for (const std::int32_t p : {0, 1, -1, 7, 4095, 131071, 1 << 24, std::numeric_limits<std::int32_t>::max(),
                                     std::numeric_limits<std::int32_t>::min()}) {
            check(theta, p);
            CHECK(phase_of(turns_of(theta), p) == phase_of(turns_of(theta), std::int64_t{p}));
        }
        for (const std::int64_t p : {std::int64_t{1} << 31, std::int64_t{1} << 40, (std::int64_t{1} << 53) + 1,
                                     -(std::int64_t{1} << 60), std::numeric_limits<std::int64_t>::max()}) {
            check(theta, p);
        }
    }
}

TEST_CASE("basis/turns: fractional positions, whole turns counted where theta passes 2 pi") {
    std::mt19937_64 random(4);
    for (const double theta : frequencies) {
        for (const double p : {0.5, -0.5, 0.1, 1e-9, 1e-300, 12345.678, -131071.0625, 2147483647.5, 0x1p52 + 0.5}) {
            check(theta, p);
        }
        for (int i = 0; i < 100; ++i) {
            check(theta, std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -34));
        }
        for (const float p : {0.25f, -3.75f, 16777215.0f, 0x1.8p30f}) check(theta, p);
    }
}

TEST_CASE("basis/turns: a whole position has the same phase as integer, float and double") {
    for (const double theta : frequencies) {
        const turns rate = turns_of(theta);
        for (const std::int32_t p : {0, 1, -1, 4096, -16777216}) {
            CHECK(phase_of(rate, static_cast<double>(p)) == phase_of(rate, p));
            CHECK(phase_of(rate, static_cast<float>(p)) == phase_of(rate, p));
        }
        CHECK(phase_of(rate, 2147483647.0) == phase_of(rate, std::int64_t{2147483647}));
    }
}

TEST_CASE("basis/turns: phases add up and wrap around as integers do") {
    const turns rate = turns_of(0.7);
    constexpr std::int64_t far = std::int64_t{1} << 55;
    CHECK(phase_of(rate, far + 17) - phase_of(rate, far) == phase_of(rate, 17));
    CHECK(phase_of(rate, -far) == ~phase_of(rate, far) + 1u);
}

TEST_CASE("basis/turns: whole and fraction of theta / 2 pi, rounded towards minus infinity for the whole") {
    CHECK(turns_of(7.0).whole == 1);
    CHECK(turns_of(-7.0).whole == -2);
    CHECK(turns_of(-7.0).fraction == ~turns_of(7.0).fraction + 1u);
    CHECK(turns_of(-0.0) == turns{0, 0});
    static_assert(turns_of(0x1p-1074) == turns{0, 0});  // at compile time, where no flag flushes it
    CHECK(turns_of(0x1p62).whole == static_cast<std::int64_t>(0x1p62 / 6.283185307179586476925286766559L));
}

TEST_CASE("basis/turns: differences of any number of changes wrap around, whole turns too") {
    constexpr turns least{std::numeric_limits<std::int64_t>::min(), 0}, one{1, 1};
    static_assert(least - one == turns{std::numeric_limits<std::int64_t>::max() - 1, ~std::uint64_t{0}});
}
