// SPDX-License-Identifier: MIT
// LongRoPE: searched factors, one table for each regime, and its form that is continuous in t; stage t -> log alpha.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "cordage/scaling/policy.hpp"

namespace cordage {
namespace longrope_detail {

/// Throws unless a table has one finite factor > 0 for each pair. `who` is the policy's name, `field` the table's.
inline void validate_factors(const char* who, const char* field, const std::vector<double>& factors,
                             const rope_config& c) {
    validate_pairs({who, ": ", field, " size"}, factors.size(), c);
    for (std::size_t pair = 0; pair < factors.size(); ++pair) {
        validate_positive({who, ": ", field, "[", pair, "]"}, factors[pair]);
    }
}

}  // namespace longrope_detail

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
        longrope_detail::validate_factors("longrope", "short_factor", short_factor, c);
        longrope_detail::validate_factors("longrope", "long_factor", long_factor, c);
        validate_positive({"longrope: given_attention_factor"}, given_attention_factor);
    }
};
static_assert(scaling_policy<longrope> && has_attention_factor<longrope>);

/// LongRoPE's factors approached continuously with t ("dynamic" in its authors' code), one table for every t:
///
///   alpha_i(t) = 1 / (1 + (factor[i] - 1) (t - 1) / (t_max - 1)),   m(t) = sqrt(1 + ln t / ln original_length)
///
/// alpha(1) = 1 and alpha(t_max) = 1/factor; beyond t_max both alpha and m are constant.
struct dynamic_longrope {
    std::vector<double> factor;  ///< [pairs], searched for t_max
    double t_max = 2.0;

    double log_alpha(const rope_config&, index_t pair, double t) const { return -std::log(grown(pair, t)); }
    double log_alpha_rate(const rope_config&, index_t pair, double t) const {
        return t < t_max ? -slope(pair) / grown(pair, t) : 0.0;
    }
    double attention_factor(const rope_config& c, double t) const {
        return longrope_attention_factor(std::min(t, t_max), c.original_length);
    }
    double attention_factor_rate(const rope_config& c, double t) const {
        return t < t_max ? 0.5 / (t * std::log(c.original_length) * attention_factor(c, t)) : 0.0;
    }

    void validate(const rope_config& c) const {
        longrope_detail::validate_factors("dynamic_longrope", "factor", factor, c);
        validate_number({"dynamic_longrope: t_max"}, t_max, t_max > 1.0, {"> 1"});
        if (!(c.original_length > 1.0)) {
            fail<value_error>({"dynamic_longrope: original_length ", c.original_length, " must be > 1"});
        }
    }

 private:
    double slope(index_t pair) const { return (factor[static_cast<std::size_t>(pair)] - 1.0) / (t_max - 1.0); }
    double grown(index_t pair, double t) const {
        return t < t_max ? 1.0 + slope(pair) * (t - 1.0) : factor[static_cast<std::size_t>(pair)];
    }
};
static_assert(scaling_policy<dynamic_longrope> && prior_policy<dynamic_longrope>);
static_assert(has_attention_factor<dynamic_longrope>);

}  // namespace cordage
