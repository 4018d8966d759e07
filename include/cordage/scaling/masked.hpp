// SPDX-License-Identifier: MIT
// Pairs that are not rotated: a mask over any policy, and p-RoPE ("proportional"); stage t -> log alpha.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "cordage/scaling/policy.hpp"
#include "cordage/scaling/power_laws.hpp"

namespace cordage {

/// log alpha of a pair that is not rotated. Finite, so that sums stay valid under fast-math, and so small that its exp
/// is exactly 0, also after another log alpha is added.
inline constexpr double log_alpha_unrotated = -1e4;

/// Any policy with some pairs not rotated (NoPE on those channels; DoPE's bands): their alpha is 0.
///
///   masked<yarn>{yarn{}, {1, 1, 1, 0}}    // the slowest of four pairs is not rotated
template <class Policy = unscaled>
struct masked {
    static_assert(has_log_alpha<Policy> && has_log_alpha_rate<Policy>,
                  "cordage::masked: Policy needs 'double log_alpha(const rope_config&, index_t pair, double t) const' "
                  "and 'double log_alpha_rate' alike; docs/extending.md");

    Policy policy;
    std::vector<unsigned char> rotates;  ///< [pairs]: 0 where a pair is not rotated
    static constexpr bool jumps = has_jump<Policy>;

    double log_alpha(const rope_config& c, index_t pair, double t) const {
        return is_rotated(pair) ? policy.log_alpha(c, pair, t) : log_alpha_unrotated;
    }
    double log_alpha_rate(const rope_config& c, index_t pair, double t) const {
        return is_rotated(pair) ? policy.log_alpha_rate(c, pair, t) : 0.0;
    }
    double attention_factor(const rope_config& c, double t) const { return cordage::attention_factor(policy, c, t); }
    double attention_factor_rate(const rope_config& c, double t) const {
        return cordage::attention_factor_rate(policy, c, t);
    }

    void validate(const rope_config& c) const {
        cordage::validate(policy, c);
        validate_pairs({"masked: rotates size"}, rotates.size(), c);
    }

 private:
    bool is_rotated(index_t pair) const { return rotates[static_cast<std::size_t>(pair)] != 0; }
};

/// p-RoPE, "proportional" in config files (Gemma 4; Barbero et al. 2024): only the fastest floor(share d / 2) pairs are
/// rotated, with frequencies theta_base^(-2i/d) / t, d = rotary_dim. (Partial rotary is different: there rotary_dim <
/// head_dim, and d is the number of rotated lanes.)
struct proportional {
    double share = 1.0;  ///< of d; partial_rotary_factor in config files

    double log_alpha(const rope_config& c, index_t pair, double t) const {
        return pair < rotated_pairs(c) ? -std::log(t) : log_alpha_unrotated;
    }
    double log_alpha_rate(const rope_config& c, index_t pair, double t) const {
        return pair < rotated_pairs(c) ? -1.0 / t : 0.0;
    }

    index_t rotated_pairs(const rope_config& c) const {
        return static_cast<index_t>(share * static_cast<double>(c.rotary_dim) / 2.0);
    }

    void validate(const rope_config&) const {
        if (!is_finite(share) || !(share >= 0.0 && share <= 1.0)) {
            fail<value_error>({"proportional: share ", share, " must be in [0, 1]"});
        }
    }
};
static_assert(scaling_policy<proportional> && prior_policy<proportional>);

}  // namespace cordage
