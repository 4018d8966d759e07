// SPDX-License-Identifier: MIT
// Sums over states, written so that compilers use vectors; serves the stage ode.
#pragma once

#include <cstddef>
#include <span>

namespace cordage {

/// to += factor * from
template <class Scalar>
void add_scaled(Scalar factor, std::span<const Scalar> from, std::span<Scalar> to) noexcept {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

/// sum_i x[i] y[i] in eight running sums: one would wait for itself, and the compiler may not split it.
template <class X, class Y>
X dot(std::span<const X> x, const Y* y) noexcept {
    constexpr std::size_t lanes = 8;
    X sums[lanes] = {};
    const std::size_t whole = x.size() / lanes * lanes;
    for (std::size_t i = 0; i < whole; i += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += x[i + lane] * static_cast<X>(y[i + lane]);
    }
    for (std::size_t i = whole; i < x.size(); ++i) sums[0] += x[i] * static_cast<X>(y[i]);
    for (std::size_t half = lanes / 2; half > 0; half /= 2) {
        for (std::size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
    }
    return sums[0];
}

}  // namespace cordage
