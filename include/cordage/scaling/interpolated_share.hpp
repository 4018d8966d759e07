// SPDX-License-Identifier: MIT
// The form that all "by parts" policies share: a fixed share of each pair is interpolated; stage t -> log alpha.
#pragma once

#include <cmath>

namespace cordage {

/// alpha(t) = r/t + 1 - r, for a share r in [0, 1] that does not depend on t: r = 0 leaves the pair as it was, r = 1 is
/// position interpolation.
struct interpolated_share {
    double r;

    /// 1 / alpha = 1 + r (t - 1) / (r + (1 - r) t), which cancels nothing at any t.
    double log_alpha(double t) const { return -std::log1p(r * (t - 1.0) / (r + (1.0 - r) * t)); }
    /// d log alpha / dt = -(r/t^2) / alpha
    double rate(double t) const { return -r / (t * (r + (1.0 - r) * t)); }
    /// d2 log alpha / dt2 = alpha''/alpha - (alpha'/alpha)^2, and alpha''/alpha' = -2/t
    double curvature(double t) const { return rate(t) * (-2.0 / t - rate(t)); }
};

}  // namespace cordage
