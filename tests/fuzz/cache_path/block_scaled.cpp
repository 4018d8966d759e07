// SPDX-License-Identifier: MIT
#include "cache_path/cases.hpp"
#include "cache_path/run.hpp"

using namespace cordage;
using fuzz::operand_case, fuzz::run_cache_path, fuzz::sources;

bool fuzz::block_scaled_cases(input& in) {
    using plain = element_traits<float>;
    using fp4 = fp4_e2m1_x2;
    switch (in.between(0, 6)) {
        case 0:
            return met("fp32 to mxfp8, norm"),
                   run_cache_path<sources::exact, operand_case<float, plain, fp8_e4m3, mxfp8_e4m3, float>>(in);
        case 1:
            return met("mxfp8 to mxfp8"),
                   run_cache_path<sources::moved, operand_case<fp8_e4m3, mxfp8_e4m3, fp8_e4m3, mxfp8_e4m3>>(in);
        case 2:
            return met("mxfp8 in e5m2 to mxfp8 in e5m2"),
                   run_cache_path<sources::moved, operand_case<fp8_e5m2, mxfp8_e5m2, fp8_e5m2, mxfp8_e5m2>>(in);
        case 3:
            return met("fp32 to mxfp4, transformed"),
                   run_cache_path<sources::exact, operand_case<float, plain, fp4, hadamard<mxfp4>>>(in);
        case 4:
            return met("mxfp4 to mxfp4, both in groups"),
                   run_cache_path<sources::moved, operand_case<fp4, lane_groups<mxfp4>, fp4, lane_groups<mxfp4>>>(in);
        case 5:
            return met("nvfp4 to nvfp4"), run_cache_path<sources::moved, operand_case<fp4, nvfp4, fp4, nvfp4>>(in);
        default:
            return met("nvfp4 to fp32"), run_cache_path<sources::moved, operand_case<fp4, nvfp4, float, plain>>(in);
    }
}
