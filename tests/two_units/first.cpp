// SPDX-License-Identifier: MIT
// One of two units that include every header; links with second.cpp.
#include "everything.hpp"

cordage::index_t pairs_by_second_unit(const cordage::rope_config& config);

int main() {
    const cordage::rope_config config{.head_dim = 8, .rotary_dim = 6, .theta_base = 10000.0, .original_length = 16.0};
    return pairs_by_second_unit(config) == config.pairs() ? 0 : 1;
}
