// SPDX-License-Identifier: MIT
// LongRoPE's factors in a form that is continuous in t: a policy of one's own with a table and an attention factor.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "cordage/scaling/longrope.hpp"
#include "cordage/scaling/policy.hpp"

namespace own {

using cordage::index_t, cordage::rope_config;

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
        return cordage::longrope_attention_factor(std::min(t, t_max), c.original_length);
    }
    double attention_factor_rate(const rope_config& c, double t) const {
        return t < t_max ? 0.5 / (t * std::log(c.original_length) * attention_factor(c, t)) : 0.0;
    }

    void validate(const rope_config& c) const {
        cordage::validate_pairs({"dynamic_longrope: factor size"}, factor.size(), c);
        for (std::size_t pair = 0; pair < factor.size(); ++pair) {
            cordage::validate_positive({"dynamic_longrope: factor[", pair, "]"}, factor[pair]);
        }
        cordage::validate_number({"dynamic_longrope: t_max"}, t_max, t_max > 1.0, {"> 1"});
        if (!(c.original_length > 1.0)) {
            cordage::fail<cordage::value_error>(
                {"dynamic_longrope: original_length ", c.original_length, " must be > 1"});
        }
    }

 private:
    double slope(index_t pair) const { return (factor[static_cast<std::size_t>(pair)] - 1.0) / (t_max - 1.0); }
    double grown(index_t pair, double t) const {
        return t < t_max ? 1.0 + slope(pair) * (t - 1.0) : factor[static_cast<std::size_t>(pair)];
    }
};
static_assert(cordage::scaling_policy<dynamic_longrope> && cordage::prior_policy<dynamic_longrope>);
static_assert(cordage::has_attention_factor<dynamic_longrope>);

}  // namespace own
