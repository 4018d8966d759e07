// SPDX-License-Identifier: MIT
#include "cache_path/cases.hpp"
#include "cache_path/run.hpp"

using namespace cordage;
using fuzz::operand_case, fuzz::run_cache_path, fuzz::sources;

bool fuzz::bfloat16_cases(input& in) {
    using plain = element_traits<bfloat16>;
    using fp16 = element_traits<float16>;
    switch (in.between(0, 4)) {
        case 0:
            return met("bf16 to bf16"),
                   run_cache_path<sources::moved, operand_case<bfloat16, plain, bfloat16, plain>>(in);
        case 1:
            return met("bf16 to bf16, norm"),
                   run_cache_path<sources::exact, operand_case<bfloat16, plain, bfloat16, plain, bfloat16>>(in);
        case 2:
            return met("bf16 to fp16"),
                   run_cache_path<sources::moved, operand_case<bfloat16, plain, float16, fp16>>(in);
        case 3:
            return met("fp16 to fp16, norm"),
                   run_cache_path<sources::exact, operand_case<float16, fp16, float16, fp16, float16>>(in);
        default:
            return met("bf16 to fp32"),
                   run_cache_path<sources::exact, operand_case<bfloat16, plain, float, element_traits<float>>>(in);
    }
}
