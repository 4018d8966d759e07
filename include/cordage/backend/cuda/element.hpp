// SPDX-License-Identifier: MIT
// Elements and 16-byte pieces of them, to float and back with one rounding; serves the CUDA kernels.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>

#include "cordage/pair/format.hpp"
#include "cordage/core/macros.hpp"

namespace cordage::backend {

/// What the CUDA kernels turn. __half and __nv_bfloat16 have the same bits: reinterpret_cast their pointers.
template <class T>
concept device_element = std::same_as<T, float> || std::same_as<T, float16> || std::same_as<T, bfloat16>;

CORDAGE_HOST_DEVICE inline float float_of(std::uint32_t bits) noexcept { return __builtin_bit_cast(float, bits); }
CORDAGE_HOST_DEVICE inline std::uint32_t bits_of(float x) noexcept { return __builtin_bit_cast(std::uint32_t, x); }

/// a*b + c with one rounding, whatever the compiler's flags.
CORDAGE_HOST_DEVICE inline float fused(float a, float b, float c) noexcept {
#if defined(__CUDA_ARCH__)
    return __fmaf_rn(a, b, c);
#else
    return std::fma(a, b, c);
#endif
}

CORDAGE_HOST_DEVICE inline float widened(float x) noexcept { return x; }
CORDAGE_HOST_DEVICE inline float widened(bfloat16 x) noexcept { return float_of(std::uint32_t{x.bits} << 16); }
CORDAGE_HOST_DEVICE inline float widened(float16 x) noexcept {
#if defined(__CUDA_ARCH__)
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
    return wide;
#else
    return to_float(x);
#endif
}

/// To nearest, ties to even.
template <device_element T>
CORDAGE_HOST_DEVICE T narrowed(float x) noexcept {
    if constexpr (std::same_as<T, float>) {
        return x;
    } else if constexpr (std::same_as<T, float16>) {
#if defined(__CUDA_ARCH__)
        float16 narrow;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
        return narrow;
#else
        return to_float16(x);
#endif
    } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        bfloat16 narrow;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
        return narrow;
#else
        const std::uint32_t bits = bits_of(x);
        if ((bits & 0x7fff'ffffu) > 0x7f80'0000u) return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};  // NaN
        return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
#endif
    }
}

/// 16 bytes, moved by one instruction where they are aligned to 16.
struct alignas(16) piece {
    std::uint32_t word[4];
};
CORDAGE_HOST_DEVICE inline piece load_piece(const void* from) noexcept {
#if defined(__CUDA_ARCH__)
    const uint4 p = *static_cast<const uint4*>(from);
    return {{p.x, p.y, p.z, p.w}};
#else
    piece p;
    std::memcpy(&p, from, sizeof(p));
    return p;
#endif
}
CORDAGE_HOST_DEVICE inline void store_piece(const piece& p, void* to) noexcept {
#if defined(__CUDA_ARCH__)
    // In PTX, as nvcc makes four stores of an assignment.
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(p.word[0]), "r"(p.word[1]), "r"(p.word[2]),
                 "r"(p.word[3])
                 : "memory");
#else
    std::memcpy(to, &p, sizeof(p));
#endif
}

/// Elements of a piece.
template <device_element T>
inline constexpr int piece_size = static_cast<int>(sizeof(piece) / sizeof(T));

template <device_element T>
CORDAGE_HOST_DEVICE void unpack(const piece& p, float (&x)[piece_size<T>]) noexcept {
    for (int i = 0; i < piece_size<T>; ++i) {
        if constexpr (std::same_as<T, float>) {
            x[i] = float_of(p.word[i]);
        } else {
            x[i] = widened(T{static_cast<std::uint16_t>(p.word[i / 2] >> (16 * (i % 2)))});
        }
    }
}

template <device_element T>
CORDAGE_HOST_DEVICE piece packed(const float (&x)[piece_size<T>]) noexcept {
    piece p;
    for (int i = 0; i < 4; ++i) {
        if constexpr (std::same_as<T, float>) {
            p.word[i] = bits_of(x[i]);
        } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
            if constexpr (std::same_as<T, float16>) {
                asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(p.word[i]) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
            } else {
                asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(p.word[i]) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
            }
#else
            p.word[i] = narrowed<T>(x[2 * i]).bits | std::uint32_t{narrowed<T>(x[2 * i + 1]).bits} << 16;
#endif
        }
    }
    return p;
}

}  // namespace cordage::backend
