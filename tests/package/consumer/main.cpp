// SPDX-License-Identifier: MIT
// A user's program: it compiles, links and computes if the package is whole.
#include <cmath>

#include "cordage/scaling/linear.hpp"

int main() {
    const cordage::rope_config config{.head_dim = 8, .rotary_dim = 8, .theta_base = 10000.0, .original_length = 16.0};
    return std::abs(cordage::linear{}.log_alpha(config, 1, 4.0) + std::log(4.0)) < 1e-15 ? 0 : 1;
}
