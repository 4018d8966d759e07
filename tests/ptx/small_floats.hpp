// SPDX-License-Identifier: MIT
// Floating types of 16 and 8 bits, which cvt converts: their numbers as doubles, and back by rounding to nearest, ties
// to even.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ptx/types.hpp"

namespace cordage_test::ptx {

/// Largest: the bits of the largest number, which infinity follows if there is one. Larger numbers become infinity or,
/// if Saturates, the largest. NaN has all bits but the sign.
template <int ExponentBits, int MantissaBits, u32 Largest, bool HasInfinity, bool Saturates>
struct small_float {
    using storage = std::conditional_t<ExponentBits + MantissaBits == 7, u8, u16>;

    storage bits;

    operator double() const {
        const u32 magnitude = bits & (sign_bit - 1);
        const double sign = (bits & sign_bit) != 0 ? -1.0 : 1.0;
        if (HasInfinity && magnitude == Largest + 1) return sign * std::numeric_limits<double>::infinity();
        if (magnitude > Largest) return std::numeric_limits<double>::quiet_NaN();
        const u32 exponent = magnitude >> MantissaBits, mantissa = magnitude & ((1u << MantissaBits) - 1);
        const u32 digits = exponent == 0 ? mantissa : mantissa + (1u << MantissaBits);
        return sign * std::ldexp(static_cast<double>(digits), static_cast<int>(std::max(exponent, 1u)) + least - 1);
    }

    static small_float nearest(double x) {
        const u32 sign = std::signbit(x) ? sign_bit : 0;
        if (std::isnan(x)) return {static_cast<storage>(sign_bit - 1)};
        return {static_cast<storage>(sign | std::min(magnitude_of(std::fabs(x)), Largest + (Saturates ? 0 : 1)))};
    }

 private:
    static constexpr u32 sign_bit = 1u << (ExponentBits + MantissaBits);
    static constexpr int least = 2 - (1 << (ExponentBits - 1)) - MantissaBits;  // 2^least is the smallest number

    static u32 magnitude_of(double x) {
        if (x == 0.0) return 0;
        if (x >= 0x1p128) return Largest + 1;
        int exponent = 0;
        std::frexp(x, &exponent);
        const int unit = std::max(exponent - 1 - MantissaBits, least);  // of the last place
        return static_cast<u32>(std::nearbyint(std::ldexp(x, -unit))) +
               (static_cast<u32>(unit - least) << MantissaBits);
    }
};

using f16 = small_float<5, 10, 0x7bff, true, false>;
using bf16 = small_float<8, 7, 0x7f7f, true, false>;
using e4m3 = small_float<4, 3, 0x7e, false, true>;  // with .satfinite, which cvt to it has
using e5m2 = small_float<5, 2, 0x7b, true, true>;

/// A float as bf16, by its bits: most results of kernels are stored so.
inline bf16 nearest_bf16(float x) {
    const u32 bits = std::bit_cast<u32>(x);
    return {static_cast<u16>(x != x ? 0x7fffu : (bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
inline float float_of(bf16 x) { return std::bit_cast<float>(u32{x.bits} << 16); }

template <class T>
inline constexpr bool is_small_float = std::same_as<T, f16> || std::same_as<T, bf16>;

}  // namespace cordage_test::ptx
