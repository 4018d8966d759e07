// SPDX-License-Identifier: MIT
// Calls two units that include every header: unit.cpp, and a copy of its object under another name.
#include "cordage/core/config.hpp"

extern "C" {
cordage::index_t pairs_by_first_unit(const cordage::rope_config& config);
cordage::index_t pairs_by_second_unit(const cordage::rope_config& config);
}

int main() {
    const cordage::rope_config config{.head_dim = 8, .rotary_dim = 6, .theta_base = 10000.0, .original_length = 16.0};
    return pairs_by_first_unit(config) == 3 && pairs_by_second_unit(config) == 3 ? 0 : 1;
}
