// SPDX-License-Identifier: MIT
// The exact t of every length; a schedule of the stage sequence length -> t.
#pragma once

#include <algorithm>

#include "cordage/schedule/schedule.hpp"

namespace cordage {

/// t = max(t_min, seq_len / original_length). With t_min = 1 it is the ideal of CLEX section 3.3; with t_min = the t of
/// training it is the paper's "self-extending" evaluation of fixed methods (appendix A.3).
struct continuous {
    double t_min = 1.0;

    double ratio(const rope_config& c, double seq_len) const { return std::max(t_min, seq_len / c.original_length); }
    void validate() const { validate_ratio("continuous: t_min", t_min); }
};
static_assert(length_schedule<continuous>);

}  // namespace cordage
