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
#include "cordage/clex/network.hpp"
#include "cordage/clex/weights.hpp"
#include "cordage/core/config.hpp"
#include "cordage/ode/field.hpp"
#include "cordage/scaling/ntk_aware.hpp"

namespace cordage {

/// The released layer, of z = log inv_freq [pairs], with a = 2t - 1:
///
///   dz_i/dt = [W_down sigma(W_up (z + log n(t)))]_i + xi_i(t)
///   log n_i(t) = -(2i/d) ln 10000 - (2i/(d-2)) ln a          xi_i(t) = d log n_i/dt = -(4i/(d-2)) / a
///
/// n is the NTK-aware basis at factor a, with base 10000 whatever the model's theta_base. The paper (eq. 12-14) has
/// neither n nor the 2 in a: weights trained on the one ODE mean nothing on the other.
template <class Scalar, activation Activation = tanh_activation>
class released_field {
 public:
    /// The weights fit the config (weights.hpp: validate).
    released_field(const rope_config& config, const clex_weights& weights)
        : network_(weights), seen_(static_cast<std::size_t>(config.pairs())), grad_seen_(seen_.size()) {
        rope_config base_10000 = config;
        base_10000.theta_base = 10000.0;
        for (index_t pair = 0; pair < config.pairs(); ++pair) {
            exponents_.push_back(ntk_aware::exponent(config, pair));
            log_theta_.push_back(base_10000.log_inv_freq(pair));
        }
    }

    index_t size() const noexcept { return network_.pairs(); }
    index_t parameter_count() const noexcept { return network_.parameter_count(); }

    void operator()(Scalar t, std::span<const Scalar> z, std::span<Scalar> dz) {
        look_at(t, z);
        network_(seen_, dz);
        const double scale = 2.0 / factor(t);
        for (std::size_t i = 0; i < dz.size(); ++i) dz[i] -= static_cast<Scalar>(exponents_[i] * scale);
    }

    Scalar vjp(Scalar t, std::span<const Scalar> z, std::span<const Scalar> grad_dz, std::span<Scalar> grad_z,
               std::span<Scalar> grad_parameters) {
        look_at(t, z);
        std::ranges::fill(grad_seen_, Scalar{0});
        network_.vjp(seen_, grad_dz, grad_seen_, grad_parameters);
        const double scale = 2.0 / factor(t);
        Scalar grad_t = 0;
        for (std::size_t i = 0; i < grad_z.size(); ++i) {
            grad_z[i] += grad_seen_[i];
            // t moves what the network sees by xi, and xi itself by 2 exponent scale / a = exponent scale^2.
            const double rate = -exponents_[i] * scale;
            grad_t += grad_seen_[i] * static_cast<Scalar>(rate) - grad_dz[i] * static_cast<Scalar>(rate * scale);
        }
        return grad_t;
    }

 private:
    /// a = 2t - 1, held at 1 below t = 1.
    static double factor(Scalar t) { return std::max(2.0 * double{t} - 1.0, 1.0); }

    /// seen_ = z + log n(t), what the network is given.
    void look_at(Scalar t, std::span<const Scalar> z) {
        const double log_factor = std::log(factor(t));
        for (std::size_t i = 0; i < z.size(); ++i) {
            seen_[i] = z[i] + static_cast<Scalar>(log_theta_[i] - exponents_[i] * log_factor);
        }
    }

    clex_network<Scalar, Activation> network_;
    std::vector<double> exponents_, log_theta_;  // 2i/(d-2), and log theta_i of base 10000 [pairs]
    std::vector<Scalar> seen_, grad_seen_;       // workspace [pairs]
};
static_assert(differentiable_field<released_field<double>, double> &&
              differentiable_field<released_field<float>, float>);

/// The choice of this field in `clex`: solved in t itself, over NTK-aware scaling and nothing else.
struct released_time {
    template <class Scalar, class Prior, class Activation>
    struct field : released_field<Scalar, Activation> {
        static_assert(
            std::same_as<Prior, ntk_aware>,
            "cordage::clex: the released field is made of NTK-aware scaling, so that Prior must be ntk_aware; "
            "take paper_time or log_time for another prior");
        field(const rope_config& config, const clex_weights& weights, const Prior& = {})
            : released_field<Scalar, Activation>(config, weights) {}
    };

    static double of(double t) { return t; }
    static double rate(double) { return 1.0; }
};

}  // namespace cordage
