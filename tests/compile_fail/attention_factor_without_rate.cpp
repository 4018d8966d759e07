// SPDX-License-Identifier: MIT
// A policy's attention factor that would be ignored.
// expected: a policy with an attention factor needs
#include "cordage/basis/basis.hpp"

struct half_a_factor {
    double log_alpha(const cordage::rope_config&, cordage::index_t, double) const { return 0.0; }
    double log_alpha_rate(const cordage::rope_config&, cordage::index_t, double) const { return 0.0; }
#if defined(CORDAGE_COMPILE_FAIL)
    static double attention_factor(const cordage::rope_config&, double) { return 1.5; }
#endif
};

cordage::basis made(const cordage::rope_config& config) { return cordage::make_basis(config, half_a_factor{}, 2.0); }
