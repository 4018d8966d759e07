// SPDX-License-Identifier: MIT
#include "cache_path/cases.hpp"
#include "cache_path/run.hpp"

using namespace cordage;

bool fuzz::group_cases(input& in) {
    using bf16 = lane_groups<element_traits<bfloat16>>;
    using transformed = hadamard<q8_0>;
    const auto which = in.between(0, 3);
    if (which == 0) return run_cache_path<bfloat16, element_traits<bfloat16>, bfloat16, bf16, true>(in);
    if (which == 1) return run_cache_path<bfloat16, bf16, bfloat16, bf16, false>(in);
    if (which == 2) return run_cache_path<q8_0_block, transformed, q8_0_block, transformed, false>(in);
    return run_cache_path<float, element_traits<float>, q8_0_block, lane_groups<transformed>, false>(in);
}
