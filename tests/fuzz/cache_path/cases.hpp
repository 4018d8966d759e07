// SPDX-License-Identifier: MIT
// The element types of runs: each function has a few and is a separate unit, since kernels take long to compile.
#pragma once

#include "input.hpp"

namespace fuzz {

bool float_cases(input& in);
bool bfloat16_cases(input& in);
bool byte_cases(input& in);
bool byte_cache_cases(input& in);
bool block_cases(input& in);
bool block_scaled_cases(input& in);
bool group_cases(input& in);
bool projection_cases(input& in);
bool gradient_cases(input& in);
bool gradient_cases_of_16_bits(input& in);

}  // namespace fuzz
