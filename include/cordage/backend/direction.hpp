// SPDX-License-Identifier: MIT
// The three linear maps that share the rotation's loops; serves all backends.
#pragma once

#include "cordage/core/macros.hpp"

namespace cordage::backend {

/// y = m R(angle) x.
struct forward {
    static constexpr int sine_sign = 1;
    static constexpr bool divides_by_factor = false;
    /// Factor on m cos and m sin.
    CORDAGE_HOST_DEVICE static constexpr double extra_factor(double) noexcept { return 1.0; }
};

/// grad_x = m R(-angle) grad_y, the transpose of the forward map.
struct adjoint {
    static constexpr int sine_sign = -1;
    static constexpr bool divides_by_factor = false;
    CORDAGE_HOST_DEVICE static constexpr double extra_factor(double) noexcept { return 1.0; }
};

/// x = R(-angle) y / m. cos and sin already contain m, hence 1/m^2.
struct inverse {
    static constexpr int sine_sign = -1;
    static constexpr bool divides_by_factor = true;  ///< whether extra_factor depends on m
    CORDAGE_HOST_DEVICE static constexpr double extra_factor(double m) noexcept { return 1.0 / (m * m); }
};

}  // namespace cordage::backend
