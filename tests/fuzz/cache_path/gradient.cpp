// SPDX-License-Identifier: MIT
#include "cache_path/cases.hpp"
#include "cache_path/gradients.hpp"

using namespace cordage;
using fuzz::gradient_case, fuzz::gradient_run;

bool fuzz::gradient_cases(input& in) {
    switch (in.between(0, 2)) {
        case 0:
            return met("gradients, fp32"), gradient_run<gradient_case<float, float>>(in).run();
        case 1:
            return met("gradients, fp32 with and without a norm"),
                   gradient_run<gradient_case<float, bfloat16>, gradient_case<float>>(in).run();
        default:
            return met("gradients, double"),
                   gradient_run<gradient_case<double, double>, gradient_case<double, double>>(in).run();
    }
}
