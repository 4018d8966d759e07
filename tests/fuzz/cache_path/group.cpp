// SPDX-License-Identifier: MIT
#include "cache_path/cases.hpp"
#include "cache_path/run.hpp"

using namespace cordage;
using fuzz::operand_case, fuzz::run_cache_path, fuzz::sources;

bool fuzz::group_cases(input& in) {
    using plain = element_traits<bfloat16>;
    using bf16 = lane_groups<plain>;
    using int8 = lane_groups<scaled_bytes<std::int8_t>>;
    using q8 = hadamard<q8_0>;
    using fp8 = hadamard<scaled_bytes<fp8_e4m3>>;
    using q4 = lane_groups<hadamard<q4_0>>;
    switch (in.between(0, 5)) {
        case 0:
            return met("bf16 to bf16 in groups, norm"),
                   run_cache_path<sources::exact, operand_case<bfloat16, plain, bfloat16, bf16, float>>(in);
        case 1:
            return met("bf16 to bf16, both in groups"),
                   run_cache_path<sources::moved, operand_case<bfloat16, bf16, bfloat16, bf16>>(in);
        case 2:
            return met("int8 to int8, both in groups"),
                   run_cache_path<sources::moved, operand_case<std::int8_t, int8, std::int8_t, int8>>(in);
        case 3:
            return met("q8_0 to q8_0, both transformed"),
                   run_cache_path<sources::moved, operand_case<q8_0_block, q8, q8_0_block, q8>>(in);
        case 4:
            return met("e4m3 to e4m3, both transformed"),
                   run_cache_path<sources::moved, operand_case<fp8_e4m3, fp8, fp8_e4m3, fp8>>(in);
        default:
            return met("fp32 to q4_0 transformed in groups"),
                   run_cache_path<sources::exact, operand_case<float, element_traits<float>, q4_0_block, q4>>(in);
    }
}
