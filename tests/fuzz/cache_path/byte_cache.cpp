// SPDX-License-Identifier: MIT
#include "cache_path/cases.hpp"
#include "cache_path/run.hpp"

using namespace cordage;
using fuzz::operand_case, fuzz::run_cache_path, fuzz::sources;

bool fuzz::byte_cache_cases(input& in) {
    using int8 = scaled_bytes<std::int8_t>;
    using e4m3 = scaled_bytes<fp8_e4m3>;
    using e5m2 = scaled_bytes<fp8_e5m2>;
    switch (in.between(0, 3)) {
        case 0:
            return met("int8 to int8"),
                   run_cache_path<sources::both, operand_case<std::int8_t, int8, std::int8_t, int8>>(in);
        case 1:
            return met("int8 to int8, norm"),
                   run_cache_path<sources::exact, operand_case<std::int8_t, int8, std::int8_t, int8, float16>>(in);
        case 2:
            return met("e4m3 to e4m3"),
                   run_cache_path<sources::moved, operand_case<fp8_e4m3, e4m3, fp8_e4m3, e4m3>>(in);
        default:
            return met("e5m2 to e5m2"),
                   run_cache_path<sources::moved, operand_case<fp8_e5m2, e5m2, fp8_e5m2, e5m2>>(in);
    }
}
