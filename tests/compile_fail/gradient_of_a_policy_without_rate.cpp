// SPDX-License-Identifier: MIT
// The gradient to t needs a policy's rate, and make_basis a whole policy.
// expected: the policy needs 'double log_alpha_rate(const rope_config&, index_t pair, double t) const'
#include "cordage/basis/gradient.hpp"

struct halving {
    double log_alpha(const cordage::rope_config&, cordage::index_t, double) const { return -0.69; }
#ifndef CORDAGE_COMPILE_FAIL
    double log_alpha_rate(const cordage::rope_config&, cordage::index_t, double) const { return 0.0; }
#endif
};

double gradient(const cordage::rope_config& config, const std::vector<double>& grad_inv_freq) {
    return cordage::grad_t(halving{}, config, 2.0, grad_inv_freq);
}
