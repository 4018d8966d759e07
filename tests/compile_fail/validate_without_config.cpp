// SPDX-License-Identifier: MIT
// A policy's check that would not be called.
// expected: void validate(const rope_config&) const
#include "cordage/basis/basis.hpp"

struct checked {
    double log_alpha(const cordage::rope_config&, cordage::index_t, double) const { return 0.0; }
    double log_alpha_rate(const cordage::rope_config&, cordage::index_t, double) const { return 0.0; }
#if defined(CORDAGE_COMPILE_FAIL)
    void validate() const {}
#endif
};

cordage::basis made(const cordage::rope_config& config) { return cordage::make_basis(config, checked{}, 2.0); }
