// SPDX-License-Identifier: MIT
// An element type and a format of a user.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "cordage/pair/format.hpp"

namespace mine {

/// fp8, 4 bits of exponent and 3 of fraction, no infinity (OCP 8-bit floating point).
struct e4m3 {
    std::uint8_t bits;
};
inline float wide(e4m3 x) {
    const int exponent = (x.bits >> 3) & 15, fraction = x.bits & 7;
    const float size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                                     : std::ldexp(1.0f + static_cast<float>(fraction) / 8.0f, exponent - 7);
    return (x.bits & 0x80u) != 0 ? -size : size;
}
inline e4m3 narrow(float x) {
    std::uint8_t best = 0;  // by searching all numbers: slow and simple
    for (std::uint8_t bits = 0; bits < 0x7f; ++bits) {
        const float here = std::fabs(wide({bits}) - std::fabs(x)), found = std::fabs(wide({best}) - std::fabs(x));
        if (here < found || (here == found && (bits & 1u) == 0)) best = bits;
    }
    return {static_cast<std::uint8_t>(best | (std::signbit(x) ? 0x80u : 0u))};
}

/// int8 with a scale in the view.
struct scaled_int8 {
    using compute = float;
    float scale;
    float load(std::int8_t x) const noexcept { return scale * static_cast<float>(x); }
    std::int8_t store(float x) const noexcept {
        return static_cast<std::int8_t>(std::nearbyint(std::fmax(-127.0f, std::fmin(127.0f, x / scale))));
    }
    friend bool operator==(const scaled_int8&, const scaled_int8&) = default;
};

/// A number in units of 2^-20 that is made by name only.
struct fixed20 {
    explicit fixed20(std::int64_t n) : units(n) {}
    std::int64_t units;
};

/// Float whose stored numbers have 10 bits of fraction.
struct short_float {
    using compute = float;
    static float load(float x) noexcept { return x; }
    static float store(float x) noexcept {
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffff'e000u);
    }
    friend bool operator==(const short_float&, const short_float&) = default;
};

}  // namespace mine

template <>
struct cordage::element_traits<mine::fixed20> {
    using compute = float;
    static float load(mine::fixed20 x) noexcept { return static_cast<float>(x.units) * 0x1p-20f; }
    static mine::fixed20 store(float x) noexcept {
        return mine::fixed20(static_cast<std::int64_t>(std::nearbyint(x * 0x1p20f)));
    }
};
template <>
struct cordage::element_traits<mine::e4m3> {
    using compute = float;
    static float load(mine::e4m3 x) noexcept { return mine::wide(x); }
    static mine::e4m3 store(float x) noexcept { return mine::narrow(x); }
};
