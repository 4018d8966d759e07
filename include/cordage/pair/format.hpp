// SPDX-License-Identifier: MIT
// Element formats: conversion between a stored element and a number; register layer.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "cordage/core/macros.hpp"
#include "cordage/pair/lane.hpp"

namespace cordage {

/// IEEE binary16 as bits. Storage only: arithmetic is done in float. to_float16 rounds a number; no number converts to
/// one unnamed, as its bits could be meant.
struct float16 {
    std::uint16_t bits;

    float16() = default;
    template <class Number>
        requires requires(Number x, void (*f)(float)) { f(x); }
    CORDAGE_HOST_DEVICE constexpr float16(Number) : bits() {
        static_assert(sizeof(Number) == 0,
                      "cordage: to_float16(x) rounds a number, float16::from_bits(bits) takes bits");
    }
    CORDAGE_HOST_DEVICE static constexpr float16 from_bits(std::uint16_t bits) noexcept {
        float16 x;
        x.bits = bits;
        return x;
    }
};

/// bfloat16 as bits, the upper half of a binary32. Storage only, as float16.
struct bfloat16 {
    std::uint16_t bits;

    bfloat16() = default;
    template <class Number>
        requires requires(Number x, void (*f)(float)) { f(x); }
    CORDAGE_HOST_DEVICE constexpr bfloat16(Number) : bits() {
        static_assert(sizeof(Number) == 0,
                      "cordage: to_bfloat16(x) rounds a number, bfloat16::from_bits(bits) takes bits");
    }
    CORDAGE_HOST_DEVICE static constexpr bfloat16 from_bits(std::uint16_t bits) noexcept {
        bfloat16 x;
        x.bits = bits;
        return x;
    }
};

/// Exact value of a binary16.
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr float to_float(float16 x) noexcept {
    const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000u) << 16;
    const std::uint32_t exponent = (x.bits >> 10) & 0x1fu;
    const std::uint32_t fraction = x.bits & 0x3ffu;
    if (exponent == 0x1fu) return lane_traits<float>::from_bits(sign | 0x7f80'0000u | (fraction << 13));
    if (exponent != 0) return lane_traits<float>::from_bits(sign | ((exponent + 112) << 23) | (fraction << 13));
    const float subnormal = static_cast<float>(fraction) * 0x1p-24f;  // 0 or a normal float
    return lane_traits<float>::from_bits(sign | lane_traits<float>::bits(subnormal));
}

/// Exact value of a bfloat16.
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr float to_float(bfloat16 x) noexcept {
    return lane_traits<float>::from_bits(static_cast<std::uint32_t>(x.bits) << 16);
}

/// x rounded to bfloat16, nearest, ties to even, in the upper half of a word; the lower half is unspecified. A NaN
/// becomes a quiet NaN. Lane: one float or a vector of floats. (Vectors stored by the AVX512_BF16 instruction flush
/// magnitudes below 2^-126 to 0; this function keeps them.)
template <class Lane>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr auto bfloat16_in_upper_half(const Lane& x) noexcept {
    using lane = lane_traits<Lane>;
    return lane::rounded_upper_half(lane::bits(lane::plain_nan(x)));
}
/// As above, for one number.
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr bfloat16 to_bfloat16(float x) noexcept {
    return bfloat16::from_bits(static_cast<std::uint16_t>(bfloat16_in_upper_half(x) >> 16));
}

/// x rounded to binary16, nearest, ties to even, subnormals included; overflow gives infinity, a NaN a quiet NaN.
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE constexpr float16 to_float16(float x) noexcept {
    const auto bits = lane_traits<float>::bits(x);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
    const std::uint32_t magnitude = bits & 0x7fff'ffffu;
    const auto with_sign = [sign](std::uint32_t half) {
        return float16::from_bits(static_cast<std::uint16_t>(sign | half));
    };
    if (magnitude > 0x7f80'0000u) return with_sign(0x7e00u);
    if (magnitude >= 0x4780'0000u) return with_sign(0x7c00u);  // 65536 and above: infinity
    if (magnitude >= 0x3880'0000u) {                           // a normal half: rebias, round the 13 lost bits
        const std::uint32_t rebiased = magnitude - 0x3800'0000u;
        return with_sign((rebiased + 0xfffu + ((rebiased >> 13) & 1u)) >> 13);
    }
    if (magnitude <= 0x3300'0000u) return with_sign(0);  // at most half of the smallest subnormal
    const std::uint32_t mantissa = (magnitude & 0x007f'ffffu) | 0x0080'0000u;
    const std::uint32_t shift = 126u - (magnitude >> 23);
    const std::uint32_t half = mantissa >> shift;
    const std::uint32_t lost = mantissa & ((1u << shift) - 1u), tie = 1u << (shift - 1u);
    return with_sign(half + ((lost > tie || (lost == tie && (half & 1u) != 0)) ? 1u : 0u));
}

/// The format of elements of type T where a view names none. Specialise it for a type of your own (at::Half, _Float16,
/// an fp8) and every kernel accepts tensors of it. `using same_bits_as = cordage::float16;` (or bfloat16) in the
/// specialisation selects the vector kernels of that type.
template <class T>
struct element_traits;

/// A format converts one element: load(T) returns a `compute`, float or double, in which all arithmetic is done, and
/// store(compute) returns the nearest element. A format may have data members, such as the scale of an int8:
///
///   struct scaled_int8 {
///       using compute = float;
///       float scale;
///       CORDAGE_HOST_DEVICE float load(std::int8_t x) const noexcept { return scale * x; }
///       CORDAGE_HOST_DEVICE std::int8_t store(float x) const noexcept { ... }
///   };
///   heads_view<std::int8_t, scaled_int8> keys = token_major(data, shape, scaled_int8{0.02f});
template <class F, class T>
concept format_of = requires(const F& format, T x) {
    sizeof(F);  // fails for a type without element_traits
    requires std::is_trivially_copyable_v<F>;
    typename F::compute;
    { format.load(x) } -> std::same_as<typename F::compute>;
    { format.store(format.load(x)) } -> std::same_as<T>;
};

namespace pair_detail {

template <class T>
struct plain_format {
    using compute = T;
    CORDAGE_HOST_DEVICE static constexpr T load(T x) noexcept { return x; }
    CORDAGE_HOST_DEVICE static constexpr T store(T x) noexcept { return x; }
};

}  // namespace pair_detail

template <>
struct element_traits<double> : pair_detail::plain_format<double> {};
template <>
struct element_traits<float> : pair_detail::plain_format<float> {};
template <>
struct element_traits<float16> {
    using compute = float;
#if defined(__CUDA_ARCH__)
    CORDAGE_HOST_DEVICE static float load(float16 x) noexcept {
        float wide;
        asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
        return wide;
    }
    CORDAGE_HOST_DEVICE static float16 store(float x) noexcept {
        float16 narrow;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
        return narrow;
    }
#else
    CORDAGE_HOST_DEVICE static constexpr float load(float16 x) noexcept { return to_float(x); }
    CORDAGE_HOST_DEVICE static constexpr float16 store(float x) noexcept { return to_float16(x); }
#endif
};
template <>
struct element_traits<bfloat16> {
    using compute = float;
    CORDAGE_HOST_DEVICE static constexpr float load(bfloat16 x) noexcept { return to_float(x); }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    CORDAGE_HOST_DEVICE static bfloat16 store(float x) noexcept {
        bfloat16 narrow;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
        return narrow;
    }
#else
    CORDAGE_HOST_DEVICE static constexpr bfloat16 store(float x) noexcept { return to_bfloat16(x); }
#endif
};

/// An element type of q or k: a type with element_traits.
template <class T>
concept element = format_of<element_traits<T>, T>;
static_assert(element<double> && element<float> && element<float16> && element<bfloat16>);

/// The type in which elements T are computed with.
template <element T>
using compute_of = typename element_traits<T>::compute;

}  // namespace cordage
