// SPDX-License-Identifier: MIT
// Frequencies as exact fractions of a turn: an oscillator whose phase is an integer; stage theta -> basis.
#pragma once

#include <cmath>
#include <cstdint>

#include "cordage/core/bits.hpp"
#include "cordage/core/error.hpp"
#include "cordage/core/macros.hpp"

namespace cordage {

/// theta / 2 pi = whole + fraction * 2^-64 turns a position, rounded to the nearest 2^-64; fraction >= 0.
struct turns {
    std::int64_t whole = 0;
    std::uint64_t fraction = 0;

    friend constexpr bool operator==(const turns&, const turns&) = default;
    friend constexpr turns operator-(const turns& a, const turns& b) noexcept {
        const auto apart = static_cast<std::uint64_t>(a.whole) - static_cast<std::uint64_t>(b.whole);  // wraps
        return {static_cast<std::int64_t>(apart - (a.fraction < b.fraction ? 1u : 0u)), a.fraction - b.fraction};
    }
};

/// The largest |inv_freq| that turns_of takes, radians a position.
inline constexpr double largest_inv_freq = 0x1p62;

/// theta / 2 pi of a double theta, in integer arithmetic only: the 53 bits of theta times 128 bits of 1/2pi. Exact to
/// half a unit of 2^-64 turn, so that position * fraction mod 2^64 is the phase of position * theta within
/// 2 pi |position| 2^-65 rad (3.7e-10 at 2^31), and -ffast-math has nothing to reorder.
///
/// @param theta  finite, |theta| <= largest_inv_freq (precondition; `basis` checks it)
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr turns turns_of(double theta) noexcept {
    // 2^130 / (2 pi), rounded: 2/pi = 0.A2F9836E 4E441529 FC2757D1 F534DDC0 DB62...
    constexpr std::uint64_t inverse_high = 0xa2f9'836e'4e44'1529u, inverse_low = 0xfc27'57d1'f534'ddc1u;
    const binary64_parts parts = parts_of(theta);
    const wide_product low = multiply_wide(parts.mantissa, inverse_low);
    const wide_product high = multiply_wide(parts.mantissa, inverse_high);
    const std::uint64_t middle = low.high + high.low;
    // |theta| / 2 pi = product * 2^(exponent - 130) and a unit of the result is 2^-64, so the product moves right.
    const std::uint64_t top = high.high + (middle < high.low ? 1u : 0u);
    const int shift = 66 - parts.exponent;  // >= 56
    const auto limb = [&](int i) { return i == 0 ? low.low : i == 1 ? middle : i == 2 ? top : 0u; };
    const auto shifted = [&](int i) {  // bits [64 i + shift, 64 i + shift + 64) of the product
        const int word = i + shift / 64, bit = shift % 64;
        return bit == 0 ? limb(word) : (limb(word) >> bit) | (limb(word + 1) << (64 - bit));
    };
    const std::uint64_t round = (limb((shift - 1) / 64) >> ((shift - 1) % 64)) & 1u;
    std::uint64_t fraction = shifted(0) + round;
    std::uint64_t whole = shifted(1) + (fraction < round ? 1u : 0u);
    if (parts.negative) {
        fraction = ~fraction + 1u;
        whole = ~whole + (fraction == 0 ? 1u : 0u);
    }
    return {static_cast<std::int64_t>(whole), fraction};
}
static_assert(turns_of(0.0) == turns{0, 0});
static_assert(turns_of(1.0) == turns{0, 0x28be'60db'9391'054au});
static_assert(turns_of(-1.0) == turns{-1, ~0x28be'60db'9391'054au + 1u});

/// Phase of position * theta in units of 2^-64 turn: exact wrap-around of an integer product.
CORDAGE_ALWAYS_INLINE constexpr std::uint64_t phase_of(turns rate, std::int64_t position) noexcept {
    return rate.fraction * static_cast<std::uint64_t>(position);
}
/// The same.
CORDAGE_ALWAYS_INLINE constexpr std::uint64_t phase_of(turns rate, std::int32_t position) noexcept {
    return phase_of(rate, static_cast<std::int64_t>(position));
}

/// Phase of a fractional position, |position| < 2^63: integer part as above, the rest as a 64-bit fraction of a
/// position, whose whole turns count where theta >= 2 pi.
CORDAGE_ALWAYS_INLINE std::uint64_t phase_of(turns rate, double position) noexcept {
    const double magnitude = std::fabs(position);
    const auto steps = static_cast<std::uint64_t>(magnitude);
    const auto rest = static_cast<std::uint64_t>((magnitude - static_cast<double>(steps)) * 0x1p64);
    const std::uint64_t phase =
        rate.fraction * steps + multiply_high(rest, rate.fraction) + rest * static_cast<std::uint64_t>(rate.whole);
    return position < 0.0 ? ~phase + 1u : phase;
}
/// The same.
CORDAGE_ALWAYS_INLINE std::uint64_t phase_of(turns rate, float position) noexcept {
    return phase_of(rate, static_cast<double>(position));
}

}  // namespace cordage
