// SPDX-License-Identifier: MIT
// A temperature of attention scores by t, learned beside any policy's log alpha; stage t -> log alpha.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "cordage/scaling/policy.hpp"

namespace cordage {

/// tau(t) = (1 + slope ln t)^power, a factor on attention scores (1 / the temperature of their softmax). tau(1) is
/// exactly 1. Log scaling and YaRN's temperature are special cases. With power 0, tau is 1 at every t, a neutral
/// initial value for learning.
struct score_temperature {
    double slope;  ///< e^-40 ... e^40
    double power;  ///< finite

    static constexpr double largest_log_slope = 40.0;

    /// tau(t), 1 for t <= 1.
    double at(double t) const { return t > 1.0 ? std::pow(1.0 + slope * std::log(t), power) : 1.0; }
    /// dtau/dt at t >= 1.
    double rate(double t) const { return at(t) * power * slope / (t * (1.0 + slope * std::log(t))); }

    /// ln slope and power: any two finite numbers within range give a tau > 0.
    std::vector<double> parameters() const { return {std::log(slope), power}; }

    /// @throws shape_error unless there are two numbers, value_error for a ln slope or power out of its domain
    static score_temperature with_parameters(std::span<const double> numbers) {
        expect_parameters(numbers.size());
        validate_number({"score_temperature: ln slope"}, numbers[0], std::fabs(numbers[0]) <= largest_log_slope,
                        {"within -", largest_log_slope, " ... ", largest_log_slope});
        validate_finite({"score_temperature: power"}, numbers[1]);
        return {std::exp(numbers[0]), numbers[1]};
    }

    /// grad_parameters += grad_tau * dtau/dparameters at t >= 1. Throws shape_error unless there are two.
    void vjp(double t, double grad_tau, std::span<double> grad_parameters) const {
        expect_parameters(grad_parameters.size());
        const double grown = slope * std::log(t), grad = grad_tau * at(t);
        grad_parameters[0] += grad * power * grown / (1.0 + grown);
        grad_parameters[1] += grad * std::log1p(grown);
    }

    /// Throws value_error naming the field that is out of its domain.
    void validate() const {
        validate_number({"score_temperature: slope"}, slope,
                        slope > 0.0 && std::fabs(std::log(slope)) <= largest_log_slope,
                        {"within e^-", largest_log_slope, " ... e^", largest_log_slope});
        validate_finite({"score_temperature: power"}, power);
    }

 private:
    static void expect_parameters(std::size_t size) {
        if (size != 2) fail<shape_error>({"score_temperature: parameters size ", size, " must be 2: ln slope, power"});
    }
};

/// max{1, log_L n} at n = t L tokens, as log_scaling in attention/score_factors.hpp: slope 1 / ln L, power 1 (CLEX,
/// appendix A.3). Its square root is longrope_attention_factor.
/// @throws value_error  unless original_length > 1
inline score_temperature log_scaling_temperature(double original_length) {
    validate_number({"log_scaling_temperature: original_length"}, original_length, original_length > 1.0, {"> 1"});
    return {1.0 / std::log(original_length), 1.0};
}

/// (0.1 ln t + 1)^2, the square of YaRN's factor on cos and sin.
inline score_temperature yarn_temperature() { return {0.1, 2.0}; }

/// Adds a temperature of attention scores to another policy. log alpha is unchanged; the factor on cos and sin is
/// multiplied by sqrt(tau(t)), so that q . k is multiplied by tau(t). The parameters are those of the policy, if it has
/// any, then ln slope and power, so that a basis and its temperature learn together.
///
///   tempered{by_parts{}, log_scaling_temperature(4096)}                            // two numbers to learn
///   tempered{learned_table<by_parts>(config, {2, 4, 8}), score_temperature{0.1, 0.0}}
///   add_grad_parameters(policy, config, t, grad_inv_freq, grad_parameters, grad_attention_factor);
///
/// Policy may be any policy, including any_policy, and any_policy may hold the result. A factor on cos and sin acts on
/// rotated lanes only, so validate rejects a config with rotary_dim < head_dim. For such a model multiply queries or
/// the softmax scale by temperature.at(t); temperature.vjp is its gradient (docs/methods/temperature.md).
template <scaling_policy Policy>
struct tempered {
    Policy policy;
    score_temperature temperature;

