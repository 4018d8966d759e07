// SPDX-License-Identifier: MIT
// Resonance: wavelengths rounded to whole positions, over any policy: a policy of one's own that holds another.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cordage/scaling/masked.hpp"
#include "cordage/scaling/policy.hpp"
#include "cordage/scaling/power_laws.hpp"

namespace own {

using cordage::index_t, cordage::log_alpha_unrotated, cordage::rope_config;

/// Resonance RoPE (Wang et al. 2024): every wavelength 2 pi / theta_i(t) of another policy is rounded to a whole number
/// of positions (at least 1), so that the angles of a pair repeat exactly and new positions give no new angles.
///
///   resonance<yarn>{}            // Resonance YaRN
///   resonance<>{}                // Resonance RoPE
///
/// Rounding is piecewise constant, so log_alpha_rate is the inner policy's (a straight-through estimate). As a prior of
/// CLEX the result is therefore rounded at t = 1 only. Pairs that the inner policy does not rotate are not rotated.
template <class Policy = cordage::unscaled>
struct resonance {
    static_assert(cordage::has_log_alpha<Policy> && cordage::has_log_alpha_rate<Policy>,
                  "own::resonance: Policy needs 'double log_alpha(const rope_config&, index_t pair, double t) const' "
                  "and 'double log_alpha_rate' alike; docs/extending.md");

    Policy policy = {};
    static constexpr bool jumps = cordage::has_jump<Policy>;  // rounding is not counted

    double log_alpha(const rope_config& c, index_t pair, double t) const {
        const double inner = policy.log_alpha(c, pair, t);
        if (inner <= log_alpha_unrotated / 2.0) return inner;
        const double wavelength = 2.0 * std::numbers::pi / (std::exp(inner) * c.inv_freq(pair));
        const double rounded = std::max(1.0, std::round(wavelength));
        return std::log(2.0 * std::numbers::pi / (rounded * c.inv_freq(pair)));
    }
    double log_alpha_rate(const rope_config& c, index_t pair, double t) const {
        return policy.log_alpha_rate(c, pair, t);
    }
    double attention_factor(const rope_config& c, double t) const { return cordage::attention_factor(policy, c, t); }
    double attention_factor_rate(const rope_config& c, double t) const {
        return cordage::attention_factor_rate(policy, c, t);
    }
    void validate(const rope_config& c) const { cordage::validate(policy, c); }
};
static_assert(cordage::scaling_policy<resonance<>> && cordage::prior_policy<resonance<>>);

}  // namespace own
