// SPDX-License-Identifier: MIT
#include "cordage/pair/format.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "cordage/core/bits.hpp"

using namespace cordage;

namespace {

// A binary format given by its two sizes, from the standard's definition in double arithmetic.
struct format {
    int exponent_bits;
    int fraction_bits;

    std::uint32_t infinity() const { return ((1u << exponent_bits) - 1u) << fraction_bits; }
    double value(std::uint32_t magnitude) const {  // finite, no sign
        const int bias = (1 << (exponent_bits - 1)) - 1;
        const auto exponent = static_cast<int>(magnitude >> fraction_bits);
        const auto fraction = static_cast<double>(magnitude & ((1u << fraction_bits) - 1u));
        const double scaled = std::ldexp(fraction, -fraction_bits);
        return exponent == 0 ? std::ldexp(scaled, 1 - bias) : std::ldexp(1.0 + scaled, exponent - bias);
    }
    // Nearest, ties to even, by searching all numbers of the format; infinity is one step past the largest.
    std::uint32_t nearest(double x) const {
        std::uint32_t low = 0, high = infinity();
        while (high - low > 1) {
            const std::uint32_t middle = (low + high) / 2;
            (value(middle) <= x ? low : high) = middle;
        }
        const double above = value(high), below = value(low);
        if (x >= above) return high;
        if (x - below == above - x) return low % 2 == 0 ? low : high;
        return x - below < above - x ? low : high;
    }
};
constexpr format half{5, 10}, brain{8, 7};

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
bool is_nan(std::uint16_t bits, format f) { return (bits & 0x7fffu) > f.infinity(); }

// Every interesting float near a 16-bit number: itself, the tie above it, and their neighbours.
template <class Check>
void near_every_number(format f, Check check) {
    for (std::uint32_t magnitude = 0; magnitude < f.infinity(); ++magnitude) {
        const double here = f.value(magnitude), next = f.value(magnitude + 1);
        for (const double x : {here, 0.5 * here + 0.5 * next}) {
            const std::uint32_t bits = bits_of(static_cast<float>(x));
            for (const std::uint32_t near : {bits - (bits > 0 ? 1u : 0u), bits, bits + 1}) check(near);
        }
    }
}

}  // namespace

