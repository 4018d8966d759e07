// SPDX-License-Identifier: MIT
// A learned table needs a closed form as its prior; the error names what the prior lacks.
// expected: cordage::learned_table: Prior needs 'double log_alpha(const rope_config&, index_t pair, double t)
// expected: const' and 'double log_alpha_rate' alike; docs/extending.md
#include "cordage/scaling/learned_table.hpp"

struct halving {
    double log_alpha(const cordage::rope_config&, cordage::index_t, double) const { return -0.69; }
#ifndef CORDAGE_COMPILE_FAIL
    double log_alpha_rate(const cordage::rope_config&, cordage::index_t, double) const { return 0.0; }
#endif
};

inline constexpr auto size_of_table = sizeof(cordage::learned_table<halving>);
