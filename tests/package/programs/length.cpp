// SPDX-License-Identifier: MIT
// A user's program for cordage::cordage: YaRN's attention factor at four times the length, 0.1 ln 4 + 1.
#include <cmath>
#include <cordage/cordage.hpp>
#include <cstdio>

int main() {
    const cordage::rope_config model{.head_dim = 64, .rotary_dim = 64, .theta_base = 10000, .original_length = 4096};
    const cordage::rope_scaling rule(model, cordage::yarn{}, cordage::continuous{});
    const double factor = rule.at_length(16384).attention_factor();
    std::printf("attention factor %.4f\n", factor);
    return std::abs(factor - 1.0 - 0.1 * std::log(4.0)) < 1e-12 ? 0 : 1;
}
