// SPDX-License-Identifier: MIT
// One t up to the original length and another beyond; a schedule of the stage sequence length -> t.
#pragma once

#include "cordage/schedule/schedule.hpp"

namespace cordage {

/// t = 1 up to original_length tokens and t = `beyond` for more: the switch between LongRoPE's short and long factors.
struct two_regimes {
    double beyond = 2.0;

    double ratio(const rope_config& c, double seq_len) const { return seq_len > c.original_length ? beyond : 1.0; }
    void validate() const {
        if (!is_finite(beyond) || !(beyond > 1.0)) {
            fail<value_error>({"two_regimes: beyond ", beyond, " must be finite and > 1"});
        }
    }
};
static_assert(length_schedule<two_regimes>);

}  // namespace cordage
