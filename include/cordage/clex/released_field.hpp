// SPDX-License-Identifier: MIT
// The ODE of CLEX as its authors released it, another than the paper's; serves the stage clex.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

#include "cordage/clex/activation.hpp"
#include "cordage/clex/coordinates.hpp"
#include "cordage/clex/network.hpp"
#include "cordage/clex/weights.hpp"
#include "cordage/core/config.hpp"
#include "cordage/ode/field.hpp"
#include "cordage/ode/vectors.hpp"
#include "cordage/scaling/ntk_aware.hpp"

namespace cordage {

/// The released layer, of z = log inv_freq [pairs], with a = 2t - 1:
///
///   dz_i/dt = [W_down sigma(W_up (z + log n(t)))]_i + xi_i(t)
///   log n_i(t) = -(2i/d) ln 10000 - (2i/(d-2)) ln a          xi_i(t) = d log n_i/dt = -(4i/(d-2)) / a
///
/// n is the NTK-aware basis at factor a, with base 10000 whatever the model's theta_base. The paper (eq. 12-14) has
/// neither n nor the 2 in a: weights trained on the one ODE mean nothing on the other.
///
/// All that depends on t has the direction of one vector, so that the ODE is as simple in other coordinates y = T (z -
/// o) (coordinates.hpp); then states and parameters are those of y. Network is the arithmetic of the network; states
/// and times are of type Scalar.
template <class Scalar, activation Activation = tanh_activation, class Network = Scalar>
class released_field {
 public:
    /// The weights fit the config (weights.hpp: validate).
    released_field(const rope_config& config, const clex_weights& weights)
        : released_field(config, weights, clex_coordinates(config.pairs())) {}

    /// The same ODE of y.
    released_field(const rope_config& config, const clex_weights& weights, const clex_coordinates& coordinates)
        : network_(coordinates.weights(weights), coordinates.unit_rows()),
          seen_(static_cast<std::size_t>(config.pairs())) {
        rope_config base_10000 = config;
        base_10000.theta_base = 10000.0;
        std::vector<double> exponents, log_theta;
        for (index_t pair = 0; pair < config.pairs(); ++pair) {
            exponents.push_back(ntk_aware::exponent(config, pair));
            log_theta.push_back(base_10000.log_inv_freq(pair) + coordinates.origin()[static_cast<std::size_t>(pair)]);
        }
        exponents_ = coordinates.direction(exponents);
        log_theta_ = coordinates.direction(log_theta);
    }

    index_t size() const noexcept { return network_.pairs(); }
    index_t parameter_count() const noexcept { return network_.parameter_count(); }

    void operator()(Scalar t, std::span<const Scalar> z, std::span<Scalar> dz) {
        look_at(t, z, seen_);
        network_(std::span<const Scalar>(seen_), dz);
        const double scale = 2.0 / factor(t);
        for (std::size_t i = 0; i < dz.size(); ++i) dz[i] -= static_cast<Scalar>(exponents_[i] * scale);
    }

    Scalar vjp(Scalar t, std::span<const Scalar> z, std::span<const Scalar> grad_dz, std::span<Scalar> grad_z,
               std::span<Scalar> grad_parameters) {
        return vjp_of_record(*this, t, z, grad_dz, grad_z, grad_parameters);
    }

    void record(std::span<const Scalar> times, std::span<const Scalar> states) {
        times_.assign(times.begin(), times.end());
        all_seen_.resize(states.size());
        const std::size_t size = seen_.size();
        for (std::size_t i = 0; i < times.size(); ++i) {
            look_at(times[i], states.subspan(i * size, size), std::span(all_seen_).subspan(i * size, size));
        }
        network_.record(static_cast<index_t>(times.size()), std::span<const Scalar>(all_seen_));
    }
    Scalar pull_back(index_t i, std::span<const Scalar> grad_dz, std::span<Scalar> grad_z) {
        std::ranges::fill(seen_, Scalar{0});
        network_.pull_back(i, grad_dz, std::span<Scalar>(seen_));
        const double scale = 2.0 / factor(times_[static_cast<std::size_t>(i)]);
        add_scaled<Scalar>(1, seen_, grad_z);
        // t moves what the network sees by xi = -exponent scale, and xi itself by 2 exponent scale / a = exponent
        // scale^2.
        const std::span<const double> exponents(exponents_);
        return static_cast<Scalar>(scale * (scale * dot(exponents, grad_dz.data()) - dot(exponents, seen_.data())));
    }
    void collect(std::span<Scalar> grad_parameters) { network_.collect(grad_parameters); }

 private:
    /// a = 2t - 1, held at 1 below t = 1.
    static double factor(Scalar t) { return std::max(2.0 * double{t} - 1.0, 1.0); }

    /// seen = z + log n(t), what the network is given.
    void look_at(Scalar t, std::span<const Scalar> z, std::span<Scalar> seen) const {
        const double log_factor = std::log(factor(t));
        for (std::size_t i = 0; i < z.size(); ++i) {
            seen[i] = static_cast<Scalar>(double{z[i]} + (log_theta_[i] - exponents_[i] * log_factor));
        }
    }

    clex_network<Network, Activation> network_;
    std::vector<double> exponents_, log_theta_;  // T of 2i/(d-2), and of log theta_i of base 10000 + o_i [pairs]
    std::vector<Scalar> seen_;                   // workspace [pairs]
    std::vector<Scalar> times_, all_seen_;       // recorded [count], [count, pairs]
};

/// The choice of this field in `clex`: solved in t itself, over NTK-aware scaling and nothing else.
struct released_time {
    template <class Scalar, class Prior, class Activation, class Network>
    struct field : released_field<Scalar, Activation, Network> {
        static_assert(
            std::same_as<Prior, ntk_aware>,
            "cordage::clex: the released field is made of NTK-aware scaling, so that Prior must be ntk_aware; "
            "take paper_time or log_time for another prior");
        field(const rope_config& config, const clex_weights& weights, const Prior& = {})
            : released_field<Scalar, Activation, Network>(config, weights) {}
        field(const rope_config& config, const clex_weights& weights, const Prior&, const clex_coordinates& coordinates)
            : released_field<Scalar, Activation, Network>(config, weights, coordinates) {}
    };

    static constexpr bool is_logarithm = false;
    static double of(double t) { return t; }
    static double rate(double) { return 1.0; }
};

}  // namespace cordage
