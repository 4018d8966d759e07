// SPDX-License-Identifier: MIT
// Checks for every closed-form policy: derivatives are those of log alpha, and both forms of the concept agree.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cordage/scaling/any_policy.hpp"
#include "cordage/scaling/policy.hpp"
#include "tolerances.hpp"

namespace cordage_test {

/// df/dt by central differences with h and h/2, extrapolated: error of order h^4.
template <class F>
double difference(const F& f, double t, double h = 1e-3) {
    const auto slope = [&](double step) { return (f(t + step) - f(t - step)) / (2.0 * step); };
    return (4.0 * slope(h / 2) - slope(h)) / 3.0;
}

inline bool close(double found, double expected, double relative) {
    return std::fabs(found - expected) <= relative * std::max(1.0, std::fabs(expected));
}
inline bool close_relative(double found, double expected, double relative) {
    return std::fabs(found - expected) <= relative * std::fabs(expected);
}

inline const cordage::rope_config& llama2() {
    static const cordage::rope_config config{.head_dim = 128, .rotary_dim = 128, .original_length = 4096};
    return config;
}

/// The rates of every log alpha and of the attention factor are their derivatives.
template <cordage::prior_policy Policy>
void check_derivatives(const Policy& policy, const cordage::rope_config& config) {
    CHECK_NOTHROW(cordage::validate(policy, config));
    for (const double t : {1.0, 1.7, 4.0, 7.25, 64.0}) {
        for (cordage::index_t pair = 0; pair < config.pairs(); ++pair) {
            CAPTURE(t);
            CAPTURE(pair);
            const double rate = difference([&](double at) { return policy.log_alpha(config, pair, at); }, t);
            CHECK(close(policy.log_alpha_rate(config, pair, t), rate, first_difference));
        }
        const double inside = std::max(t, 1.01);  // m is defined for t >= 1 only
        const double rate =
            difference([&](double at) { return cordage::attention_factor(policy, config, at); }, inside);
        CHECK(close(cordage::attention_factor_rate(policy, config, inside), rate, first_difference));
    }
}

/// At the original length nothing is scaled, and every alpha decreases with t.
template <cordage::prior_policy Policy>
void check_starts_at_one_and_falls(const Policy& policy, const cordage::rope_config& config) {
    CHECK(cordage::attention_factor(policy, config, 1.0) == 1.0);
    for (cordage::index_t pair = 0; pair < config.pairs(); ++pair) {
        CHECK(policy.log_alpha(config, pair, 1.0) == 0.0);
        for (const double t : {1.0, 1.5, 3.0, 16.0}) {
            CHECK(policy.log_alpha(config, pair, 2.0 * t) <= policy.log_alpha(config, pair, t));
            CHECK(policy.log_alpha(config, pair, t) >= -std::log(t) - 1e-15);  // never below position interpolation
        }
    }
}

/// alpha of a few pairs at one t against reference numbers.
struct known_alpha {
    cordage::index_t pair;
    double alpha;
};
template <class Policy>
void check_alpha(const Policy& policy, const cordage::rope_config& config, double t,
                 std::initializer_list<known_alpha> expected) {
    for (const known_alpha& known : expected) {
        CAPTURE(known.pair);
        CHECK(close_relative(std::exp(policy.log_alpha(config, known.pair, t)), known.alpha, closed_form));
    }
}

}  // namespace cordage_test
