// SPDX-License-Identifier: MIT
// The signed type of every size, stride and index; serves all stages.
#pragma once

#include <cstdint>

namespace cordage {

/// Sizes, strides (in elements) and indices. Signed, 64 bits: tensors past 2^31 elements are ordinary.
using index_t = std::int64_t;

/// a / b rounded up, a >= 0, b > 0.
constexpr index_t rounded_up_quotient(index_t a, index_t b) noexcept { return (a + b - 1) / b; }

}  // namespace cordage
