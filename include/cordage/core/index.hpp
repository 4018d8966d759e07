// SPDX-License-Identifier: MIT
// The signed type of every size, stride and index; serves all stages.
#pragma once

#include <cstdint>
#include <limits>

#include "cordage/core/macros.hpp"

namespace cordage {

/// Sizes, strides (in elements) and indices. Signed, 64 bits: tensors past 2^31 elements are ordinary.
using index_t = std::int64_t;

/// The most elements that a view may span or count: sums and products of what passes the checks stay within index_t.
inline constexpr index_t most_elements = index_t{1} << 58;

/// The most axes of a position: a byte names the axis of a pair.
inline constexpr index_t most_axes = 256;

/// An axis of a view: how many entries it has, and how far they are apart.
struct view_axis {
    index_t size;
    index_t stride;
};
/// Whether (size - 1) * stride summed over the axes, and the product of all sizes, are at most most_elements. None is
/// negative.
template <class... Axes>
constexpr bool is_addressable(const Axes&... axes) noexcept {
    static_assert(sizeof...(Axes) <= 4);
    if (((axes.size | ...) >> 14) == 0 && ((axes.stride | ...) >> 42) == 0) return true;  // as most are
    double last = 0.0, count = 1.0;  // doubles hold any such sum, nearly enough
    const auto add = [&](const view_axis& axis) {
        if (axis.size <= 1) return;
        last += static_cast<double>(axis.size - 1) * static_cast<double>(axis.stride);
        count *= static_cast<double>(axis.size);
    };
    (add(axes), ...);
    return last <= static_cast<double>(most_elements) && count <= static_cast<double>(most_elements);
}

/// a * b, or the largest index where that is beyond it; 0 if one of them is negative.
constexpr index_t saturated_product(index_t a, index_t b) noexcept {
    if (a <= 0 || b <= 0) return 0;
    return a > std::numeric_limits<index_t>::max() / b ? std::numeric_limits<index_t>::max() : a * b;
}

/// What divided gives.
struct quotient_and_rest {
    index_t quotient;
    index_t rest;
};
/// a / b and a % b, a >= 0, b > 0; in 32 bits where they hold both, which takes a fraction of the time.
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr quotient_and_rest divided(index_t a, index_t b) noexcept {
    if (((a | b) >> 31) != 0) return {a / b, a % b};
    const auto narrow_a = static_cast<std::uint32_t>(a), narrow_b = static_cast<std::uint32_t>(b);
    return {index_t{narrow_a / narrow_b}, index_t{narrow_a % narrow_b}};
}

/// a / b rounded up, a >= 0, b > 0.
constexpr index_t rounded_up_quotient(index_t a, index_t b) noexcept { return (a + b - 1) / b; }

}  // namespace cordage
