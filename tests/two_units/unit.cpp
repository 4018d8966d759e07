// SPDX-License-Identifier: MIT
// Includes every header. Its object and a copy of that make one program (main.cpp).
#include "everything.hpp"

extern "C" {  // a name that objcopy can be given
cordage::index_t pairs_by_first_unit(const cordage::rope_config& config);
cordage::index_t pairs_by_first_unit(const cordage::rope_config& config) { return config.pairs(); }
}
