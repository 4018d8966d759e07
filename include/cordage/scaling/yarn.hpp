// SPDX-License-Identifier: MIT
// YaRN as in its code and Hugging Face configs: a ramp over pairs and a temperature; stage t -> log alpha.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/policy.hpp"

namespace cordage {

/// The ends of YaRN's ramp as fractional pair indices. Never equal, since `at` divides by their difference.
struct yarn_ramp {
    double low;
    double high;

    /// 0 for pairs <= low, 1 for pairs >= high, linear in between. If low > high, the ramp falls from 1 to 0.
    double at(index_t pair) const { return std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0); }
};

/// The ramp between the pairs that rotate `beta_fast` and `beta_slow` times over original_length:
///
///   pair(beta) = d ln(original_length / (2 pi beta)) / (2 ln theta_base)
///
/// rounded outwards if `truncate`; then low is at least 0 and high at most `last`, and if both are equal, high is
/// increased by 0.001.
inline yarn_ramp ramp_of_rotations(const rope_config& c, double beta_fast, double beta_slow, bool truncate,
                                   double last) {
    const auto pair_of_rotations = [&](double beta) {
        return static_cast<double>(c.rotary_dim) * std::log(c.original_length / (beta * 2.0 * std::numbers::pi)) /
               (2.0 * std::log(c.theta_base));
    };
    double low = pair_of_rotations(beta_fast), high = pair_of_rotations(beta_slow);
    if (truncate) low = std::floor(low), high = std::ceil(high);
    low = std::max(low, 0.0);
    high = std::min(high, last);
    if (low == high) high += 0.001;  // as the reference: a step instead of a division by zero
    return {low, high};
}

/// YaRN (Peng et al. 2023) as in the authors' code and transformers' "yarn". Pairs up to `low` keep their frequency,
/// pairs from `high` on are interpolated (1/t), and in between the share is linear in the pair index. ramp_of_rotations
/// gives both limits, with last = d-1 as in the reference code (not d/2-1). If original_length is far below 2 pi
/// beta_slow, no pair is interpolated; if it is so large that every pair rotates more than beta_fast times, every pair
/// may be (low > high), as in the reference code.
///
/// The factor on cos and sin, m(t), is the first of these that applies:
///   the given number                                        if `given_attention_factor`
///   g(t, mscale) / g(t, mscale_all_dim)                     if neither of the two is 0 (DeepSeek, Ministral 3)
///   g(t, 1)                                                 else; g(t, s) = 0.1 s ln t + 1
///
/// On the schedule `fixed` this is "yarn" of config files; on `continuous` it is dynamic YaRN.
struct yarn {
    double beta_fast = 32.0;
    double beta_slow = 1.0;
    bool truncate = true;
    double mscale = 0.0;
    double mscale_all_dim = 0.0;
    std::optional<double> given_attention_factor = std::nullopt;

    double log_alpha(const rope_config& c, index_t pair, double t) const { return share(c, pair).log_alpha(t); }
    double log_alpha_rate(const rope_config& c, index_t pair, double t) const { return share(c, pair).rate(t); }

    yarn_ramp ramp(const rope_config& c) const {
        return ramp_of_rotations(c, beta_fast, beta_slow, truncate, static_cast<double>(c.rotary_dim - 1));
    }

    /// 1: the pair is fully interpolated; 0: it is unchanged.
    interpolated_share share(const rope_config& c, index_t pair) const { return {ramp(c).at(pair)}; }

    double attention_factor(const rope_config&, double t) const {
        if (given_attention_factor) return *given_attention_factor;
        return has_ratio() ? temperature(mscale, t) / temperature(mscale_all_dim, t) : temperature(1.0, t);
    }
    double attention_factor_rate(const rope_config&, double t) const {
        if (given_attention_factor) return 0.0;
        if (!has_ratio()) return 0.1 / t;
        const double below = temperature(mscale_all_dim, t);
        return 0.1 * (mscale - mscale_all_dim) / (t * below * below);
    }

    void validate(const rope_config&) const {
        validate_positive({"yarn: beta_slow"}, beta_slow);
        validate_number({"yarn: beta_fast"}, beta_fast, beta_fast >= beta_slow, {">= beta_slow ", beta_slow});
        validate_number({"yarn: mscale"}, mscale, mscale >= 0.0, {">= 0"});
        validate_number({"yarn: mscale_all_dim"}, mscale_all_dim, mscale_all_dim >= 0.0, {">= 0"});
        if (given_attention_factor) validate_positive({"yarn: given_attention_factor"}, *given_attention_factor);
    }

 private:
    bool has_ratio() const { return mscale != 0.0 && mscale_all_dim != 0.0; }
    static double temperature(double scale, double t) { return 0.1 * scale * std::log(t) + 1.0; }
};
static_assert(scaling_policy<yarn> && prior_policy<yarn> && has_attention_factor<yarn>);

}  // namespace cordage
