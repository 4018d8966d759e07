// SPDX-License-Identifier: MIT
// cos and sin of a phase, in double and in lanes of floats; register layer.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cordage/pair/lane.hpp"
#include "cordage/pair/phase.hpp"

namespace cordage {

/// cos and sin of one angle, or of a vector of angles. T: a lane type.
template <class T>
struct cos_sin {
    T cos;
    T sin;
};

namespace pair_detail {

/// cos and sin of an angle plus the quarter turns in the two upper bits of t; Top is the upper one of these bits.
/// Quarter turns swap cos and sin and change their signs, done on bits.
template <int Top, class Lane>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr cos_sin<Lane> plus_quarter_turns(
    const typename lane_traits<Lane>::word& t, const cos_sin<Lane>& at) noexcept {
    using lane = lane_traits<Lane>;
    using word = typename lane::word;
    using number = std::conditional_t<Top == 31, std::uint32_t, std::uint64_t>;
    const word c = lane::bits(at.cos), s = lane::bits(at.sin), top(number{1} << Top), quarter(number{1} << (Top - 1));
    return {lane::from_bits(lane::where_bit(t, Top - 1, s, c) ^ ((t + quarter) & top)),
            lane::from_bits(lane::where_bit(t, Top - 1, c, s) ^ (t & top))};
}

/// cos and sin of x, |x| <= pi/4, within 2.2e-16: Taylor series to x^17 and x^16, truncation below 3e-18.
/// Lanes of doubles.
template <class Lane>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr cos_sin<Lane> cos_sin_of_small(const Lane& x) noexcept {
    const Lane z = x * x;
    const auto sum = [&z](double c0, const Lane& rest)  // c0 + z rest
        CORDAGE_ALWAYS_INLINE_LAMBDA { return lane_traits<Lane>::multiply_add(z, rest, Lane(c0)); };
    // 1/n! of alternating sign: (-1)^k / (2k+1)! and (-1)^k / (2k)!
    const Lane s5 = sum(-1.0 / 39916800, sum(1.0 / 6227020800, sum(-1.0 / 1307674368000, Lane(1.0 / 355687428096000))));
    const Lane s1 = sum(-1.0 / 6, sum(1.0 / 120, sum(-1.0 / 5040, sum(1.0 / 362880, s5))));
    const Lane c5 = sum(-1.0 / 3628800, sum(1.0 / 479001600, sum(-1.0 / 87178291200, Lane(1.0 / 20922789888000))));
    const Lane c1 = sum(-1.0 / 2, sum(1.0 / 24, sum(-1.0 / 720, sum(1.0 / 40320, c5))));
    return {sum(1.0, c1), lane_traits<Lane>::multiply_add(x * z, s1, x)};
}

/// The nearest quarter of a turn to a phase, in the two upper bits of t, and the remainder in radians, at most pi/4.
template <class Lane>
struct reduced_angle {
    typename lane_traits<Lane>::word quarters;
    Lane rest;
};
template <class Lane>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr reduced_angle<Lane> reduced(
    const typename lane_traits<Lane>::word& phase) noexcept {
    using word = typename lane_traits<Lane>::word;
    const word t = phase + word(std::uint64_t{1} << 61);
    const word rest = phase - (t & word(std::uint64_t{3} << 62));
    return {t, lane_traits<Lane>::from_signed(rest) * Lane(0x1.921fb54442d18p+2 * 0x1p-64)};  // 2 pi / 2^64
}

}  // namespace pair_detail

/// cos and sin of phase * 2^-64 turn, within 2.2e-16, for one phase or a vector of them. The nearest quarter turn is
/// subtracted in integers.
template <class Lane = double>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr cos_sin<Lane> cos_sin_of_phase(
    const typename lane_traits<Lane>::word& phase) noexcept {
    const auto at = pair_detail::reduced<Lane>(phase);
    return pair_detail::plus_quarter_turns<63>(at.quarters, pair_detail::cos_sin_of_small(at.rest));
}

/// cos and sin of an angle in radians, float or double, |angle| <= 2^62. Argument reduction is as exact as that of a
/// basis; near 0 the sine keeps full relative precision.
template <class Real>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr cos_sin<double> cos_sin_of(Real angle) noexcept {
    const auto at = pair_detail::reduced<double>(phase_of_angle(angle));
    const bool is_small = angle < Real(0.75) && angle > Real(-0.75);  // no reduction needed
    return pair_detail::plus_quarter_turns<63>(at.quarters,
                                               pair_detail::cos_sin_of_small(is_small ? double{angle} : at.rest));
}

/// cos and sin of y turns, |y| <= 1/8, within 8e-8. With w = y^2 and minimax coefficients, in turns:
///
///   sin = y (2 pi + w (s1 + w (s2 + w s3)))      cos = 1 + w (c1 + w (c2 + w (c3 + w c4)))
///
/// 2 pi is split into two floats, the larger one inside the last product. The result does not depend on how a compiler
/// contracts or reorders sums.
template <class Lane>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE cos_sin<Lane> cos_sin_of_turns(const Lane& y) noexcept {
    using lane = lane_traits<Lane>;
    const Lane w = y * y;
    const Lane s3 = lane::fused(w, Lane(-0x1.2d7a86p+6f), Lane(0x1.465e3p+6f));
    const Lane s2 = lane::fused(w, s3, Lane(-0x1.4abbbap+5f));
    const Lane s1 = lane::fused(w, s2, Lane(-0x1.777a5cp-23f));
    const Lane c4 = lane::fused(w, Lane(0x1.d9f7bcp+5f), Lane(-0x1.55c664p+6f));
    const Lane c3 = lane::fused(w, c4, Lane(0x1.03c1dep+6f));
    const Lane c2 = lane::fused(w, c3, Lane(-0x1.3bd3ccp+4f));
    return {lane::fused(w, c2, Lane(1.0f)), lane::fused(y, Lane(0x1.921fb6p+2f), y * s1)};
}

/// cos and sin of phase * 2^-32 turn in floats, within 8e-8; does not call sinf.
///
/// The nearest quarter turn is subtracted in integers: t = phase + 1/8 turn, its two upper bits are the quarter, and y
/// = phase - quarter is at most an eighth of a turn.
template <class Lane>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE cos_sin<Lane> cos_sin_of_phase32(
    const typename lane_traits<Lane>::word& phase) noexcept {
    using lane = lane_traits<Lane>;
    using word = typename lane::word;
    const word t = phase + word(0x2000'0000u);
    const word quarter = t & word(0xc000'0000u);
    const cos_sin<Lane> at = cos_sin_of_turns(Lane(lane::from_signed(phase - quarter) * Lane(0x1p-32f)));
    return pair_detail::plus_quarter_turns<31>(t, at);
}
/// Takes the upper word of a phase, not its 64 bits, of which it would read the lower word.
template <class Lane>
cos_sin<Lane> cos_sin_of_phase32(std::uint64_t) = delete;  // write static_cast<std::uint32_t>(phase >> 32)

}  // namespace cordage
