// SPDX-License-Identifier: MIT
// An element type and a format of a user.
#pragma once

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

}  // namespace mine

template <>
struct cordage::element_traits<mine::e4m3> {
    using compute = float;
    static float load(mine::e4m3 x) noexcept { return mine::wide(x); }
    static mine::e4m3 store(float x) noexcept { return mine::narrow(x); }
};
