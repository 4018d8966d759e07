// SPDX-License-Identifier: MIT
#include "cache_path/cases.hpp"
#include "cache_path/run.hpp"

using namespace cordage;
using fuzz::operand_case, fuzz::run_cache_path, fuzz::sources;

bool fuzz::byte_cases(input& in) {
    using plain = element_traits<bfloat16>;
    using fp32 = element_traits<float>;
    using int8 = scaled_bytes<std::int8_t>;
    using e5m2 = scaled_bytes<fp8_e5m2>;
    switch (in.between(0, 3)) {
        case 0:
            return met("bf16 to int8, norm"),
                   run_cache_path<sources::exact, operand_case<bfloat16, plain, std::int8_t, int8, float>>(in);
        case 1:
            return met("fp32 to e4m3, norm"),
                   run_cache_path<sources::exact,
                                  operand_case<float, fp32, fp8_e4m3, scaled_bytes<fp8_e4m3>, bfloat16>>(in);
        case 2:
            return met("bf16 to e5m2"),
                   run_cache_path<sources::exact, operand_case<bfloat16, plain, fp8_e5m2, e5m2>>(in);
        default:
            return met("int8 to bf16"),
                   run_cache_path<sources::moved, operand_case<std::int8_t, int8, bfloat16, plain>>(in);
    }
}
