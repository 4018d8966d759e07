// SPDX-License-Identifier: MIT
// A rule whose trajectory is read on straight lines between its nodes; a wrapper of tableaus of the stage ode.
#pragma once

#include "cordage/ode/butcher_tableau.hpp"
#include "cordage/ode/tableaus.hpp"

namespace cordage {

/// The same rule with z(t + s h) = (1 - s) z + s z_next: exact to order 1 between nodes, however exact it is at them.
/// That is how torchdiffeq (0.2.5) reads what its fixed-step solvers leave. At a node, where two lines meet, the slope
/// of the trajectory is the field's.
template <butcher_tableau Rule>
struct linear_output : Rule {
    static constexpr bool is_read_linearly = true;
};
static_assert(has_linear_output<linear_output<rk4_38>> && !has_linear_output<rk4_38>);

}  // namespace cordage
