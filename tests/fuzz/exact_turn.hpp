// SPDX-License-Identifier: MIT
// cos and sin of position * theta in 113 bits, fast enough for a fuzzer; independent of the library's turns.
#pragma once

#include <cmath>

namespace fuzz {

using quad = __float128;

/// cos and sin of one angle, and the error bound of the arithmetic here, in radians.
struct turn {
    long double cos, sin;
    double lost;
};

/// x in radians, |x| < 2^126, modulo a turn.
inline quad reduced(quad x) {
    constexpr quad two_pi = 6.283185307179586476925286766559005768Q;
    return x - two_pi * static_cast<quad>(static_cast<__int128>(x / two_pi));
}

/// A product of two doubles is exact in 113 bits. The subtracted whole turns are rounded, with a relative error of
/// 2^-110.
inline turn turn_of(double position, double theta) {
    const quad angle = static_cast<quad>(position) * static_cast<quad>(theta);
    const auto rest = static_cast<long double>(reduced(angle));
    return {std::cos(rest), std::sin(rest), std::fabs(position * theta) * 0x1p-109};
}

/// As above, of position * (to - from).
inline turn turn_between(double position, double from, double to) {
    const quad p = static_cast<quad>(position);
    const auto rest =
        static_cast<long double>(reduced(p * static_cast<quad>(to)) - reduced(p * static_cast<quad>(from)));
    return {std::cos(rest), std::sin(rest), (std::fabs(position * to) + std::fabs(position * from)) * 0x1p-109};
}

}  // namespace fuzz
