// SPDX-License-Identifier: MIT
#include "cordage/core/bits.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace cordage;

TEST_CASE("core/bits: is_finite is false for infinities and NaNs alone, under fast-math too") {
    for (const std::uint64_t sign : {0ull, 1ull << 63}) {
        for (const std::uint64_t fraction : {0ull, 1ull, 0x8'0000'0000'0000ull, 0xf'ffff'ffff'ffffull}) {
            CHECK_FALSE(is_finite(std::bit_cast<double>(sign | 0x7ff0'0000'0000'0000ull | fraction)));
            CHECK(is_finite(std::bit_cast<double>(sign | 0x7fe0'0000'0000'0000ull | fraction)));
            CHECK(is_finite(std::bit_cast<double>(sign | fraction)));
        }
    }
    for (const std::uint32_t sign : {0u, 1u << 31}) {
        for (const std::uint32_t fraction : {0u, 1u, 0x40'0000u, 0x7f'ffffu}) {
            CHECK_FALSE(is_finite(std::bit_cast<float>(sign | 0x7f80'0000u | fraction)));
            CHECK(is_finite(std::bit_cast<float>(sign | 0x7f00'0000u | fraction)));
            CHECK(is_finite(std::bit_cast<float>(sign | fraction)));
        }
    }
}

TEST_CASE("core/bits: multiply_wide agrees with the compiler's 128-bit product") {
    __extension__ using wide = unsigned __int128;
    constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
    std::mt19937_64 random(1);
    const auto check = [](std::uint64_t a, std::uint64_t b) {
        const wide expected = static_cast<wide>(a) * b;
        const wide_product found = multiply_wide(a, b);
        CHECK(found.low == static_cast<std::uint64_t>(expected));
        CHECK(found.high == static_cast<std::uint64_t>(expected >> 64));
        CHECK(multiply_high(a, b) == found.high);
        CHECK(multiply_high_alone(a, b) == found.high);
    };
    for (const std::uint64_t a : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0xffff'ffff}, largest}) {
        for (const std::uint64_t b : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32, largest}) check(a, b);
    }
    for (int i = 0; i < 1000; ++i) check(random() >> (random() % 64), random() >> (random() % 64));
}

TEST_CASE("core/bits: parts_of puts every finite double back together") {
    std::mt19937_64 random(2);
    const auto check = [](double x) {
        const binary64_parts parts = parts_of(x);
        CHECK(parts.mantissa < (std::uint64_t{1} << 53));
        CHECK(parts.negative == ((std::bit_cast<std::uint64_t>(x) >> 63) != 0));
        const double magnitude = std::ldexp(static_cast<double>(parts.mantissa), parts.exponent);
        CHECK(std::bit_cast<std::uint64_t>(parts.negative ? -magnitude : magnitude) == std::bit_cast<std::uint64_t>(x));
    };
    for (const double x : {0.0, 1.0, -1.0, 0.1, -3e300, 0x1p62, 0x1p-1022, 0x1.fffffffffffffp+1023}) check(x);
    for (int i = 0; i < 1000; ++i) {
        const double x = std::bit_cast<double>(random());
        if (is_finite(x) && std::fabs(x) >= 0x1p-1022) check(x);
    }
    constexpr binary64_parts subnormal = parts_of(0x1p-1074);  // at compile time: fast-math programs flush it to 0
    static_assert(subnormal.mantissa == 1 && subnormal.exponent == -1074);
}
