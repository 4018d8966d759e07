// SPDX-License-Identifier: MIT
// cos and sin of a phase in turns, exact to the last bits of a double; stage angles.
#pragma once

#include <cstdint>

#include "cordage/basis/turns.hpp"
#include "cordage/core/macros.hpp"

namespace cordage {

/// cos and sin of one angle, of type T.
template <class T>
struct cos_sin {
    T cos;
    T sin;
};

/// cos and sin of phase * 2^-64 turn, within 2.2e-16. The nearest quarter turn is taken off in integers; what is left,
/// |x| <= pi/4, goes through the Taylor series to x^17 and x^16, whose next terms are below 3e-18.
CORDAGE_ALWAYS_INLINE cos_sin<double> cos_sin_of_phase(std::uint64_t phase) noexcept {
    constexpr double radians = 0x1.921fb54442d18p+2 * 0x1p-64;  // 2 pi / 2^64
    const std::uint64_t quarter = (phase + 0x2000'0000'0000'0000u) >> 62;
    const double x = static_cast<double>(static_cast<std::int64_t>(phase - (quarter << 62))) * radians;
    const double z = x * x;
    constexpr auto term = [](double inner, double square, double divisor) { return 1.0 - square * inner / divisor; };
    double s = 1.0, c = 1.0;
    for (int n = 16; n >= 2; n -= 2) s = term(s, z, n * (n + 1.0));
    for (int n = 16; n >= 2; n -= 2) c = term(c, z, n * (n - 1.0));
    s *= x;
    switch (quarter & 3u) {
        case 0:
            return {c, s};
        case 1:
            return {-s, c};
        case 2:
            return {-c, -s};
        default:
            return {s, -c};
    }
}

/// cos and sin of an angle in radians, any finite |angle| <= 2^62: reduced as exactly as a basis is.
CORDAGE_ALWAYS_INLINE cos_sin<double> cos_sin_of(double angle) noexcept {
    return cos_sin_of_phase(turns_of(angle).fraction);
}

}  // namespace cordage
