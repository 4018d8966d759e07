// SPDX-License-Identifier: MIT
// The ODE of the CLEX paper over any prior, in t or in ln t; serves the stage clex.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <type_traits>
#include <vector>

#include "cordage/clex/activation.hpp"
#include "cordage/clex/network.hpp"
#include "cordage/clex/weights.hpp"
#include "cordage/core/config.hpp"
#include "cordage/ode/field.hpp"
#include "cordage/scaling/masked.hpp"
#include "cordage/scaling/power_laws.hpp"

namespace cordage {

namespace clex_detail {

/// paper_field and log_length_field, for states and times in float or double.
template <prior_policy Prior, activation Activation, class Scalar, bool InLogTime>
class prior_field : public field_of_network<prior_field<Prior, Activation, Scalar, InLogTime>, Scalar, Activation> {
    using base = field_of_network<prior_field, Scalar, Activation>;
    using base::network_;

 public:
    using prior_type = Prior;
    static constexpr bool in_log_time = InLogTime;  ///< the solver's variable is ln t

    /// Precondition: the weights fit the config (validate in weights.hpp).
    prior_field(const rope_config& config, const clex_weights& weights, const Prior& prior = {})
        : base(in_log_time ? with_input_scale(config, weights) : weights), config_(config), prior_(prior) {
        const double output_scale = std::sqrt(2.0 * std::numbers::pi) / static_cast<double>(weights.hidden);
        for (index_t pair = 0; pair < config.pairs(); ++pair) {
            share_.push_back(in_log_time ? output_scale * config.phase_gate(pair) : 1.0);
            if (prior.log_alpha(config, pair, 1.0) <= log_alpha_unrotated / 2.0) {
                network_.shift_input(pair, log_alpha_unrotated);
            }
        }
        grad_net_.resize(share_.size());
    }

    template <class State>
    void operator()(State time, std::type_identity_t<std::span<const State>> z,
                    std::type_identity_t<std::span<State>> dz) {
        network_(z, dz);
        const double t = in_log_time ? std::exp(double{time}) : double{time};
        for (std::size_t i = 0; i < dz.size(); ++i) {
            const double rate = prior_.log_alpha_rate(config_, static_cast<index_t>(i), t);
            dz[i] = static_cast<State>(in_log_time ? share_[i] * double{dz[i]} + t * rate : double{dz[i]} + rate);
        }
    }

    template <class State>
    void record(std::span<const State> times, std::span<const State> states) {
        network_.record(times.size(), states);
    }
    template <class State>
    void pull_back(index_t i, std::span<const State> grad_dz, std::span<State> grad_z) {
        for (std::size_t k = 0; k < grad_dz.size(); ++k) grad_net_[k] = share_[k] * double{grad_dz[k]};
        const Scalar* const grad = network_.pull_back(i, std::span<const double>(grad_net_));
        for (std::size_t k = 0; k < grad_z.size(); ++k) grad_z[k] += static_cast<State>(grad[k]);
    }
    template <class State>
    void collect(std::span<State> grad_parameters) {
        if constexpr (!in_log_time) return base::collect(grad_parameters);
        std::vector<State> scaled(grad_parameters.size());  // the gradient to W_up / (pairs r), then to W_down
        base::collect(std::span<State>(scaled));
        const double scale = input_scale(config_);
        for (std::size_t i = 0; i < scaled.size(); ++i) {
            grad_parameters[i] += i < scaled.size() / 2 ? static_cast<State>(scale * double{scaled[i]}) : scaled[i];
        }
    }

 private:
    /// 1 / (pairs r).
    static double input_scale(const rope_config& config) {
        return std::numbers::sqrt3 / (static_cast<double>(config.pairs()) * std::log(config.theta_base));
    }
    static clex_weights with_input_scale(const rope_config& config, clex_weights weights) {
        for (double& weight : weights.up) weight *= input_scale(config);
        return weights;
    }

    rope_config config_;
    Prior prior_;
    std::vector<double> share_;     // of the network's output [pairs]; in t: 1
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
/// Of pairs that the prior does not rotate (masked, proportional), whose z is about -10^4, W_up is given z + 10^4: what
/// it would be if the prior's alpha were 1.
///
/// Scalar is the arithmetic of the network. States and times are float or double, as in the solver.
template <prior_policy Prior = ntk_aware, activation Activation = silu, class Scalar = double>
using paper_field = clex_detail::prior_field<Prior, Activation, Scalar, false>;

/// A variant of this library, of z over tau = ln t:
///
///   dz_i/dtau = s_i (sqrt(2 pi)/hidden) [W_down sigma(W_up z / (pairs r))]_i + t xi_i(t)
///   s_i = 1/(1 + theta_i original_length)          r = ln(theta_base)/sqrt(3), about the root mean square of log theta
///
/// Every doubling of the length has the same extent in tau, so that equal steps are suitable for t = 1 ... 64. Since
/// s_i is small for a pair that rotates often within the original length, such a pair changes little, as under by-parts
/// policies.
///
/// Means instead of sums make the weights' units those of a learned_table: a step of Adam, which moves a
/// table's log alpha_i by s_i times the rate, moves this one's by about ln t times that for W_up of standard deviation
/// sqrt(pairs) (log_length_initial_weights), whatever the width. One rate is right for both.
template <prior_policy Prior = ntk_aware, activation Activation = silu, class Scalar = double>
using log_length_field = clex_detail::prior_field<Prior, Activation, Scalar, true>;

}  // namespace cordage
