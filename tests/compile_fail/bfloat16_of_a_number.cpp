// SPDX-License-Identifier: MIT
// A number becomes a 16-bit element by name only: its bits could be meant.
// expected: bfloat16::bfloat16(float)
#include "cordage/pair/format.hpp"

#ifdef CORDAGE_COMPILE_FAIL
const cordage::bfloat16 one(1.0f);
#else
const cordage::bfloat16 one = cordage::to_bfloat16(1.0f);
#endif