TEST_CASE("pair/format: all 65536 halves have their exact value as floats and come back unchanged") {
    for (std::uint32_t bits = 0; bits < 0x1'0000u; ++bits) {
        const auto x = float16::from_bits(static_cast<std::uint16_t>(bits));
        const float wide = to_float(x);
        const std::uint32_t magnitude = bits & 0x7fffu;
        REQUIRE((bits_of(wide) >> 31) == (bits >> 15));
        if (magnitude < half.infinity()) {
            REQUIRE(std::fabs(static_cast<double>(wide)) == half.value(magnitude));
            REQUIRE(to_float16(wide).bits == bits);
        } else if (magnitude == half.infinity()) {
            REQUIRE((bits_of(wide) & 0x7fff'ffffu) == 0x7f80'0000u);
            REQUIRE(to_float16(wide).bits == bits);
        } else {
            REQUIRE((bits_of(wide) & 0x7fff'ffffu) > 0x7f80'0000u);
            REQUIRE(is_nan(to_float16(wide).bits, half));
        }
    }
}

TEST_CASE("pair/format: all 65536 bfloat16 are the upper half of a float and come back unchanged") {
    for (std::uint32_t bits = 0; bits < 0x1'0000u; ++bits) {
        const auto x = bfloat16::from_bits(static_cast<std::uint16_t>(bits));
        REQUIRE(bits_of(to_float(x)) == bits << 16);
        if (is_nan(x.bits, brain)) {
            REQUIRE(is_nan(to_bfloat16(to_float(x)).bits, brain));
        } else {
            REQUIRE(to_bfloat16(to_float(x)).bits == bits);
        }
    }
}

TEST_CASE("pair/format: rounding to half is to nearest, ties to even, at and around every number and tie") {
    near_every_number(half, [](std::uint32_t bits) {
        const float x = std::bit_cast<float>(bits);
        const std::uint32_t expected = half.nearest(static_cast<double>(x));
        REQUIRE(to_float16(x).bits == expected);
        REQUIRE(to_float16(std::bit_cast<float>(bits | 0x8000'0000u)).bits == (expected | 0x8000u));
    });
}

TEST_CASE("pair/format: rounding to bfloat16 is to nearest, ties to even, at and around every normal number and tie") {
    near_every_number(brain, [](std::uint32_t bits) {
        if (bits < 0x0080'0000u || bits >= 0x7f80'0000u) return;  // subnormal floats: below, by bits
        const std::uint32_t expected = brain.nearest(static_cast<double>(std::bit_cast<float>(bits)));
        REQUIRE(to_bfloat16(std::bit_cast<float>(bits)).bits == expected);
        REQUIRE(to_bfloat16(std::bit_cast<float>(bits | 0x8000'0000u)).bits == (expected | 0x8000u));
    });
    // A subnormal float is an integer of 2^-149, and a bfloat16 there one of 2^-133: rounding bits is rounding numbers.
    for (std::uint32_t bits = 0; bits < 0x0080'0000u; bits += 0x1003u) {
        const std::uint32_t down = bits >> 16, rest = bits & 0xffffu;
        const std::uint32_t up = rest > 0x8000u || (rest == 0x8000u && down % 2 == 1) ? 1u : 0u;
        REQUIRE(to_bfloat16(std::bit_cast<float>(bits)).bits == down + up);
    }
}

TEST_CASE("pair/format: random floats of every size round as the slow reference does") {
    std::mt19937_64 random(16);
    for (int i = 0; i < 200'000; ++i) {
        const auto bits = static_cast<std::uint32_t>(random()) & 0x7fff'ffffu;
        const float x = std::bit_cast<float>(bits);
        if (!is_finite(x) || bits < 0x0080'0000u) continue;
        REQUIRE(to_float16(x).bits == half.nearest(static_cast<double>(x)));
        REQUIRE(to_bfloat16(x).bits == brain.nearest(static_cast<double>(x)));
    }
}

TEST_CASE("pair/format: overflow is infinity, a NaN stays a quiet NaN: of its sign in float16, the one of bfloat16") {
    CHECK(to_float16(65504.0f).bits == 0x7bffu);
    CHECK(to_float16(65519.996f).bits == 0x7bffu);
    CHECK(to_float16(65520.0f).bits == 0x7c00u);
    CHECK(to_float16(-1e30f).bits == 0xfc00u);
    CHECK(to_bfloat16(0x1.fffffep+127f).bits == 0x7f80u);
    CHECK(to_float16(0x1p-25f).bits == 0);  // a tie with zero
    CHECK(to_float16(0x1.000002p-25f).bits == 1);
    for (const std::uint32_t nan : {0x7f80'0001u, 0x7fc0'0000u, 0x7fff'ffffu, 0xff80'0001u, 0xffff'ffffu}) {
        const auto sign = static_cast<std::uint16_t>((nan >> 16) & 0x8000u);
        const std::uint16_t h = to_float16(std::bit_cast<float>(nan)).bits,
                            b = to_bfloat16(std::bit_cast<float>(nan)).bits;
        CHECK((is_nan(h, half) && (h & 0x200u) != 0 && (h & 0x8000u) == sign));
        CHECK(b == 0xffc0u);  // what every backend stores
    }
}

TEST_CASE("pair/format: a host's own 16-bit type becomes an element by its traits") {
    static_assert(!element<short> && !element<int> && !element<long double>);
    static_assert(std::same_as<compute_of<float16>, float> && std::same_as<compute_of<double>, double>);
    CHECK(element_traits<float16>::store(element_traits<float16>::load(float16::from_bits(0x3c01u))).bits == 0x3c01u);
}
