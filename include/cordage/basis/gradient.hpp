// SPDX-License-Identifier: MIT
// Gradients from dL/dinv_freq to log alpha, t and a policy's parameters; the backward pass of stage policy at t ->
// basis.
#pragma once

#include "cordage/basis/basis.hpp"

namespace cordage {

/// dL/dlog alpha_i = dL/dtheta_i(t) * theta_i(t), since theta_i(t) = alpha_i(t) theta_i.
///
/// @param b              the basis at t
/// @param grad_inv_freq  dL/dinv_freq, [rotary_dim/2]
/// @throws shape_error   unless grad_inv_freq has the basis's size
inline std::vector<double> grad_log_alpha(const basis& b, std::span<const double> grad_inv_freq) {
    if (grad_inv_freq.size() != b.inv_freq().size()) {
        fail<shape_error>({"grad_log_alpha: grad_inv_freq has ", grad_inv_freq.size(),
                           " entries, must have the basis's ", b.inv_freq().size()});
    }
    std::vector<double> grad(grad_inv_freq.begin(), grad_inv_freq.end());
    for (std::size_t pair = 0; pair < grad.size(); ++pair) grad[pair] *= b.inv_freq()[pair];
    return grad;
}

/// dL/dt = sum_i dL/dlog alpha_i * dlog alpha_i/dt + dL/dm * dm/dt, from dL/dinv_freq at t, [rotary_dim/2], and dL/dm.
/// Throws as make_basis and grad_log_alpha.
template <class Policy>
double grad_t(const Policy& policy, const rope_config& config, double t, std::span<const double> grad_inv_freq,
              double grad_attention_factor = 0.0) {
    static_assert(policy_detail::require_policy<Policy>());
    const std::vector<double> grad = grad_log_alpha(make_basis(config, policy, t), grad_inv_freq);
    std::vector<double> rate(grad.size());
    log_alpha_rate(policy, config, t, rate);
    double sum = grad_attention_factor * attention_factor_rate(policy, config, t);
    for (std::size_t pair = 0; pair < grad.size(); ++pair) sum += grad[pair] * rate[pair];
    return sum;
}

/// Adds dL/dparameters of a learned policy to grad_parameters.
///
/// @param grad_parameters        [policy.parameters().size()], added to
/// @param grad_attention_factor  dL/dm; used by policies whose attention factor has parameters (tempered)
/// @throws shape_error           if sizes differ
template <class Policy>
void add_grad_parameters(const Policy& policy, const rope_config& config, double t,
                         std::span<const double> grad_inv_freq, std::span<double> grad_parameters,
                         double grad_attention_factor = 0.0) {
    static_assert(learned_policy<Policy>,
                  "cordage::add_grad_parameters: the policy needs 'parameters', 'with_parameters' and 'log_alpha_vjp', "
                  "as learned_table has; docs/extending.md");
    const std::vector<double> grad = grad_log_alpha(make_basis(config, policy, t), grad_inv_freq);
    policy.log_alpha_vjp(config, t, grad, grad_parameters);
    if constexpr (has_attention_factor_vjp<Policy>) {
        policy.attention_factor_vjp(config, t, grad_attention_factor, grad_parameters);
    }
}

}  // namespace cordage
