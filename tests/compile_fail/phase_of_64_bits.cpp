// SPDX-License-Identifier: MIT
// cos and sin in floats of a whole phase, whose lower word would be read.
// expected: cos_sin_of_phase32
// expected: deleted function
#include <cstdint>

#include "cordage/pair/cos_sin.hpp"

float cosine(std::uint64_t phase) {
#if defined(CORDAGE_COMPILE_FAIL)
    return cordage::cos_sin_of_phase32<float>(phase).cos;
#else
    return cordage::cos_sin_of_phase32<float>(static_cast<std::uint32_t>(phase >> 32)).cos;
#endif
}
