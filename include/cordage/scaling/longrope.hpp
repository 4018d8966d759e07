// SPDX-License-Identifier: MIT
// LongRoPE: searched factors, one table for each regime; stage t -> log alpha.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "cordage/scaling/policy.hpp"

namespace cordage {

/// The factor on cos and sin with which LongRoPE models are served, sqrt(1 + ln t / ln original_length); 1 for t <= 1.
///
/// @throws value_error  unless original_length > 1
inline double longrope_attention_factor(double t, double original_length) {
    validate_number({"longrope_attention_factor: original_length"}, original_length, original_length > 1.0, {"> 1"});
    return t > 1.0 ? std::sqrt(1.0 + std::log(t) / std::log(original_length)) : 1.0;
}

/// LongRoPE (Ding et al. 2024) as in config files ("longrope", formerly "su"): alpha_i = 1/short_factor[i] up to the
/// original length and 1/long_factor[i] beyond it, that is at t = 1 and at every t > 1; alpha depends on t in no other
/// way. alpha(1) is not 1. The schedule is `two_regimes`. The attention factor is one number in both regimes, as in
/// transformers: the given one, else longrope_attention_factor(factor, original_length), factor = the largest t.
///
/// A change of regime during generation changes every key, so cached keys must be rotated again or dropped. Not usable
/// as a prior of CLEX: an ODE integrates rates, and the jump to the long factors has none.
struct longrope {
    std::vector<double> short_factor;  ///< [pairs]
    std::vector<double> long_factor;   ///< [pairs]
    double given_attention_factor = 1.0;
    static constexpr bool jumps = true;

    double log_alpha(const rope_config&, index_t pair, double t) const {
        return -std::log((t > 1.0 ? long_factor : short_factor)[static_cast<std::size_t>(pair)]);
    }
    double log_alpha_rate(const rope_config&, index_t, double) const { return 0.0; }
    double attention_factor(const rope_config&, double) const { return given_attention_factor; }
    double attention_factor_rate(const rope_config&, double) const { return 0.0; }

    void validate(const rope_config& c) const {
        validate_factors("short_factor", short_factor, c);
        validate_factors("long_factor", long_factor, c);
        validate_positive({"longrope: given_attention_factor"}, given_attention_factor);
    }

 private:
    static void validate_factors(const char* field, const std::vector<double>& factors, const rope_config& c) {
        validate_pairs({"longrope: ", field, " size"}, factors.size(), c);
        for (std::size_t pair = 0; pair < factors.size(); ++pair) {
            validate_positive({"longrope: ", field, "[", pair, "]"}, factors[pair]);
        }
    }
};
static_assert(scaling_policy<longrope> && has_attention_factor<longrope>);

}  // namespace cordage
