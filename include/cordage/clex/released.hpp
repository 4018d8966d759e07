// SPDX-License-Identifier: MIT
// CLEX as its authors released it, the whole scheme as a scaling policy; serves the stage clex.
#pragma once

#include "cordage/clex/clex.hpp"
#include "cordage/clex/released_field.hpp"
#include "cordage/ode/linear_output.hpp"

namespace cordage {

/// The released layer: released_field solved by the 3/8 rule in steps of time_dt from t = 1, the last one shortened,
/// and z read on straight lines between the steps. t = 1 is the unscaled basis.
///
///   const clex_released<> policy(config, to_columns(rows), released_options(16, 0.01));    // tanh
///   const clex_released<silu> policy(...);
///
/// For inference solve to max_factor and read at the t of `rounded_up`; for training solve to the t that was drawn, as
/// the released code does: the ends of steps, and so the last bits, differ. config.original_length is
/// max_position_embeddings. Everything else is as clex.hpp says, gradients included.
template <activation Activation = tanh_activation, class Scalar = double>
using clex_released = clex<ntk_aware, released_time, Activation, linear_output<rk4_38>, Scalar>;

/// How the released layer is solved: up to t_max, which is max_factor or a t drawn for training, in steps of time_dt.
/// @throws value_error from clex's constructor, if either is out of its domain
inline clex_options released_options(double t_max, double time_dt) { return {.t_max = t_max, .step_size = time_dt}; }

}  // namespace cordage
