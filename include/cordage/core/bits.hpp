// SPDX-License-Identifier: MIT
// Classification, decomposition and products of numbers by their bits, valid under fast-math; serves all stages.
#pragma once

#include <cstdint>

#include "cordage/core/macros.hpp"

namespace cordage {

/// True unless x is infinite or NaN. Reads the exponent's bits, so -ffinite-math-only cannot remove it.
CORDAGE_HOST_DEVICE constexpr bool is_finite(double x) noexcept {
    return (__builtin_bit_cast(std::uint64_t, x) & 0x7ff0'0000'0000'0000u) != 0x7ff0'0000'0000'0000u;
}
/// As above, for float.
CORDAGE_HOST_DEVICE constexpr bool is_finite(float x) noexcept {
    return (__builtin_bit_cast(std::uint32_t, x) & 0x7f80'0000u) != 0x7f80'0000u;
}

/// The two halves of a number of 128 bits.
struct wide_product {
    std::uint64_t high;
    std::uint64_t low;
};
/// The 128-bit product a*b.
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr wide_product multiply_wide(std::uint64_t a,
                                                                               std::uint64_t b) noexcept {
    const std::uint64_t a_low = a & 0xffff'ffffu, a_high = a >> 32;
    const std::uint64_t b_low = b & 0xffff'ffffu, b_high = b >> 32;
    const std::uint64_t low = a_low * b_low;
    const std::uint64_t cross = a_high * b_low + (low >> 32);
    const std::uint64_t middle = a_low * b_high + (cross & 0xffff'ffffu);
    return {a_high * b_high + (cross >> 32) + (middle >> 32), (middle << 32) | (low & 0xffff'ffffu)};
}

/// High 64 bits of the 128-bit product a*b.
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr std::uint64_t multiply_high(std::uint64_t a,
                                                                                std::uint64_t b) noexcept {
    return multiply_wide(a, b).high;
}
/// multiply_high by the processor's 64-bit product, for loops that compilers do not vectorise.
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr std::uint64_t multiply_high_alone(std::uint64_t a,
                                                                                      std::uint64_t b) noexcept {
#if defined(__SIZEOF_INT128__) && !defined(__CUDA_ARCH__)
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>((wide{a} * b) >> 64);
#else
    return multiply_high(a, b);
#endif
}

/// sign * mantissa * 2^exponent with an integer mantissa below 2^53.
struct binary64_parts {
    bool negative;
    std::uint64_t mantissa;
    int exponent;
};
/// The parts of a finite x.
CORDAGE_HOST_DEVICE constexpr binary64_parts parts_of(double x) noexcept {
    const auto bits = __builtin_bit_cast(std::uint64_t, x);
    const auto biased = static_cast<int>((bits >> 52) & 0x7ffu);
    const std::uint64_t fraction = bits & 0x000f'ffff'ffff'ffffu;
    const bool negative = (bits >> 63) != 0;
    if (biased == 0) return {negative, fraction, -1074};
    return {negative, fraction | 0x0010'0000'0000'0000u, biased - 1075};
}

}  // namespace cordage
