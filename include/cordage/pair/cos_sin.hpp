// SPDX-License-Identifier: MIT
// cos and sin of a phase, in double and in lanes of floats; stage register layer.
#pragma once

#include <cstdint>

#include "cordage/pair/lane.hpp"
#include "cordage/pair/phase.hpp"

namespace cordage {

/// cos and sin of one angle, or of a vector of angles. T: a lane.
template <class T>
struct cos_sin {
    T cos;
    T sin;
};

namespace pair_detail {

/// cos and sin of quarter * pi/2 + x, |x| <= pi/4, within 2.2e-16: Taylor series to x^17 and x^16, whose next terms are
/// below 3e-18. Without a branch, so that a loop over pairs becomes vectors.
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr cos_sin<double> cos_sin_in_quarter(std::uint64_t quarter,
                                                                                       double x) noexcept {
    const double z = x * x;
    // 1/n! of alternating sign: (-1)^k / (2k+1)! and (-1)^k / (2k)!
    const double s =
        x + x * z *
                (-1.0 / 6 +
                 z * (1.0 / 120 +
                      z * (-1.0 / 5040 +
                           z * (1.0 / 362880 +
                                z * (-1.0 / 39916800 + z * (1.0 / 6227020800 + z * (-1.0 / 1307674368000 +
                                                                                    z * (1.0 / 355687428096000))))))));
    const double c =
        1.0 +
        z * (-1.0 / 2 +
             z * (1.0 / 24 + z * (-1.0 / 720 +
                                  z * (1.0 / 40320 + z * (-1.0 / 3628800 +
                                                          z * (1.0 / 479001600 + z * (-1.0 / 87178291200 +
                                                                                      z * (1.0 / 20922789888000))))))));
    const bool is_odd = (quarter & 1u) != 0;
    const double cos = is_odd ? s : c, sin = is_odd ? c : s;
    return {((quarter + 1u) & 2u) != 0 ? -cos : cos, (quarter & 2u) != 0 ? -sin : sin};
}

/// A phase as quarters of a turn and the rest in radians, at most pi/4.
struct reduced_angle {
    std::uint64_t quarter;
    double rest;
};
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr reduced_angle reduced(std::uint64_t phase) noexcept {
    const std::uint64_t quarter = (phase + 0x2000'0000'0000'0000u) >> 62;
    const auto rest = static_cast<std::int64_t>(phase - (quarter << 62));
    return {quarter, static_cast<double>(rest) * (0x1.921fb54442d18p+2 * 0x1p-64)};  // 2 pi / 2^64
}

}  // namespace pair_detail

/// cos and sin of phase * 2^-64 turn, within 2.2e-16. The nearest quarter turn is taken off in integers.
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr cos_sin<double> cos_sin_of_phase(std::uint64_t phase) noexcept {
    const auto at = pair_detail::reduced(phase);
    return pair_detail::cos_sin_in_quarter(at.quarter, at.rest);
}

/// cos and sin of an angle in radians, float or double, any |angle| <= 2^62: reduced as exactly as a basis is, and near
/// 0 with all digits of the sine.
template <class Real>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr cos_sin<double> cos_sin_of(Real angle) noexcept {
    const auto at = pair_detail::reduced(phase_of_angle(angle));
    const bool is_small = angle < Real(0.75) && angle > Real(-0.75);
    return pair_detail::cos_sin_in_quarter(at.quarter, is_small ? double{angle} : at.rest);  // quarter 0 if small
}

/// cos and sin of y turns, |y| <= 1/8, within 8e-8. With w = y^2 and minimax coefficients in turns
///
///   sin = y (2 pi + w (s1 + w (s2 + w s3)))      cos = 1 + w (c1 + w (c2 + w (c3 + w c4)))
///
/// where 2 pi is split in two floats, the larger one inside the last product. No sum that a compiler may contract or
/// reorder.
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

/// cos and sin of phase * 2^-32 turn in floats, within 8e-8; calls no sinf.
///
/// The nearest quarter turn comes off in integers: t = phase + 1/8 turn, its two upper bits are the quarter, and y =
/// phase - quarter is at most an eighth of a turn. Quarters swap cos and sin of y and flip their signs by bits.
template <class Lane>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE cos_sin<Lane> cos_sin_of_phase32(
    const typename lane_traits<Lane>::word& phase) noexcept {
    using lane = lane_traits<Lane>;
    using word = typename lane::word;
    const word t = phase + word(0x2000'0000u);
    const word quarter = t & word(0xc000'0000u);
    const cos_sin<Lane> at = cos_sin_of_turns(Lane(lane::from_signed(phase - quarter) * Lane(0x1p-32f)));
    const word c = lane::bits(at.cos), s = lane::bits(at.sin), top(0x8000'0000u);
    return {lane::from_bits(lane::where_bit(t, 30, s, c) ^ ((t + word(0x4000'0000u)) & top)),
            lane::from_bits(lane::where_bit(t, 30, c, s) ^ (t & top))};
}

}  // namespace cordage
