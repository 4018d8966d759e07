// SPDX-License-Identifier: MIT
// A field for CLEX in log time without the gate s_i, for an ablation of cordage::log_length_field.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "cordage/clex/activation.hpp"
#include "cordage/clex/network.hpp"
#include "cordage/clex/weights.hpp"
#include "cordage/scaling/policy.hpp"

namespace demo {

/// cordage::log_length_field with s_i = 1, of z over tau = ln t:  dz_i/dtau = [W_down silu(W_up z)]_i + t xi_i(t)
template <cordage::prior_policy Prior>
class ungated_field {
 public:
    using prior_type = Prior;
    static constexpr bool in_log_time = true;

    ungated_field(const cordage::rope_config& config, const cordage::clex_weights& weights, const Prior& prior)
        : config_(config), network_(weights), prior_(prior) {}

    cordage::index_t size() const { return network_.pairs(); }
    cordage::index_t parameter_count() const { return network_.parameter_count(); }

    void operator()(double tau, std::span<const double> z, std::span<double> dz) {
        network_(z, dz);
        const double t = std::exp(tau);
        for (std::size_t i = 0; i < dz.size(); ++i) {
            dz[i] += t * prior_.log_alpha_rate(config_, static_cast<cordage::index_t>(i), t);
        }
    }
    double vjp(double tau, std::span<const double> z, std::span<const double> grad_dz, std::span<double> grad_z,
               std::span<double> grad_parameters) {
        network_.record(1, z);
        const double* const grad = network_.pull_back(0, grad_dz);
        network_.collect(grad_parameters);
        const double t = std::exp(tau);
        double grad_tau = 0.0;
        for (std::size_t i = 0; i < grad_z.size(); ++i) {
            const auto pair = static_cast<cordage::index_t>(i);
            grad_z[i] += grad[i];
            grad_tau += grad_dz[i] * t *
                        (prior_.log_alpha_rate(config_, pair, t) + t * prior_.log_alpha_curvature(config_, pair, t));
        }
        return grad_tau;
    }

 private:
    cordage::rope_config config_;
    cordage::clex_network<double, cordage::silu> network_;
    Prior prior_;
};

}  // namespace demo
