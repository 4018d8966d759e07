// SPDX-License-Identifier: MIT
// A policy without log_alpha: the error shows what to write.
// expected: the policy, such as yarn{}, needs 'double log_alpha(const rope_config&, index_t pair, double t) const'
// expected: , log of the factor on inv_freq[pair]; docs/extending.md
#include "cordage/basis/rope_scaling.hpp"
#include "cordage/schedule/schedules.hpp"

struct halving {
#ifndef CORDAGE_COMPILE_FAIL
    double log_alpha(const cordage::rope_config&, cordage::index_t, double) const { return -0.69; }
#endif
    double log_alpha_rate(const cordage::rope_config&, cordage::index_t, double) const { return 0.0; }
};

template class cordage::rope_scaling<halving, cordage::fixed>;
