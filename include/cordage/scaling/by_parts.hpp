// SPDX-License-Identifier: MIT
// NTK-by-parts with a ramp over the number of rotations, Llama-3's rule; a policy of the stage t -> log alpha.
#pragma once

#include <cmath>
#include <numbers>

#include "cordage/scaling/policy.hpp"

namespace cordage {

/// The formula of all "by parts" policies: alpha(t) = r/t + 1 - r with a share r in [0, 1] that does not depend on t.
/// The frequency is unchanged for r = 0; r = 1 is position interpolation.
struct interpolated_share {
    double r;

    /// 1 / alpha = 1 + r (t - 1) / (r + (1 - r) t), without cancellation at any t.
    double log_alpha(double t) const { return -std::log1p(r * (t - 1.0) / (r + (1.0 - r) * t)); }
    /// d log alpha / dt = -(r/t^2) / alpha
    double rate(double t) const { return -r / (t * (r + (1.0 - r) * t)); }
};

/// Pairs that rotate at least `rotations_high` times over the original length keep their frequency, pairs that rotate
/// at most `rotations_low` times are interpolated (1/t), and in between the share falls linearly in the number of
/// rotations original_length / wavelength (YaRN, Peng et al. 2023, eq. 17-18, without its temperature).
///
/// Llama 3.1's rope type "llama3" is this rule with low_freq_factor = rotations_low and high_freq_factor =
/// rotations_high, at t = factor; the defaults are Llama 3.1's, and `llama3` is an alias. Equal limits, as in Llama 4
/// Scout, give a step; a pair with exactly that many rotations keeps its frequency. (The ramp of `yarn` is linear in
/// the pair instead.)
struct by_parts {
    double rotations_low = 1.0;
    double rotations_high = 4.0;

    double log_alpha(const rope_config& c, index_t pair, double t) const { return share(c, pair).log_alpha(t); }
    double log_alpha_rate(const rope_config& c, index_t pair, double t) const { return share(c, pair).rate(t); }

    /// 1: the pair is fully interpolated; 0: it is unchanged.
    interpolated_share share(const rope_config& c, index_t pair) const {
        const double rotations = c.original_length * c.inv_freq(pair) / (2.0 * std::numbers::pi);
        if (rotations >= rotations_high) return {0.0};
        return {rotations <= rotations_low ? 1.0 : (rotations_high - rotations) / (rotations_high - rotations_low)};
    }

    void validate(const rope_config&) const {
        validate_number({"by_parts: rotations_low"}, rotations_low, rotations_low >= 0.0, {">= 0"});
        validate_number({"by_parts: rotations_high"}, rotations_high, rotations_high >= rotations_low,
                        {">= rotations_low ", rotations_low});
    }
};
static_assert(scaling_policy<by_parts> && prior_policy<by_parts>);

/// The rope type "llama3" of config files: llama3{low_freq_factor, high_freq_factor} on fixed{factor}.
using llama3 = by_parts;

}  // namespace cordage
