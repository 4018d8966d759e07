// SPDX-License-Identifier: MIT
// A schedule without ratio: the error shows what to write.
// expected: or one with 'double ratio(const rope_config&, double seq_len) const', the t >= 1 of a length
#include "cordage/basis/rope_scaling.hpp"
#include "cordage/scaling/power_laws.hpp"

struct always_two {
#ifndef CORDAGE_COMPILE_FAIL
    double ratio(const cordage::rope_config&, double) const { return 2.0; }
#endif
};

template class cordage::rope_scaling<cordage::linear, always_two>;
