// SPDX-License-Identifier: MIT
// The signed type of every size, stride and index; serves all stages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace cordage {

/// Sizes, strides (in elements) and indices. Signed, 64 bits: tensors past 2^31 elements are ordinary.
using index_t = std::int64_t;

/// The most elements that a view may span or count: sums and products of what passes the checks stay within index_t.
inline constexpr index_t most_elements = index_t{1} << 58;

/// The most axes of a position: a byte names the axis of a pair.
inline constexpr index_t most_axes = 256;

/// Whether (sizes[0] - 1) * strides[0] + ... and the product of all sizes are at most most_elements. None is negative.
template <std::size_t Axes>
constexpr bool is_addressable(const index_t (&sizes)[Axes], const index_t (&strides)[Axes]) noexcept {
    double last = 0.0, count = 1.0;  // doubles hold any such sum, nearly enough
    for (std::size_t i = 0; i < Axes; ++i) {
        if (sizes[i] > 1) last += static_cast<double>(sizes[i] - 1) * static_cast<double>(strides[i]);
        if (sizes[i] > 1) count *= static_cast<double>(sizes[i]);
    }
    return last <= static_cast<double>(most_elements) && count <= static_cast<double>(most_elements);
}

/// a * b, or the largest index where that is beyond it; 0 if one of them is negative.
constexpr index_t saturated_product(index_t a, index_t b) noexcept {
    if (a <= 0 || b <= 0) return 0;
    return a > std::numeric_limits<index_t>::max() / b ? std::numeric_limits<index_t>::max() : a * b;
}

/// a / b rounded up, a >= 0, b > 0.
constexpr index_t rounded_up_quotient(index_t a, index_t b) noexcept { return (a + b - 1) / b; }

}  // namespace cordage
