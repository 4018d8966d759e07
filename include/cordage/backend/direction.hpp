// SPDX-License-Identifier: MIT
// The three linear maps that share the rotation's kernels; serves all backends.
#pragma once

#include "cordage/angles/cos_sin.hpp"

namespace cordage::backend {

/// y = m R(phi) x.
struct forward {
    template <class T>
    static constexpr cos_sin<T> turn(cos_sin<T> a) noexcept {
        return a;
    }
    static constexpr double extra_factor(double) noexcept { return 1.0; }
};

/// grad_x = m R(-phi) grad_y, the transpose of the forward map.
struct adjoint {
    template <class T>
    static constexpr cos_sin<T> turn(cos_sin<T> a) noexcept {
        return {a.cos, -a.sin};
    }
    static constexpr double extra_factor(double) noexcept { return 1.0; }
};

/// x = R(-phi) y / m. The source's cos and sin carry m already, hence 1/m^2.
struct inverse : adjoint {
    static constexpr double extra_factor(double m) noexcept { return 1.0 / (m * m); }
};

}  // namespace cordage::backend
