// SPDX-License-Identifier: MIT
// Includes every header. Its object and a copy of it make one program (main.cpp).
#include "everything.hpp"

extern "C" {  // a name that objcopy can rename
cordage::index_t pairs_by_first_unit(const cordage::rope_config& config);
cordage::index_t pairs_by_first_unit(const cordage::rope_config& config) { return config.pairs(); }
}
