// SPDX-License-Identifier: MIT
// cos and sin of up to an eighth of a turn as polynomials in floats; serves the backends' angles.
#pragma once

#include "cordage/core/macros.hpp"

namespace cordage {

/// cos and sin of y turns, |y| <= 1/8, within 8e-8. With w = y^2 and minimax coefficients in turns
///
///   sin = y (2 pi + w (s1 + w (s2 + w s3)))      cos = 1 + w (c1 + w (c2 + w (c3 + w c4)))
///
/// where 2 pi is split in two floats, the larger one inside the last fma. Without a sum that a compiler may contract or
/// reorder.
///
/// @tparam Real  float, or a vector of floats that is made from one
/// @param fused  fused(a, b, c) = a b + c, rounded once
template <class Real, class Fused>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE void cos_sin_polynomial(const Real& y, const Fused& fused, Real& cos,
                                                                  Real& sin) noexcept {
    const Real w = y * y;
    const Real s3 = fused(w, Real(-0x1.2d7a86p+6f), Real(0x1.465e3p+6f));
    const Real s2 = fused(w, s3, Real(-0x1.4abbbap+5f));
    const Real s1 = fused(w, s2, Real(-0x1.777a5cp-23f));
    sin = fused(y, Real(0x1.921fb6p+2f), y * s1);
    const Real c4 = fused(w, Real(0x1.d9f7bcp+5f), Real(-0x1.55c664p+6f));
    const Real c3 = fused(w, c4, Real(0x1.03c1dep+6f));
    const Real c2 = fused(w, c3, Real(-0x1.3bd3ccp+4f));
    cos = fused(w, c2, Real(1.0f));
}

}  // namespace cordage
