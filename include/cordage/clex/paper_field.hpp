// SPDX-License-Identifier: MIT
// The ODE of the CLEX paper over any prior, in t or in log time; serves the stage clex.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "cordage/clex/activation.hpp"
#include "cordage/clex/network.hpp"
#include "cordage/clex/weights.hpp"
#include "cordage/core/config.hpp"
#include "cordage/ode/field.hpp"
#include "cordage/scaling/power_laws.hpp"

namespace cordage {

namespace clex_detail {

/// paper_field and log_time_field, for states and times in float or double.
template <prior_policy Prior, activation Activation, class Scalar, bool InLogTime>
class prior_field : public field_of_network<prior_field<Prior, Activation, Scalar, InLogTime>, Scalar, Activation> {
    using base = field_of_network<prior_field, Scalar, Activation>;
    using base::network_, base::times_;

 public:
    using prior_type = Prior;
    static constexpr bool in_log_time = InLogTime;  ///< the solver's variable is ln t

    /// Precondition: the weights fit the config (validate in weights.hpp).
    prior_field(const rope_config& config, const clex_weights& weights, const Prior& prior = {})
        : base(weights), config_(config), prior_(prior) {
        for (index_t pair = 0; pair < config.pairs(); ++pair) {
            share_.push_back(in_log_time ? config.phase_gate(pair) : 1.0);
        }
        grad_net_.resize(share_.size());
    }

    template <class State>
    void operator()(State time, std::type_identity_t<std::span<const State>> z,
                    std::type_identity_t<std::span<State>> dz) {
        network_(z, dz);
        const double t = t_at(double{time});
        for (std::size_t i = 0; i < dz.size(); ++i) {
            const double rate = prior_.log_alpha_rate(config_, static_cast<index_t>(i), t);
            dz[i] = static_cast<State>(in_log_time ? share_[i] * double{dz[i]} + t * rate : double{dz[i]} + rate);
        }
    }

    template <class State>
    void record(std::span<const State> times, std::span<const State> states) {
        times_.assign(times.begin(), times.end());
        network_.record(times.size(), states);
    }
    template <class State>
    State pull_back(index_t i, std::span<const State> grad_dz, std::span<State> grad_z) {
        const double t = t_at(times_[static_cast<std::size_t>(i)]);
        double grad_time = 0.0;
        for (std::size_t k = 0; k < grad_dz.size(); ++k) {
            const auto pair = static_cast<index_t>(k);
            double bend = prior_.log_alpha_curvature(config_, pair, t);
            if (in_log_time) bend = t * (prior_.log_alpha_rate(config_, pair, t) + t * bend);  // d/dln t of t xi(t)
            grad_time += double{grad_dz[k]} * bend;
            grad_net_[k] = share_[k] * double{grad_dz[k]};
        }
        const Scalar* const grad = network_.pull_back(i, std::span<const double>(grad_net_));
        for (std::size_t k = 0; k < grad_z.size(); ++k) grad_z[k] += static_cast<State>(grad[k]);
        return static_cast<State>(grad_time);
    }

 private:
    static double t_at(double time) { return in_log_time ? std::exp(time) : time; }

    rope_config config_;
    Prior prior_;
    std::vector<double> share_;     // s [pairs]; in t: 1
    std::vector<double> grad_net_;  // workspace [pairs]
};

}  // namespace clex_detail

/// Chen et al. 2024, eq. 12-14, of z = log inv_freq [pairs]:
///
///   dz_i/dt = [W_down sigma(W_up z)]_i + xi_i(t)          xi_i = d log alpha_i/dt of the prior
///
/// With the NTK-aware prior xi_i = -2i/((d-2) t), i from 0: the paper prints i from 1, but only i from 0 leaves theta_0
/// unscaled and divides the last frequency by t, as NTK-aware scaling and the authors' code do.
///
/// Scalar is the arithmetic of the network. States and times are float or double, as in the solver.
template <prior_policy Prior = ntk_aware, activation Activation = silu, class Scalar = double>
using paper_field = clex_detail::prior_field<Prior, Activation, Scalar, false>;

/// A variant of this library, of z over tau = ln t:
///
///   dz_i/dtau = s_i [W_down sigma(W_up z)]_i + t xi_i(t)          s_i = 1/(1 + theta_i original_length)
///
/// Every doubling of the length has the same extent in tau, so that equal steps are suitable for t = 1 ... 64. Since
/// s_i is small for a pair that rotates often within the original length, such a pair changes little, as under by-parts
/// policies.
template <prior_policy Prior = ntk_aware, activation Activation = silu, class Scalar = double>
using log_time_field = clex_detail::prior_field<Prior, Activation, Scalar, true>;

}  // namespace cordage
