// SPDX-License-Identifier: MIT
// CoPE, clipped RoPE: slow pairs are slowed further, up to no rotation, over any policy.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "cordage/scaling/masked.hpp"
#include "cordage/scaling/policy.hpp"
#include "cordage/scaling/power_laws.hpp"

namespace own {

using cordage::index_t, cordage::log_alpha_unrotated, cordage::rope_config;

/// CoPE (Li et al. 2026, arXiv 2602.05258, section 4.2) as in its authors' code: a raised cosine over the pairs from
/// `onset` on multiplies their frequencies, at every t. With n = rotary_dim/2 - onset,
///
///   alpha_i(t) = the inner policy's alpha_i(t) * (1 + cos(pi (i - onset)/(n - 1))) / 2      for i >= onset
///
/// Pair `onset` is unchanged and the last pair is not rotated; for n <= 1 nothing is clipped. The paper describes the
/// weight as a function of the frequency, its code as one of the pair index; this is the code. The paper's models have
/// onset 44 of 64 pairs after a change of the base to 10^7, and clipped<yarn> beyond the length of their training.
///
///   clipped<>{}                    // from the first pair that does not complete a turn in original_length
///   clipped<yarn>{yarn{}, 44}
template <class Policy = cordage::unscaled>
struct clipped {
    static_assert(cordage::has_log_alpha<Policy> && cordage::has_log_alpha_rate<Policy>,
                  "own::clipped: Policy needs 'double log_alpha(const rope_config&, index_t pair, double t) const' "
                  "and 'double log_alpha_rate' alike; docs/extending.md");

    Policy policy;
    std::optional<index_t> onset = std::nullopt;  ///< a pair; if not given, the first of a period > original_length
    static constexpr bool jumps = cordage::has_jump<Policy>;

    double log_alpha(const rope_config& c, index_t pair, double t) const {
        const double own = log_weight(c, pair);
        return own == log_alpha_unrotated ? own : own + policy.log_alpha(c, pair, t);
    }
    double log_alpha_rate(const rope_config& c, index_t pair, double t) const {
        return log_weight(c, pair) == log_alpha_unrotated ? 0.0 : policy.log_alpha_rate(c, pair, t);
    }
    double attention_factor(const rope_config& c, double t) const { return cordage::attention_factor(policy, c, t); }
    double attention_factor_rate(const rope_config& c, double t) const {
        return cordage::attention_factor_rate(policy, c, t);
    }

    /// The first clipped pair, rotary_dim/2 if there is none.
    index_t first_clipped(const rope_config& c) const {
        if (onset) return *onset;
        const double turns = std::log(c.original_length / (2.0 * std::numbers::pi)) / std::log(c.theta_base);
        const double pair = std::floor(turns * static_cast<double>(c.pairs())) + 1.0;
        return static_cast<index_t>(std::clamp(pair, 0.0, static_cast<double>(c.pairs())));
    }

    void validate(const rope_config& c) const {
        cordage::validate(policy, c);
        if (onset && (*onset < 0 || *onset > c.pairs())) {
            cordage::fail<cordage::value_error>(
                {"clipped: onset ", *onset, " must be a pair, 0 to rotary_dim/2 = ", c.pairs()});
        }
    }

 private:
    double log_weight(const rope_config& c, index_t pair) const {
        const index_t first = first_clipped(c), last = c.pairs() - 1;
        if (pair <= first) return 0.0;
        if (pair == last) return log_alpha_unrotated;
        const double part = static_cast<double>(pair - first) / static_cast<double>(last - first);
        return 2.0 * std::log(std::cos(0.5 * std::numbers::pi * part));  // (1 + cos x)/2 = cos^2(x/2)
    }
};
static_assert(cordage::scaling_policy<clipped<>> && cordage::prior_policy<clipped<>>);

}  // namespace own
