// SPDX-License-Identifier: MIT
// NTK-aware scaling, alpha_i = t^(-2i/(d-2)); a policy of the stage t -> log alpha.
#pragma once

#include <cmath>

#include "cordage/scaling/policy.hpp"

namespace cordage {

/// NTK-aware scaling (the CLEX paper calls it "Yarn", eq. 7): alpha_i(t) = t^(-2i/(d-2)), d = rotary_dim. Pair 0 keeps
/// its frequency and the last pair is divided by t. A rotary_dim of 2 has only pair 0, which keeps its frequency.
struct ntk_aware {
    double log_alpha(const rope_config& c, index_t pair, double t) const { return -exponent(c, pair) * std::log(t); }
    double log_alpha_rate(const rope_config& c, index_t pair, double t) const { return -exponent(c, pair) / t; }
    double log_alpha_curvature(const rope_config& c, index_t pair, double t) const {
        return exponent(c, pair) / (t * t);
    }

    /// 2i/(d-2), the power of 1/t.
    static double exponent(const rope_config& c, index_t pair) {
        return pair == 0 ? 0.0 : 2.0 * static_cast<double>(pair) / static_cast<double>(c.rotary_dim - 2);
    }
};
static_assert(scaling_policy<ntk_aware> && prior_policy<ntk_aware>);

}  // namespace cordage
