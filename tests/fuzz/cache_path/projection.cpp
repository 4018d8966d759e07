// SPDX-License-Identifier: MIT
#include "cache_path/cases.hpp"
#include "cache_path/run.hpp"

using namespace cordage;
using fuzz::operand_case, fuzz::run_cache_path, fuzz::sources;

// q, k and v of one call, each with its own norm, type and place.
bool fuzz::projection_cases(input& in) {
    using plain = element_traits<float>;
    using bf16 = element_traits<bfloat16>;
    if (in.coin()) {
        using q = operand_case<float, plain, float, plain, float>;
        using k = operand_case<float, plain, std::int8_t, scaled_bytes<std::int8_t>, float>;
        using v = operand_case<float, plain, bfloat16, bf16>;
        return met("q, k and v from fp32"), cache_path_run<sources::exact, q, k, v>(in).run();
    }
    using q = operand_case<bfloat16, bf16, bfloat16, bf16>;
    using k = operand_case<bfloat16, bf16, bfloat16, lane_groups<bf16>, bfloat16>;
    using v = operand_case<bfloat16, bf16, q8_0_block, hadamard<q8_0>>;
    return met("q, k and v from bf16"), cache_path_run<sources::exact, q, k, v>(in).run();
}
