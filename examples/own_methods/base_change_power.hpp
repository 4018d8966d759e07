// SPDX-License-Identifier: MIT
// A change of base that grows with t: the shortest policy of one's own with parameters.
#pragma once

#include <cmath>

#include "cordage/scaling/policy.hpp"

namespace own {

using cordage::index_t, cordage::rope_config;

/// Base change as a power of t, its continuous form: the base is multiplied by k(t) = t^p with k(reference_t) =
/// base_factor, so p = log base_factor / log reference_t and alpha_i(t) = t^(-2ip/d). alpha(1) = 1.
struct base_change_power {
    double base_factor = 100.0;  ///< factor on the base at reference_t
    double reference_t = 4.0;    ///< CodeLLaMA: 4k -> 16k

    double log_alpha(const rope_config& c, index_t pair, double t) const { return -exponent(c, pair) * std::log(t); }
    double log_alpha_rate(const rope_config& c, index_t pair, double t) const { return -exponent(c, pair) / t; }

    void validate(const rope_config&) const {
        cordage::validate_positive({"base_change_power: base_factor"}, base_factor);
        cordage::validate_number({"base_change_power: reference_t"}, reference_t, reference_t > 1.0, {"> 1"});
    }

 private:
    double exponent(const rope_config& c, index_t pair) const {
        const double power = std::log(base_factor) / std::log(reference_t);
        return 2.0 * static_cast<double>(pair) / static_cast<double>(c.rotary_dim) * power;
    }
};
static_assert(cordage::scaling_policy<base_change_power> && cordage::prior_policy<base_change_power>);

}  // namespace own
