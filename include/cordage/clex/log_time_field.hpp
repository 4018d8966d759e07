// SPDX-License-Identifier: MIT
// CLEX in log time, where fast pairs are held; serves the stage clex.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "cordage/clex/activation.hpp"
#include "cordage/clex/network.hpp"
#include "cordage/clex/weights.hpp"
#include "cordage/core/config.hpp"
#include "cordage/ode/field.hpp"
#include "cordage/scaling/ntk_aware.hpp"
#include "cordage/scaling/policy.hpp"

namespace cordage {

/// This library's variant of the paper's ODE, of z = log inv_freq [pairs] over tau = ln t:
///
///   dz_i/dtau = s_i [W_down sigma(W_up z)]_i + t xi_i(t)          s_i = 1/(1 + theta_i original_length)
///
/// Doubling the length is the same stretch of tau anywhere, so that even steps serve t = 1 ... 64; and a pair that
/// turns often within the original length is moved little, as every good closed form leaves such pairs alone.
///
/// Network is the arithmetic of the network; states, times and the prior's part are of type Scalar.
template <class Scalar, prior_policy Prior = ntk_aware, activation Activation = silu, class Network = Scalar>
class log_time_field {
 public:
    /// The weights fit the config (weights.hpp: validate).
    log_time_field(const rope_config& config, const clex_weights& weights, const Prior& prior = {})
        : config_(config), prior_(prior), network_(weights) {
        for (index_t pair = 0; pair < config.pairs(); ++pair) {
            share_.push_back(static_cast<Scalar>(1.0 / (1.0 + config.inv_freq(pair) * config.original_length)));
        }
        grad_net_.resize(share_.size());
    }

    index_t size() const noexcept { return network_.pairs(); }
    index_t parameter_count() const noexcept { return network_.parameter_count(); }

    void operator()(Scalar tau, std::span<const Scalar> z, std::span<Scalar> dz) {
        network_(z, dz);
        const double t = std::exp(double{tau});
        for (std::size_t i = 0; i < dz.size(); ++i) {
            const double rate = t * prior_.log_alpha_rate(config_, static_cast<index_t>(i), t);
            dz[i] = share_[i] * dz[i] + static_cast<Scalar>(rate);
        }
    }

    Scalar vjp(Scalar tau, std::span<const Scalar> z, std::span<const Scalar> grad_dz, std::span<Scalar> grad_z,
               std::span<Scalar> grad_parameters) {
        return vjp_of_record(*this, tau, z, grad_dz, grad_z, grad_parameters);
    }

    void record(std::span<const Scalar> times, std::span<const Scalar> states) {
        times_.assign(times.begin(), times.end());
        network_.record(static_cast<index_t>(times.size()), states);
    }
    Scalar pull_back(index_t i, std::span<const Scalar> grad_dz, std::span<Scalar> grad_z) {
        const double t = std::exp(double{times_[static_cast<std::size_t>(i)]});
        Scalar grad_tau = 0;
        for (std::size_t k = 0; k < grad_dz.size(); ++k) {
            const auto pair = static_cast<index_t>(k);
            // d/dtau of t xi(t) is t (xi + t xi').
            const double rate = prior_.log_alpha_rate(config_, pair, t);
            const double bend = t * (rate + t * prior_.log_alpha_curvature(config_, pair, t));
            grad_tau += grad_dz[k] * static_cast<Scalar>(bend);
            grad_net_[k] = share_[k] * grad_dz[k];
        }
        network_.pull_back(i, std::span<const Scalar>(grad_net_), grad_z);
        return grad_tau;
    }
    void collect(std::span<Scalar> grad_parameters) { network_.collect(grad_parameters); }

 private:
    rope_config config_;
    Prior prior_;
    clex_network<Network, Activation> network_;
    std::vector<Scalar> share_;     // s [pairs]
    std::vector<Scalar> grad_net_;  // workspace [pairs]
    std::vector<Scalar> times_;     // recorded
};

/// The choice of this field in `clex`: it is solved in tau = ln t.
struct log_time {
    template <class Scalar, class Prior, class Activation, class Network>
    using field = log_time_field<Scalar, Prior, Activation, Network>;

    static constexpr bool is_logarithm = true;
    static double of(double t) { return std::log(t); }
    static double rate(double t) { return 1.0 / t; }
};

}  // namespace cordage
