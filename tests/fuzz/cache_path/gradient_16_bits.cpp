// SPDX-License-Identifier: MIT
#include "cache_path/cases.hpp"
#include "cache_path/gradients.hpp"

using namespace cordage;
using fuzz::gradient_case, fuzz::gradient_run;

bool fuzz::gradient_cases_of_16_bits(input& in) {
    if (in.coin()) return met("gradients, fp16"), gradient_run<gradient_case<float16, float>>(in).run();
    return met("gradients, bf16 with and without a norm"),
           gradient_run<gradient_case<bfloat16, bfloat16>, gradient_case<bfloat16>>(in).run();
}
