// SPDX-License-Identifier: MIT
// The next whole t, capped; a schedule of the stage sequence length -> t.
#pragma once

#include <algorithm>
#include <cmath>

#include "cordage/schedule/schedule.hpp"

namespace cordage {

/// t = ceil(seq_len / original_length), at least 1 and at most t_max: what CLEX's released code does, where t_max is
/// its max_factor and original_length its max_position_embeddings. The same as `nearest_upper_bound` of 1, 2, ...,
/// t_max.
struct rounded_up {
    double t_max = 16.0;

    double ratio(const rope_config& c, double seq_len) const {
        return std::clamp(std::ceil(seq_len / c.original_length), 1.0, t_max);
    }
    void validate() const {
        if (!is_finite(t_max) || !(t_max >= 1.0) || std::floor(t_max) != t_max) {
            fail<value_error>({"rounded_up: t_max ", t_max, " must be a whole number >= 1"});
        }
    }
};
static_assert(length_schedule<rounded_up>);

}  // namespace cordage
