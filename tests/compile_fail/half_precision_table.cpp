// SPDX-License-Identifier: MIT
// A table of cos and sin in 16 bits would lose the angle.
// expected: cordage::cos_sin_table: T must be float or double; 16-bit tables lose the angle
#include "cordage/pair/format.hpp"
#include "cordage/rotate/cos_sin_table.hpp"

#ifdef CORDAGE_COMPILE_FAIL
template class cordage::cos_sin_table<cordage::bfloat16>;
#else
template class cordage::cos_sin_table<float>;
#endif
