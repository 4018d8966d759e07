// SPDX-License-Identifier: MIT
// The other of two units that include every header; links with first.cpp.
#include "everything.hpp"

cordage::index_t pairs_by_second_unit(const cordage::rope_config& config);
cordage::index_t pairs_by_second_unit(const cordage::rope_config& config) { return config.pairs(); }
