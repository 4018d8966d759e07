// SPDX-License-Identifier: MIT
// The two 16-bit storage types and the trait by which every kernel reads and writes elements; serves rotation and
// hosts.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

namespace cordage {

/// IEEE binary16 as bits. Storage only: arithmetic is done in float.
struct float16 {
    std::uint16_t bits;
};

/// bfloat16 as bits, the upper half of a binary32. Storage only.
struct bfloat16 {
    std::uint16_t bits;
};

/// Exact value of a binary16.
constexpr float to_float(float16 x) noexcept {
    const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000u) << 16;
    const std::uint32_t exponent = (x.bits >> 10) & 0x1fu;
    const std::uint32_t fraction = x.bits & 0x3ffu;
    if (exponent == 0x1fu) return std::bit_cast<float>(sign | 0x7f80'0000u | (fraction << 13));
    if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
    if (fraction == 0) return std::bit_cast<float>(sign);
    const int shift = std::countl_zero(fraction) - 21;  // a subnormal becomes a normal float
    const std::uint32_t normal = (fraction << shift) & 0x3ffu;
    return std::bit_cast<float>(sign | (static_cast<std::uint32_t>(113 - shift) << 23) | (normal << 13));
}

/// Exact value of a bfloat16.
constexpr float to_float(bfloat16 x) noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

/// Rounds to nearest, ties to even; a NaN stays a (quiet) NaN.
constexpr bfloat16 to_bfloat16(float x) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if ((bits & 0x7fff'ffffu) > 0x7f80'0000u) return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
    return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

/// Rounds to nearest, ties to even, with subnormals; too large becomes infinity, a NaN stays a (quiet) NaN.
constexpr float16 to_float16(float x) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
    const std::uint32_t magnitude = bits & 0x7fff'ffffu;
    const auto with_sign = [sign](std::uint32_t half) { return float16{static_cast<std::uint16_t>(sign | half)}; };
    if (magnitude > 0x7f80'0000u) return with_sign(0x7e00u);
    if (magnitude >= 0x4780'0000u) return with_sign(0x7c00u);  // 65536 and above
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

/// How kernels read and write an element: `compute` is the type of the arithmetic, load and store convert. Specialise
/// it for a host's own 16-bit type (at::Half, __half, _Float16, Eigen::half) and every kernel takes that type. A
/// `using same_bits_as = cordage::float16;` (or bfloat16) there gives it the vector kernels; host/dlpack needs it.
template <class T>
struct element_traits;

template <>
struct element_traits<double> {
    using compute = double;
    static constexpr double load(double x) noexcept { return x; }
    static constexpr double store(double x) noexcept { return x; }
};
template <>
struct element_traits<float> {
    using compute = float;
    static constexpr float load(float x) noexcept { return x; }
    static constexpr float store(float x) noexcept { return x; }
};
template <>
struct element_traits<float16> {
    using compute = float;
    static constexpr float load(float16 x) noexcept { return to_float(x); }
    static constexpr float16 store(float x) noexcept { return to_float16(x); }
};
template <>
struct element_traits<bfloat16> {
    using compute = float;
    static constexpr float load(bfloat16 x) noexcept { return to_float(x); }
    static constexpr bfloat16 store(float x) noexcept { return to_bfloat16(x); }
};

/// What a tensor of q or k may hold.
template <class T>
concept element = requires(T x) {
    typename element_traits<T>::compute;
    { element_traits<T>::load(x) } -> std::same_as<typename element_traits<T>::compute>;
    { element_traits<T>::store(element_traits<T>::load(x)) } -> std::same_as<T>;
};
static_assert(element<double> && element<float> && element<float16> && element<bfloat16>);

/// The type of the arithmetic on elements T.
template <element T>
using compute_of = typename element_traits<T>::compute;

}  // namespace cordage
