// SPDX-License-Identifier: MIT
// A policy whose parameters would not be trained.
// expected: a policy with parameters needs
#include <vector>

#include "cordage/basis/basis.hpp"

struct one_parameter {
    double log_alpha(const cordage::rope_config&, cordage::index_t, double t) const { return a * (t - 1.0); }
    double log_alpha_rate(const cordage::rope_config&, cordage::index_t, double) const { return a; }
#if defined(CORDAGE_COMPILE_FAIL)
    std::vector<double> parameters() const { return {a}; }
    one_parameter with_parameters(std::span<const double> numbers) const { return {numbers[0]}; }
    void log_alpha_vjp(const cordage::rope_config&, std::span<const double>, std::span<double>) const {}
#endif
    double a = 0.0;
};

cordage::basis made(const cordage::rope_config& config) { return cordage::make_basis(config, one_parameter{}, 2.0); }
