// SPDX-License-Identifier: MIT
#include "cache_path/cases.hpp"
#include "cache_path/run.hpp"

using namespace cordage;

bool fuzz::float_cases(input& in) {
    using plain = element_traits<float>;
    const auto which = in.between(0, 2);
    if (which == 0) return run_cache_path<float, plain, float, plain, false>(in);
    if (which == 1) return run_cache_path<float, plain, float, plain, true>(in);
    return run_cache_path<float, plain, bfloat16, element_traits<bfloat16>, true>(in);
}
