// SPDX-License-Identifier: MIT
// Sums over states and slopes, written so that compilers use vectors; serves the stage ode.
#pragma once

#include <cstddef>
#include <span>

namespace cordage::ode_detail {

/// to += factor * from
template <class Scalar>
void add_scaled(Scalar factor, std::span<const Scalar> from, std::span<Scalar> to) noexcept {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

/// out += factor * sum_j weights[j] slopes[j], each [out.size()], j = 0 ... weights.size()-1. A block of sums is kept
/// in registers while j runs. One function for all rules: their weights are numbers here.
template <class Scalar, class Pointer>
void add_slopes(Scalar factor, std::span<const Scalar> weights, const Pointer* slopes, std::span<Scalar> out) noexcept {
    constexpr std::size_t block = 32;
    std::size_t i = 0;
    for (; i + block <= out.size(); i += block) {
        Scalar sums[block] = {};
        for (std::size_t j = 0; j < weights.size(); ++j) {
            const Scalar weight = weights[j];
            if (weight == 0) continue;
            const Scalar* const slope = slopes[j] + i;
            for (std::size_t lane = 0; lane < block; ++lane) sums[lane] += weight * slope[lane];
        }
        for (std::size_t lane = 0; lane < block; ++lane) out[i + lane] += factor * sums[lane];
    }
    for (; i < out.size(); ++i) {
        Scalar sum = 0;
        for (std::size_t j = 0; j < weights.size(); ++j) {
            if (weights[j] != 0) sum += weights[j] * slopes[j][i];
        }
        out[i] += factor * sum;
    }
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

}  // namespace cordage::ode_detail
