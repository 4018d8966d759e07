// SPDX-License-Identifier: MIT
// The signed type of every size, stride and index; serves all stages.
#pragma once

#include <cstdint>
#include <limits>

#include "cordage/core/macros.hpp"

namespace cordage {

/// Sizes, strides (in elements) and indices. Signed, 64 bits: tensors may exceed 2^31 elements.
using index_t = std::int64_t;

/// The largest index_t.
inline constexpr index_t largest_index = std::numeric_limits<index_t>::max();

/// Upper bound on the elements that a view may span or count, so that sums and products of checked sizes fit index_t.
inline constexpr index_t most_elements = index_t{1} << 58;

/// Upper bound on the axes of a position: the axis of a pair is stored in a byte.
inline constexpr index_t most_axes = 256;

/// One axis of a view: the number of its entries and the distance between them.
struct view_axis {
    index_t size;
    index_t stride;
};
/// Whether (size - 1) * stride summed over the axes, and the product of all sizes, are at most most_elements. Sizes and
/// strides must be >= 0.
template <class... Axes>
CORDAGE_HOST_DEVICE constexpr bool is_addressable(const Axes&... axes) noexcept {
    static_assert(sizeof...(Axes) <= 4);
    if (((axes.size | ...) >> 14) == 0 && ((axes.stride | ...) >> 42) == 0) return true;  // the usual case
    double last = 0.0, count = 1.0;  // doubles: no overflow; exact enough for this bound
    const auto add = [&](const view_axis& axis) {
        if (axis.size <= 1) return;
        last += static_cast<double>(axis.size - 1) * static_cast<double>(axis.stride);
        count *= static_cast<double>(axis.size);
    };
    (add(axes), ...);
    return last <= static_cast<double>(most_elements) && count <= static_cast<double>(most_elements);
}

/// a * b, or largest_index on overflow; 0 if a or b is negative.
CORDAGE_HOST_DEVICE constexpr index_t saturated_product(index_t a, index_t b) noexcept {
    if (a <= 0 || b <= 0) return 0;
    return a > largest_index / b ? largest_index : a * b;
}

/// Result of divided().
struct quotient_and_rest {
    index_t quotient;
    index_t rest;
};
/// a / b and a % b, a >= 0, b > 0; a 32-bit division where both fit, since 64-bit ones are slower.
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr quotient_and_rest divided(index_t a, index_t b) noexcept {
    if (((a | b) >> 31) != 0) return {a / b, a % b};
    const auto narrow_a = static_cast<std::uint32_t>(a), narrow_b = static_cast<std::uint32_t>(b);
    return {index_t{narrow_a / narrow_b}, index_t{narrow_a % narrow_b}};
}

/// a / b rounded up, a >= 0, b > 0.
CORDAGE_HOST_DEVICE constexpr index_t rounded_up_quotient(index_t a, index_t b) noexcept {
    return a / b + (a % b > 0 ? 1 : 0);
}
static_assert(rounded_up_quotient(largest_index, 1) == largest_index);

}  // namespace cordage
