// SPDX-License-Identifier: MIT
#include "cache_path/cases.hpp"
#include "cache_path/run.hpp"

using namespace cordage;
using fuzz::operand_case, fuzz::run_cache_path, fuzz::sources;

bool fuzz::block_cases(input& in) {
    using plain = element_traits<float>;
    switch (in.between(0, 4)) {
        case 0:
            return met("fp32 to q8_0, norm"),
                   run_cache_path<sources::exact, operand_case<float, plain, q8_0_block, q8_0, float>>(in);
        case 1:
            return met("q8_0 to q8_0"),
                   run_cache_path<sources::moved, operand_case<q8_0_block, q8_0, q8_0_block, q8_0>>(in);
        case 2:
            return met("fp32 to q4_0"),
                   run_cache_path<sources::exact, operand_case<float, plain, q4_0_block, q4_0>>(in);
        case 3:
            return met("q4_0 to q4_0"),
                   run_cache_path<sources::moved, operand_case<q4_0_block, q4_0, q4_0_block, q4_0>>(in);
        default:
            return met("q8_0 to fp32"),
                   run_cache_path<sources::moved, operand_case<q8_0_block, q8_0, float, plain>>(in);
    }
}
