// SPDX-License-Identifier: MIT
// A schedule's check that would not be called.
// expected: a schedule's check is 'void validate() const'
#include "cordage/basis/rope_scaling.hpp"
#include "cordage/scaling/power_laws.hpp"

struct always_two {
    double ratio(const cordage::rope_config&, double) const { return 2.0; }
#ifdef CORDAGE_COMPILE_FAIL
    void validate(const cordage::rope_config&) const {}
#endif
};

template class cordage::rope_scaling<cordage::linear, always_two>;
