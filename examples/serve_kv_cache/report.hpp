// SPDX-License-Identifier: MIT
// The cost of a token in one layer of Llama-2-7B with four ways to choose t, summed from parts timed separately.
#pragma once

#include "cordage/core/index.hpp"

struct report_shape {
    cordage::index_t context = 16384;  ///< tokens in the cache before the first one is generated
    cordage::index_t generated = 512;
    cordage::index_t rounds = 15;  ///< of timing
};

/// Prints the table and the parts. At the default shape it takes about a minute and 1 GB.
void print_report(const report_shape& shape);
