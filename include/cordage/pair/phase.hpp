// SPDX-License-Identifier: MIT
// Frequencies and angles as exact fractions of a turn, and the phase of a position as an integer; register layer.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "cordage/core/bits.hpp"
#include "cordage/core/macros.hpp"

namespace cordage {

/// theta / 2 pi = whole + fraction * 2^-64 turns per position, rounded to the nearest 2^-64; fraction >= 0.
struct turns {
    std::int64_t whole = 0;
    std::uint64_t fraction = 0;

    CORDAGE_HOST_DEVICE friend constexpr bool operator==(const turns& a, const turns& b) noexcept {
        return a.whole == b.whole && a.fraction == b.fraction;
    }
};

/// 2^130 / (2 pi), rounded: 2/pi = 0.A2F9836E 4E441529 FC2757D1 F534DDC0 DB62...
inline constexpr wide_product inverse_two_pi{0xa2f9'836e'4e44'1529u, 0xfc27'57d1'f534'ddc1u};

/// Largest |inv_freq| that turns_of accepts, radians per position.
inline constexpr double largest_inv_freq = 0x1p62;

/// theta / 2 pi of a double theta, in integer arithmetic only: the 53 bits of theta times 128 bits of 1/2pi. Exact to
/// half a unit of 2^-64 turn, so that position * fraction mod 2^64 is the phase of position * theta within
/// 2 pi |position| 2^-65 rad (3.7e-10 at 2^31). Integer arithmetic is unaffected by -ffast-math.
///
/// @param theta  finite, |theta| <= largest_inv_freq (`basis` checks it; another number, which kernels on a device may
///               have, gives turns without meaning)
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr turns turns_of(double theta) noexcept {
    const binary64_parts parts = parts_of(theta);
    const wide_product low = multiply_wide(parts.mantissa, inverse_two_pi.low);
    const wide_product high = multiply_wide(parts.mantissa, inverse_two_pi.high);
    const std::uint64_t middle = low.high + high.low;
    // |theta| / 2 pi = product * 2^(exponent - 130) and the unit of the result is 2^-64, so the product is shifted
    // right.
    const std::uint64_t top = high.high + (middle < high.low ? 1u : 0u);
    const int shift = parts.exponent < 66 ? 66 - parts.exponent : 1;  // >= 56 for valid theta
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

/// A position of any type: steps + rest * 2^-64, negated where is_negative. An integer position is steps alone, modulo
/// 2^64.
struct split_position {
    std::uint64_t steps;
    std::uint64_t rest = 0;
    bool is_negative = false;
    bool is_valid = true;  ///< false for NaN, infinity and magnitudes of 2^63 and more

    CORDAGE_HOST_DEVICE constexpr bool is_whole() const noexcept { return rest == 0 && !is_negative && is_valid; }
};

/// The properties of a position type. Specialise it for a type of your own (a fixed-point number, a 16-bit index):
///
///   split(p)   p as an integer and a fraction, exactly; also callable on a device
///   value(p)   the nearest double, for gradients and messages
template <class P>
struct position_traits;

/// Positions of int32 and int64, all of which are valid.
template <class P>
inline constexpr bool is_integer_position = std::signed_integral<P> && (sizeof(P) == 4 || sizeof(P) == 8);

template <class P>
    requires is_integer_position<P>
struct position_traits<P> {
    CORDAGE_HOST_DEVICE static constexpr split_position split(P p) noexcept {
        return {static_cast<std::uint64_t>(std::int64_t{p})};
    }
    CORDAGE_HOST_DEVICE static constexpr double value(P p) noexcept { return static_cast<double>(p); }
};
template <std::floating_point P>
    requires(sizeof(P) <= 8)
struct position_traits<P> {
    CORDAGE_HOST_DEVICE static constexpr split_position split(P p) noexcept {
        const double magnitude = p < P(0) ? -double{p} : double{p};
        if (!is_finite(double{p}) || !(magnitude < 0x1p63)) return {0, 0, false, false};
        const auto steps = static_cast<std::uint64_t>(magnitude);
        const auto rest = static_cast<std::uint64_t>((magnitude - static_cast<double>(steps)) * 0x1p64);
        if (rest == 0) return {p < P(0) ? ~steps + 1u : steps};
        return {steps, rest, p < P(0)};
    }
    CORDAGE_HOST_DEVICE static constexpr double value(P p) noexcept { return double{p}; }
};

/// A position in a sequence: int32, int64, float, double, or a type with position_traits of its own. Negative and
/// fractional positions are valid; NaN and infinity are not.
template <class P>
concept position_type = requires(P p) {
    { position_traits<P>::split(p) } -> std::same_as<split_position>;
    { position_traits<P>::value(p) } -> std::same_as<double>;
};
static_assert(position_type<std::int32_t> && position_type<std::int64_t> && position_type<float> &&
              position_type<double>);

/// Phase of position * theta in units of 2^-64 turn, theta / 2 pi = whole + fraction * 2^-64 turns. For integer
/// positions an integer product with exact wrap-around; of fractional positions, digits below 2^-64 are truncated.
///
/// @tparam High  returns the upper half of a product: multiply_high in loops that compilers vectorise
/// @param whole  points to the whole turns; not read for integer positions
template <auto High = multiply_high_alone>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr std::uint64_t phase_of(const split_position& p,
                                                                           std::uint64_t fraction,
                                                                           const std::uint64_t* whole) noexcept {
    std::uint64_t phase = p.steps * fraction;
    if (p.rest != 0) phase += High(p.rest, fraction) + p.rest * *whole;
    return p.is_negative ? ~phase + 1u : phase;
}
/// As above, of one frequency and a position of any type.
template <position_type P>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr std::uint64_t phase_of(const turns& rate, P position) noexcept {
    const auto whole = static_cast<std::uint64_t>(rate.whole);
    return phase_of(position_traits<P>::split(position), rate.fraction, &whole);
}

/// The phases of one position at every frequency of a basis. A view: holds pointers to the basis.
struct position_phases {
    split_position position;
    const std::uint64_t* fractions;    ///< [pairs]
    const std::uint64_t* whole_turns;  ///< [pairs]

    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE std::uint64_t phase(std::int64_t pair) const noexcept {
        return phase_of<multiply_high>(position, fractions[pair], whole_turns + pair);
    }
};

/// Phase of an angle in radians, |angle| <= 2^62, within 2^-65 turn.
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr std::uint64_t phase_of_angle(double angle) noexcept {
    return turns_of(angle).fraction;
}

#if !defined(__CUDA_ARCH__)
namespace pair_detail {

/// The value of the last bit of a float in units of 2^-96 turn, modulo one turn, for each exponent of a float.
struct turns_of_bit {
    std::uint64_t high;
    std::uint32_t low;
};
inline constexpr std::array<turns_of_bit, 256> turns_of_last_bit = [] {
    const auto shifted = [](int right) -> std::uint64_t {  // the low 64 bits of 2^130 / 2 pi, shifted right
        const auto [high, low] = inverse_two_pi;
        if (right <= 0) return low << -right;
        if (right < 64) return (low >> right) | (high << (64 - right));
        return right < 128 ? high >> (right - 64) : 0;
    };
    std::array<turns_of_bit, 256> turns{};
    for (int exponent = 1; exponent <= 189; ++exponent) {  // the bit is 2^(exponent - 150)
        turns[static_cast<std::size_t>(exponent)] = {shifted(66 + 150 - exponent),
                                                     static_cast<std::uint32_t>(shifted(34 + 150 - exponent))};
    }
    return turns;
}();

}  // namespace pair_detail
#endif

/// Phase of an angle in float32, |angle| <= 2^62, within 2^-64 turn: its 24-bit significand times the value of the last
/// bit in turns.
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr std::uint64_t phase_of_angle(float angle) noexcept {
#if defined(__CUDA_ARCH__)
    return phase_of_angle(double{angle});
#else
    const auto bits = __builtin_bit_cast(std::uint32_t, angle);
    const auto& last_bit = pair_detail::turns_of_last_bit[(bits >> 23) & 0xffu];  // 0 for subnormal numbers
    const std::uint64_t mantissa = (bits & 0x007f'ffffu) | 0x0080'0000u;
    const std::uint64_t phase = last_bit.high * mantissa + ((last_bit.low * mantissa) >> 32);
    return (bits >> 31) != 0 ? ~phase + 1u : phase;
#endif
}

}  // namespace cordage
