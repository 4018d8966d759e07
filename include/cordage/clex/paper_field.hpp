// SPDX-License-Identifier: MIT
// The ODE of the CLEX paper over any prior; serves the stage clex.
#pragma once

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

/// Chen et al. 2024, eq. 12-14, of z = log inv_freq [pairs]:
///
///   dz_i/dt = [W_down sigma(W_up z)]_i + xi_i(t)          xi_i = d log alpha_i/dt of the prior
///
/// With the NTK-aware prior xi_i = -2i/((d-2) t), i from 0: the paper prints i from 1, but only i from 0 leaves theta_0
/// unscaled and divides the last frequency by t, as NTK-aware scaling and the authors' code do.
///
/// Network is the arithmetic of the network; states, times and the prior's part are of type Scalar.
template <class Scalar, prior_policy Prior = ntk_aware, activation Activation = silu, class Network = Scalar>
class paper_field {
 public:
    /// The weights fit the config (weights.hpp: validate).
    paper_field(const rope_config& config, const clex_weights& weights, const Prior& prior = {})
        : config_(config), prior_(prior), network_(weights) {}

    index_t size() const noexcept { return network_.pairs(); }
    index_t parameter_count() const noexcept { return network_.parameter_count(); }

    void operator()(Scalar t, std::span<const Scalar> z, std::span<Scalar> dz) {
        network_(z, dz);
        for (std::size_t i = 0; i < dz.size(); ++i) {
            dz[i] += static_cast<Scalar>(prior_.log_alpha_rate(config_, static_cast<index_t>(i), double{t}));
        }
    }

    Scalar vjp(Scalar t, std::span<const Scalar> z, std::span<const Scalar> grad_dz, std::span<Scalar> grad_z,
               std::span<Scalar> grad_parameters) {
        return vjp_of_record(*this, t, z, grad_dz, grad_z, grad_parameters);
    }

    void record(std::span<const Scalar> times, std::span<const Scalar> states) {
        times_.assign(times.begin(), times.end());
        network_.record(static_cast<index_t>(times.size()), states);
    }
    Scalar pull_back(index_t i, std::span<const Scalar> grad_dz, std::span<Scalar> grad_z) {
        network_.pull_back(i, grad_dz, grad_z);
        const double t{times_[static_cast<std::size_t>(i)]};
        Scalar grad_t = 0;
        for (std::size_t k = 0; k < grad_dz.size(); ++k) {
            grad_t += grad_dz[k] * static_cast<Scalar>(prior_.log_alpha_curvature(config_, static_cast<index_t>(k), t));
        }
        return grad_t;
    }
    void collect(std::span<Scalar> grad_parameters) { network_.collect(grad_parameters); }

 private:
    rope_config config_;
    Prior prior_;
    clex_network<Network, Activation> network_;
    std::vector<Scalar> times_;  // recorded
};

/// The choice of this field in `clex`: it is solved in t itself.
struct paper_time {
    template <class Scalar, class Prior, class Activation, class Network>
    using field = paper_field<Scalar, Prior, Activation, Network>;

    static constexpr bool is_logarithm = false;
    static double of(double t) { return t; }
    static double rate(double) { return 1.0; }
};

}  // namespace cordage
