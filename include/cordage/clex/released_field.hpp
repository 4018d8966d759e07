// SPDX-License-Identifier: MIT
// The ODE of CLEX as released by its authors, which differs from the paper's; serves the stage clex.
#pragma once

#include <algorithm>
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

/// The released layer, for z = log inv_freq [pairs], with a = 2t - 1:
///
///   dz_i/dt = [W_down sigma(W_up (z + log n(t)))]_i + xi_i(t)
///   log n_i(t) = -(2i/d) ln 10000 - (2i/(d-2)) ln a          xi_i(t) = d log n_i/dt = -(4i/(d-2)) / a
///
/// n is the NTK-aware basis at factor a, with base 10000 for any theta_base of the model. The paper (eq. 12-14) has
/// neither n nor the 2 in a: weights trained on one of the two ODEs do not fit the other.
///
/// Scalar is the arithmetic of the network. States and times are float or double, as in the solver.
template <activation Activation = tanh_activation, class Scalar = double>
class released_field : public clex_detail::field_of_network<released_field<Activation, Scalar>, Scalar, Activation> {
    using base = clex_detail::field_of_network<released_field, Scalar, Activation>;
    using base::network_;

 public:
    using prior_type = ntk_aware;
    static constexpr bool in_log_time = false;  ///< the solver's variable is t

    /// Precondition: the weights fit the config (validate in weights.hpp).
    released_field(const rope_config& config, const clex_weights& weights, const ntk_aware& = {})
        : base(weights), seen_(static_cast<std::size_t>(config.pairs())) {
        rope_config base_10000 = config;
        base_10000.theta_base = 10000.0;
        for (index_t pair = 0; pair < config.pairs(); ++pair) {
            exponents_.push_back(ntk_aware::exponent(config, pair));
            log_theta_.push_back(base_10000.log_inv_freq(pair));
        }
    }

    template <class State>
    void operator()(State t, std::type_identity_t<std::span<const State>> z,
                    std::type_identity_t<std::span<State>> dz) {
        network_input(double{t}, z, seen_.data());
        network_(std::span<const Scalar>(seen_), dz);
        const double scale = 2.0 / factor(double{t});
        for (std::size_t i = 0; i < dz.size(); ++i) dz[i] -= static_cast<State>(exponents_[i] * scale);
    }

    template <class State>
    void record(std::span<const State> times, std::span<const State> states) {
        all_seen_.resize(states.size());
        const std::size_t size = seen_.size();
        for (std::size_t i = 0; i < times.size(); ++i) {
            network_input(double{times[i]}, states.subspan(i * size, size), all_seen_.data() + i * size);
        }
        network_.record(times.size(), std::span<const Scalar>(all_seen_));
    }
    template <class State>
    void pull_back(index_t i, std::span<const State> grad_dz, std::span<State> grad_z) {
        const Scalar* const grad_seen = network_.pull_back(i, grad_dz);
        for (std::size_t k = 0; k < grad_z.size(); ++k) grad_z[k] += static_cast<State>(grad_seen[k]);
    }

 private:
    /// a = 2t - 1, clamped to 1 below t = 1.
    static double factor(double t) { return std::max(2.0 * t - 1.0, 1.0); }

    /// seen = z + log n(t), the input of the network.
    template <class State>
    void network_input(double t, std::span<const State> z, Scalar* seen) const {
        const double log_factor = std::log(factor(t));
        for (std::size_t i = 0; i < z.size(); ++i) {
            seen[i] = static_cast<Scalar>(double{z[i]} + (log_theta_[i] - exponents_[i] * log_factor));
        }
    }

    std::vector<double> exponents_, log_theta_;  // 2i/(d-2), and log theta_i of base 10000 [pairs]
    std::vector<Scalar> seen_;                   // workspace [pairs]
    std::vector<Scalar> all_seen_;               // recorded [count, pairs]
};

}  // namespace cordage
