// SPDX-License-Identifier: MIT
// The check that tables of one factor a pair share; serves the stage t -> log alpha.
#pragma once

#include <cstddef>
#include <vector>

#include "cordage/core/config.hpp"

namespace cordage {

/// Throws unless a table has one finite factor > 0 for each pair. `who` is the policy, `field` the table.
inline void validate_factors(const char* who, const char* field, const std::vector<double>& factors,
                             const rope_config& c) {
    if (factors.size() != static_cast<std::size_t>(c.pairs())) {
        fail<shape_error>({who, ": ", field, " size ", factors.size(), " must be rotary_dim/2 = ", c.pairs()});
    }
    for (std::size_t pair = 0; pair < factors.size(); ++pair) {
        if (!is_finite(factors[pair]) || !(factors[pair] > 0.0)) {
            fail<value_error>({who, ": ", field, "[", pair, "] ", factors[pair], " must be finite and > 0"});
        }
    }
}

}  // namespace cordage