    void log_alpha(const rope_config& c, double t, std::span<double> out) const {
        cordage::log_alpha(policy, c, t, out);
    }
    void log_alpha_rate(const rope_config& c, double t, std::span<double> out) const {
        cordage::log_alpha_rate(policy, c, t, out);
    }
    double attention_factor(const rope_config& c, double t) const {
        return cordage::attention_factor(policy, c, t) * std::sqrt(temperature.at(t));
    }
    double attention_factor_rate(const rope_config& c, double t) const {
        const double root = std::sqrt(temperature.at(t));
        return cordage::attention_factor_rate(policy, c, t) * root +
               cordage::attention_factor(policy, c, t) * temperature.rate(t) / (2.0 * root);
    }

    /// Throws as the policy and the temperature; also value_error if rotary_dim < head_dim.
    void validate(const rope_config& c) const {
        cordage::validate(policy, c);
        temperature.validate();
        if (c.rotary_dim != c.head_dim) {
            fail<value_error>(
                {"tempered: rotary_dim ", c.rotary_dim, " must be head_dim ", c.head_dim,
                 ": a factor on cos and sin misses the lanes that are not rotated; multiply queries or the ",
                 "softmax scale by score_temperature::at(t) instead"});
        }
    }

    std::vector<double> parameters() const {
        std::vector<double> all = parameters_of_policy();
        for (const double number : temperature.parameters()) all.push_back(number);
        return all;
    }

    /// The same policy with other parameters. Throws as with_parameters of the policy and of the temperature.
    tempered with_parameters(std::span<const double> numbers) const {
        const std::size_t own = expect_parameters(numbers.size());
        const score_temperature other = score_temperature::with_parameters(numbers.subspan(own));
        if constexpr (learned_policy<Policy>) return {policy.with_parameters(numbers.first(own)), other};
        return {policy, other};
    }

    /// Adds to the policy's parameters only: log alpha does not depend on the temperature.
    void log_alpha_vjp(const rope_config& c, double t, std::span<const double> grad_log_alpha,
                       std::span<double> grad_parameters) const {
        const std::size_t own = expect_parameters(grad_parameters.size());
        if constexpr (learned_policy<Policy>) {
            policy.log_alpha_vjp(c, t, grad_log_alpha, grad_parameters.first(own));
        }
    }

    /// grad_parameters += grad * dm/dparameters, m the attention factor at t.
    void attention_factor_vjp(const rope_config& c, double t, double grad, std::span<double> grad_parameters) const {
        const std::size_t own = expect_parameters(grad_parameters.size());
        const double root = std::sqrt(temperature.at(t)), of_policy = cordage::attention_factor(policy, c, t);
        temperature.vjp(t, grad * of_policy / (2.0 * root), grad_parameters.subspan(own));
        if constexpr (has_attention_factor_vjp<Policy>) {
            policy.attention_factor_vjp(c, t, grad * root, grad_parameters.first(own));
        }
    }

 private:
    std::vector<double> parameters_of_policy() const {
        if constexpr (learned_policy<Policy>) return policy.parameters();
        return {};
    }
    /// Number of parameters of the policy, without the temperature's two.
    std::size_t expect_parameters(std::size_t size) const {
        const std::size_t own = parameters_of_policy().size();
        if (size != own + 2) {
            fail<shape_error>({"tempered: parameters size ", size, " must be the policy's ", own, " + 2"});
        }
        return own;
    }
};
template <class Policy>
tempered(Policy, score_temperature) -> tempered<Policy>;

}  // namespace cordage
