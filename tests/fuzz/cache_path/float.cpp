// SPDX-License-Identifier: MIT
#include "cache_path/cases.hpp"
#include "cache_path/run.hpp"

using namespace cordage;
using fuzz::operand_case, fuzz::run_cache_path, fuzz::sources;

bool fuzz::float_cases(input& in) {
    using plain = element_traits<float>;
    using bf16 = element_traits<bfloat16>;
    switch (in.between(0, 3)) {
        case 0:
            return met("fp32 to fp32"), run_cache_path<sources::all, operand_case<float, plain, float, plain>>(in);
        case 1:
            return met("fp32 to fp32, norm"),
                   run_cache_path<sources::exact, operand_case<float, plain, float, plain, float>>(in);
        case 2:
            return met("fp32 to bf16, norm"),
                   run_cache_path<sources::exact, operand_case<float, plain, bfloat16, bf16, bfloat16>>(in);
        default:
            return met("fp32 to fp16"),
                   run_cache_path<sources::exact, operand_case<float, plain, float16, element_traits<float16>>>(in);
    }
}
