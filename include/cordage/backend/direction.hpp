// SPDX-License-Identifier: MIT
// The three linear maps that share the rotation's loops; serves all backends.
#pragma once

#include "cordage/core/macros.hpp"

namespace cordage::backend {

/// A direction as data, for kernels that serve all three.
struct direction_data {
    int sine_sign;           ///< of the angle
    bool divides_by_factor;  ///< whether extra_factor depends on m

    /// Factor on m cos and m sin, which contain m: 1 / m^2 for a division by m.
    CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr double extra_factor(double m) const noexcept {
        return divides_by_factor ? 1.0 / (m * m) : 1.0;
    }
};

/// A direction as a type.
template <int SineSign, bool DividesByFactor>
struct direction_of {
    static constexpr direction_data data{SineSign, DividesByFactor};
    static constexpr int sine_sign = SineSign;
    CORDAGE_HOST_DEVICE static constexpr double extra_factor(double m) noexcept {
        return direction_data{SineSign, DividesByFactor}.extra_factor(m);
    }
};

/// y = m R(angle) x.
struct forward : direction_of<1, false> {};
/// grad_x = m R(-angle) grad_y, the transpose of the forward map.
struct adjoint : direction_of<-1, false> {};
/// x = R(-angle) y / m.
struct inverse : direction_of<-1, true> {};

}  // namespace cordage::backend
