// SPDX-License-Identifier: MIT
// Hugging Face's "dynamic" factor; a schedule of the stage sequence length -> t.
#pragma once

#include <algorithm>

#include "cordage/schedule/schedule.hpp"

namespace cordage {

/// t = s * max(1, seq_len / original_length) - (s - 1), s = factor: what transformers' "dynamic" does to the base of
/// NTK-aware scaling, so dynamic NTK is `ntk_aware` on this schedule. factor 1 is `continuous`.
struct dynamic {
    double factor = 1.0;

    double ratio(const rope_config& c, double seq_len) const {
        // The 1 last: a factor of 2^53 and more would round it away.
        return std::max(1.0, factor * (seq_len / c.original_length) - (factor - 1.0));
    }
    void validate() const {
        if (!is_finite(factor) || !(factor >= 1.0)) {
            fail<value_error>({"dynamic: factor ", factor, " must be finite and >= 1"});
        }
    }
};
static_assert(length_schedule<dynamic>);

}  // namespace cordage
