// SPDX-License-Identifier: MIT
#include "cache_path/cases.hpp"
#include "cache_path/run.hpp"

using namespace cordage;

bool fuzz::block_cases(input& in) {
    using plain = element_traits<float>;
    const auto which = in.between(0, 3);
    if (which == 0) return run_cache_path<float, plain, q8_0_block, q8_0, true>(in);
    if (which == 1) return run_cache_path<q8_0_block, q8_0, q8_0_block, q8_0, false>(in);
    if (which == 2) return run_cache_path<float, plain, q4_0_block, q4_0, false>(in);
    return run_cache_path<q8_0_block, q8_0, float, plain, false>(in);
}
