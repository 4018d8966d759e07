// SPDX-License-Identifier: MIT
// Includes everything that runs on the CPU. The data flow; each stage is a folder and includes only stages before it:
//
//   config -> policy alpha(t) -> basis theta(t) = alpha(t) theta -> angles p theta -> rotation of q and k
//               ^      ^                                                                  |
//     L -> t(L)        neural ODE (CLEX) <- its gradient <- dL/dtheta <- dL/dq, dL/dk  <--'
//
// Not included, since they cost more compile time than most programs gain from them: "cordage/core/threads.hpp"
// (threads) and "cordage/clex/initial_weights.hpp" (clex_initial_weights). Include them where they are used. What is
// known of models, such as the readers of configs, is in "cordage/models.hpp", a component of its own.
#pragma once

// core: the model's numbers, views, executors, errors
#include "cordage/core/config.hpp"
#include "cordage/core/error.hpp"
#include "cordage/version.hpp"

// scaling: t -> log alpha
#include "cordage/scaling/any_policy.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/learned_table.hpp"
#include "cordage/scaling/lerope.hpp"
#include "cordage/scaling/longrope.hpp"
#include "cordage/scaling/masked.hpp"
#include "cordage/scaling/policy.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/tempered.hpp"
#include "cordage/scaling/yarn.hpp"

// schedule: sequence length -> t
#include "cordage/schedule/schedules.hpp"

// ode, clex: the learned policy
#include "cordage/clex/clex.hpp"
#include "cordage/clex/weights.hpp"

// positions: positions of several axes; which positions a training sequence has
#include "cordage/positions/position_view.hpp"
#include "cordage/positions/sampler.hpp"
#include "cordage/positions/sections.hpp"

// basis: a policy at t -> inv_freq, and its gradient back
#include "cordage/basis/axial.hpp"
#include "cordage/basis/basis_cache.hpp"
#include "cordage/basis/gradient.hpp"
#include "cordage/basis/rope_scaling.hpp"

// angles, rotate: the kernels
#include "cordage/kernels.hpp"

// attention: companions of the scores
#include "cordage/attention/score_factors.hpp"
