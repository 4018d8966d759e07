// SPDX-License-Identifier: MIT
// A policy without log_alpha_rate: the error shows what to write.
// expected: cordage: the policy needs 'double log_alpha_rate(const rope_config&, index_t pair, double t)
// expected: const', d log_alpha / dt; docs/extending.md
#include "cordage/basis/rope_scaling.hpp"
#include "cordage/schedule/schedules.hpp"

struct halving {
    double log_alpha(const cordage::rope_config&, cordage::index_t, double) const { return -0.69; }
#ifndef CORDAGE_COMPILE_FAIL
    double log_alpha_rate(const cordage::rope_config&, cordage::index_t, double) const { return 0.0; }
#endif
};

template class cordage::rope_scaling<halving, cordage::fixed>;
