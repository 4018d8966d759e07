// SPDX-License-Identifier: MIT
// CLEX with its field, activation and prior chosen at run time, as plain numbers: no libtorch, no Eigen.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cordage/clex/weights.hpp"
#include "cordage/core/config.hpp"

namespace cordage_torch {

/// All of a CLEX except its weights.
struct clex_settings {
    cordage::rope_config config;
    double t_max = 16.0;
    std::string field = "paper";          ///< "paper", "log_length" or "released"
    std::string activation = "silu";      ///< or "tanh"
    std::string prior = "ntk_aware";      ///< "ntk_aware", "linear", "yarn" or "by_parts"
    std::vector<double> prior_numbers{};  ///< yarn: beta_fast, beta_slow; by_parts: rotations_low, rotations_high
    double tolerance = 1e-10;             ///< of the adaptive solver, relative and absolute
    double step_size = 0.0;               ///< if > 0: steps of this size instead

    friend bool operator==(const clex_settings&, const clex_settings&) = default;
};

/// A CLEX, solved.
class clex_model {
 public:
    virtual ~clex_model() = default;
    /// inv_freq at t, into out [pairs]; returns the attention factor.
    virtual double inv_freq(double t, std::span<double> out) const = 0;
    /// The gradient to up [hidden, pairs] and down [pairs, hidden], flat, of a loss with gradient grads [ts, pairs] to
    /// inv_freq at every t of ts.
    virtual std::vector<double> weight_gradient(std::span<const double> ts, std::span<const double> grads) const = 0;
};

/// Solves, or returns the solution of the last few calls with the same settings and weights.
/// @throws cordage::error naming the invalid setting
std::shared_ptr<const clex_model> solved_clex(const clex_settings& settings, const cordage::clex_weights& weights);

}  // namespace cordage_torch
