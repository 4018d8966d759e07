// SPDX-License-Identifier: MIT
#include "cache_path/cases.hpp"
#include "cache_path/run.hpp"

using namespace cordage;

bool fuzz::byte_cases(input& in) {
    using plain = element_traits<bfloat16>;
    using int8 = scaled_bytes<std::int8_t>;
    using fp8 = scaled_bytes<fp8_e4m3>;
    const auto which = in.between(0, 3);
    if (which == 0) return run_cache_path<bfloat16, plain, std::int8_t, int8, true>(in);
    if (which == 1) return run_cache_path<std::int8_t, int8, std::int8_t, int8, false>(in);
    if (which == 2) return run_cache_path<fp8_e4m3, fp8, fp8_e4m3, fp8, false>(in);
    return run_cache_path<float, element_traits<float>, fp8_e5m2, scaled_bytes<fp8_e5m2>, true>(in);
}
