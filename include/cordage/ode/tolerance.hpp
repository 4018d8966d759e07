// SPDX-License-Identifier: MIT
// How large an error may be, and how large one is against that; serves the stage ode.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>

#include "cordage/core/bits.hpp"
#include "cordage/core/error.hpp"

namespace cordage {

/// The error allowed in each entry of a step: absolute + relative * max(|z|, |z_next|).
struct tolerance {
    double relative = 1e-8;
    double absolute = 1e-8;
};

/// Throws value_error unless both are finite and > 0.
inline void validate(const char* who, const tolerance& allowed) {
    if (!is_finite(allowed.relative) || !(allowed.relative > 0.0)) {
        fail<value_error>({who, ": tolerance.relative ", allowed.relative, " must be finite and > 0"});
    }
    if (!is_finite(allowed.absolute) || !(allowed.absolute > 0.0)) {
        fail<value_error>({who, ": tolerance.absolute ", allowed.absolute, " must be finite and > 0"});
    }
}

/// Root mean square of x over the error allowed between the states z and z_next. 1 is just allowed.
template <class Scalar>
double scaled_norm(const tolerance& allowed, std::span<const Scalar> x, std::span<const Scalar> z,
                   std::span<const Scalar> z_next) noexcept {
    if (x.empty()) return 0.0;
    constexpr std::size_t lanes = 8;  // running sums, so that compilers use vectors
    double sums[lanes] = {};
    const auto square = [&](std::size_t i) {
        const double size = std::max(std::abs(double{z[i]}), std::abs(double{z_next[i]}));
        const double ratio = double{x[i]} / (allowed.absolute + allowed.relative * size);
        return ratio * ratio;
    };
    const std::size_t whole = x.size() / lanes * lanes;
    for (std::size_t i = 0; i < whole; i += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += square(i + lane);
    }
    for (std::size_t i = whole; i < x.size(); ++i) sums[0] += square(i);
    return std::sqrt(std::accumulate(sums, sums + lanes, 0.0) / static_cast<double>(x.size()));
}

}  // namespace cordage
