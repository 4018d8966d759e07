// SPDX-License-Identifier: MIT
#include "cache_path/cases.hpp"
#include "cache_path/run.hpp"

using namespace cordage;

bool fuzz::bfloat16_cases(input& in) {
    using plain = element_traits<bfloat16>;
    const auto which = in.between(0, 2);
    if (which == 0) return run_cache_path<bfloat16, plain, bfloat16, plain, false>(in);
    if (which == 1) return run_cache_path<bfloat16, plain, bfloat16, plain, true>(in);
    return run_cache_path<bfloat16, plain, float16, element_traits<float16>, false>(in);
}
