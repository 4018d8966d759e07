// SPDX-License-Identifier: MIT
// No scaling at all, alpha = 1; a policy of the stage t -> log alpha.
#pragma once

#include "cordage/scaling/policy.hpp"

namespace cordage {

/// alpha_i(t) = 1: the basis the model was trained with, at every length (Su et al. 2021).
struct unscaled {
    double log_alpha(const rope_config&, index_t, double) const { return 0.0; }
    double log_alpha_rate(const rope_config&, index_t, double) const { return 0.0; }
    double log_alpha_curvature(const rope_config&, index_t, double) const { return 0.0; }
};
static_assert(scaling_policy<unscaled> && prior_policy<unscaled>);

}  // namespace cordage
