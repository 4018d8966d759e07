// SPDX-License-Identifier: MIT
// A policy chosen at run time: what it lacks is said as for one chosen at compile time.
// expected: the policy, such as yarn{}, needs 'double log_alpha(const rope_config&, index_t pair, double t) const'
#include "cordage/scaling/any_policy.hpp"

struct halving {
#ifndef CORDAGE_COMPILE_FAIL
    double log_alpha(const cordage::rope_config&, cordage::index_t, double) const { return -0.69; }
#endif
    double log_alpha_rate(const cordage::rope_config&, cordage::index_t, double) const { return 0.0; }
};

const cordage::any_policy chosen = halving{};
