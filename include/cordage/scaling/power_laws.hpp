// SPDX-License-Identifier: MIT
// Policies whose alpha_i is a power of t or of a factor on the base; stage t -> log alpha.
#pragma once

#include <cmath>

#include "cordage/scaling/policy.hpp"

namespace cordage {

/// alpha_i(t) = 1: the basis of training, at every length (Su et al. 2021).
struct unscaled {
    double log_alpha(const rope_config&, index_t, double) const { return 0.0; }
    double log_alpha_rate(const rope_config&, index_t, double) const { return 0.0; }
};
static_assert(scaling_policy<unscaled> && prior_policy<unscaled>);

/// Position Interpolation ("linear" in config files; Chen et al. 2023): alpha_i(t) = 1/t for every pair. Equivalent to
/// dividing positions by t (CLEX, Theorem 1).
struct linear {
    double log_alpha(const rope_config&, index_t, double t) const { return -std::log(t); }
    double log_alpha_rate(const rope_config&, index_t, double t) const { return -1.0 / t; }
};
static_assert(scaling_policy<linear> && prior_policy<linear>);

/// NTK-aware scaling ("Yarn" in the CLEX paper, after its eq. 5 and 8): alpha_i(t) = t^(-2i/(d-2)), d = rotary_dim.
/// Pair 0 keeps its frequency and the last pair is divided by t. A rotary_dim of 2 has only pair 0, which keeps its
/// frequency.
struct ntk_aware {
    double log_alpha(const rope_config& c, index_t pair, double t) const { return -exponent(c, pair) * std::log(t); }
    double log_alpha_rate(const rope_config& c, index_t pair, double t) const { return -exponent(c, pair) / t; }

    /// 2i/(d-2), the exponent of 1/t.
    static double exponent(const rope_config& c, index_t pair) {
        return pair == 0 ? 0.0 : 2.0 * static_cast<double>(pair) / static_cast<double>(c.rotary_dim - 2);
    }
};
static_assert(scaling_policy<ntk_aware> && prior_policy<ntk_aware>);

/// Base change (CodeLLaMA, "CL-Scaling" in the CLEX paper, ABF): theta_base is multiplied by base_factor, so
/// alpha_i = base_factor^(-2i/d), independent of t; alpha(1) is not 1.
struct base_change {
    double base_factor = 100.0;  ///< new base / old base; CodeLLaMA: 10^6 / 10^4

    double log_alpha(const rope_config& c, index_t pair, double) const {
        return -2.0 * static_cast<double>(pair) / static_cast<double>(c.rotary_dim) * std::log(base_factor);
    }
    double log_alpha_rate(const rope_config&, index_t, double) const { return 0.0; }

    void validate(const rope_config&) const { validate_positive({"base_change: base_factor"}, base_factor); }
};
static_assert(scaling_policy<base_change> && prior_policy<base_change>);

}  // namespace cordage
