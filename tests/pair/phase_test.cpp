// SPDX-License-Identifier: MIT
#include "cordage/pair/phase.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>

#include "pair/exact_phase.hpp"
#include "tolerances.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

// |phase_of - exact| in units of 2^-64 turn, modulo one turn.
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

// Frequencies of models, then unusual ones: negative, a turn and more per position, tiny, enormous.
const std::vector<double> frequencies{1.0,     0.8659643233600653,
                                      0.01,    1.1547819846894582e-4,
                                      3e-7,    -0.5,
                                      6.5,     100.25,
                                      -7.0,    6.283185307179586,
                                      0x1p61,  0x1p62,
                                      -0x1p62, 1e-300,
                                      0.0};

}  // namespace

TEST_CASE("pair/phase: the reference is correct for simple phases") {
    CHECK(exact_phase(1, 1.0) == 0x28be'60db'9391'054au);  // 1 / 2 pi
    CHECK(exact_phase(-1, 1.0) == ~std::uint64_t{0x28be'60db'9391'054au} + 1u);
    CHECK(exact_phase(0.5, 0.5) == 0x28be'60db'9391'054au / 4);
    CHECK(exact_phase(0, 3.0) == 0);
    CHECK(std::fabs(static_cast<double>(exact_angle(3, 1.0)) - 3.0) < 1e-15);
}

TEST_CASE("pair/phase: whole positions, negative ones too, within half a unit a position") {
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

TEST_CASE("pair/phase: fractional positions, whole turns counted where theta passes 2 pi") {
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

TEST_CASE("pair/phase: a whole position has the same phase as integer, float and double") {
    for (const double theta : frequencies) {
        const turns rate = turns_of(theta);
        for (const std::int32_t p : {0, 1, -1, 4096, -16777216}) {
            CHECK(phase_of(rate, static_cast<double>(p)) == phase_of(rate, p));
            CHECK(phase_of(rate, static_cast<float>(p)) == phase_of(rate, p));
        }
        CHECK(phase_of(rate, 2147483647.0) == phase_of(rate, std::int64_t{2147483647}));
    }
}

TEST_CASE("pair/phase: phases add up and wrap around as integers do") {
    const turns rate = turns_of(0.7);
    constexpr std::int64_t far = std::int64_t{1} << 55;
    CHECK(phase_of(rate, far + 17) - phase_of(rate, far) == phase_of(rate, 17));
    CHECK(phase_of(rate, -far) == ~phase_of(rate, far) + 1u);
}

TEST_CASE("pair/phase: whole and fraction of theta / 2 pi, rounded towards minus infinity for the whole") {
    CHECK(turns_of(7.0).whole == 1);
    CHECK(turns_of(-7.0).whole == -2);
    CHECK(turns_of(-7.0).fraction == ~turns_of(7.0).fraction + 1u);
    CHECK(turns_of(-0.0) == turns{0, 0});
    // What a device cannot refuse is defined, or this would not compile.
    static_assert((turns_of(0x1p63), turns_of(__builtin_bit_cast(double, 0x7ff0'0000'0000'0000u)), true));
    static_assert(turns_of(0x1p-1074) == turns{0, 0});  // at compile time, where no flag flushes it
    CHECK(turns_of(0x1p62).whole == static_cast<std::int64_t>(0x1p62 / 6.283185307179586476925286766559L));
}

TEST_CASE("pair/phase: NaN and infinite positions are invalid, and the farthest finite ones are valid") {
    const auto is_valid = [](auto p) { return position_traits<decltype(p)>::split(p).is_valid; };
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(), 0x1p63, -0x1p63, 1e300}) {
        CHECK_FALSE(is_valid(bad));
        CHECK_FALSE(is_valid(static_cast<float>(bad)));
    }
    CHECK(is_valid(-0x1.fffffffffffffp62));
    CHECK(is_valid(std::numeric_limits<double>::denorm_min()));
    CHECK(is_valid(std::numeric_limits<std::int64_t>::min()));
    const split_position whole = position_traits<double>::split(-3.0), part = position_traits<double>::split(-3.25);
    CHECK((whole.steps == ~std::uint64_t{3} + 1u && whole.rest == 0 && !whole.is_negative));
    CHECK((part.steps == 3 && part.rest == std::uint64_t{1} << 62 && part.is_negative));
    CHECK(position_traits<std::int32_t>::value(-7) == -7.0);
}

namespace {

// |phase_of_angle - exact| in units of 2^-64 turn.
template <class Real>
double angle_error(Real angle) {
    const std::uint64_t apart = phase_of_angle(angle) - exact_phase(1, angle);
    return std::fabs(static_cast<double>(static_cast<std::int64_t>(apart)));
}

}  // namespace

TEST_CASE("pair/phase: an angle in radians has its phase, a float or a double of any size to 2^62") {
    std::mt19937_64 random(5);
    for (int exponent = -149; exponent <= 62; ++exponent) {
        for (int i = 0; i < 40; ++i) {
            const double mantissa = i == 0 ? 1.0 : 1.0 + static_cast<double>(random() >> 12) * 0x1p-52;
            if (exponent == 62 && i > 0) break;
            const double angle = std::ldexp(i % 2 == 0 ? mantissa : -mantissa, exponent);
            const auto in_float = static_cast<float>(angle);
            CAPTURE(angle);
            REQUIRE(angle_error(angle) <= turns_per_position + 1.0);
            REQUIRE(angle_error(in_float) <= 2.0);
            // Both reach the same angle by different tables.
            const std::uint64_t apart = phase_of_angle(in_float) - phase_of_angle(static_cast<double>(in_float));
            REQUIRE(std::abs(static_cast<std::int64_t>(apart)) <= 2);
        }
    }
    for (const float tiny : {0.0f, -0.0f, 0x1p-149f, -0x1p-149f, 0x1.fffffcp-127f, 0x1p-126f}) {
        CHECK(phase_of_angle(tiny) == (tiny < 0.0f ? phase_of_angle(-tiny) * ~std::uint64_t{0} : 0u));
    }
    CHECK(phase_of_angle(1.0f) == 0x28be'60db'9391'054au);
    CHECK(phase_of_angle(-1.0f) == ~std::uint64_t{0x28be'60db'9391'054au} + 1u);
    static_assert(phase_of_angle(1.0) == 0x28be'60db'9391'054au);
}

// A 16.16 fixed-point number and a 16-bit index, as in a host.
namespace {

struct fixed_point {
    std::int32_t bits;
};
struct short_index {
    std::int16_t bits;
};

}  // namespace

template <>
struct cordage::position_traits<fixed_point> {
    static constexpr split_position split(fixed_point p) noexcept {
        const auto magnitude =
            p.bits < 0 ? 0u - static_cast<std::uint32_t>(p.bits) : static_cast<std::uint32_t>(p.bits);
        return {magnitude >> 16, std::uint64_t{magnitude & 0xffffu} << 48, p.bits < 0};
    }
    static constexpr double value(fixed_point p) noexcept { return static_cast<double>(p.bits) / 65536.0; }
};
template <>
struct cordage::position_traits<short_index> {
    static constexpr split_position split(short_index p) noexcept {
        return {static_cast<std::uint64_t>(std::int64_t{p.bits})};
    }
    static constexpr double value(short_index p) noexcept { return static_cast<double>(p.bits); }
};
static_assert(position_type<fixed_point> && position_type<short_index>);
static_assert(!position_type<short> && !position_type<std::uint32_t> && !position_type<long double>);

TEST_CASE("pair/phase: a position type of one's own has the phase of the same number") {
    std::mt19937 random(6);
    for (const double theta : frequencies) {
        const turns rate = turns_of(theta);
        for (int i = 0; i < 100; ++i) {
            const fixed_point p{static_cast<std::int32_t>(random())};
            REQUIRE(phase_of(rate, p) == phase_of(rate, position_traits<fixed_point>::value(p)));
            const short_index s{static_cast<std::int16_t>(random())};
            REQUIRE(phase_of(rate, s) == phase_of(rate, std::int32_t{s.bits}));
        }
    }
}
