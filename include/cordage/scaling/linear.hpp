// SPDX-License-Identifier: MIT
// Position interpolation, alpha = 1/t; a policy of the stage t -> log alpha.
#pragma once

#include <cmath>

#include "cordage/scaling/policy.hpp"

namespace cordage {

/// Position Interpolation ("linear" in config files; Chen et al. 2023): alpha_i(t) = 1/t for every pair. By Theorem 1
/// of the CLEX paper the same as dividing positions by t.
struct linear {
    double log_alpha(const rope_config&, index_t, double t) const { return -std::log(t); }
    double log_alpha_rate(const rope_config&, index_t, double t) const { return -1.0 / t; }
    double log_alpha_curvature(const rope_config&, index_t, double t) const { return 1.0 / (t * t); }
};
static_assert(scaling_policy<linear> && prior_policy<linear>);

}  // namespace cordage
