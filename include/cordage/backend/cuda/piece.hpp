// SPDX-License-Identifier: MIT
// Elements in pieces of 16 bytes, converted to float and back with one rounding; serves the CUDA kernels.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>

#include "cordage/core/macros.hpp"
#include "cordage/pair/format.hpp"

namespace cordage::backend {

/// Types that move in 16-byte pieces. __half and __nv_bfloat16 have the same bits: reinterpret_cast their pointers.
/// Elements of other types and formats are read and stored one at a time.
template <class T>
concept piece_element = std::same_as<T, float> || std::same_as<T, float16> || std::same_as<T, bfloat16>;

/// 16 bytes, moved by one instruction if aligned to 16.
struct alignas(16) piece {
    std::uint32_t word[4];
};
/// Whether a pointer is a multiple of a type's size, which device loads and stores require.
template <class T>
bool is_aligned_to(const void* pointer) noexcept {
    return reinterpret_cast<std::uintptr_t>(pointer) % sizeof(T) == 0;
}
CORDAGE_HOST_DEVICE inline piece load_piece(const void* from) noexcept {
#if defined(__CUDA_ARCH__)
    // In PTX, since nvcc splits a conditional load into four.
    piece p;
    asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(p.word[0]), "=r"(p.word[1]), "=r"(p.word[2]), "=r"(p.word[3])
                 : "l"(from)
                 : "memory");
    return p;
#else
    CORDAGE_ASSERT(is_aligned_to<piece>(from));
    piece p;
    std::memcpy(&p, from, sizeof(p));
    return p;
#endif
}
CORDAGE_HOST_DEVICE inline void store_piece(const piece& p, void* to) noexcept {
#if defined(__CUDA_ARCH__)
    // In PTX, since nvcc splits the assignment into four stores.
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(p.word[0]), "r"(p.word[1]), "r"(p.word[2]),
                 "r"(p.word[3])
                 : "memory");
#else
    CORDAGE_ASSERT(is_aligned_to<piece>(to));
    std::memcpy(to, &p, sizeof(p));
#endif
}

/// As load_piece, from shared memory.
CORDAGE_HOST_DEVICE inline piece load_shared_piece(const float* from) noexcept {
    piece p;
#if defined(__CUDA_ARCH__)
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(p.word[0]), "=r"(p.word[1]), "=r"(p.word[2]), "=r"(p.word[3])
                 : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(from)))
                 : "memory");
#else
    CORDAGE_ASSERT(is_aligned_to<piece>(from));
    std::memcpy(&p, from, sizeof(p));
#endif
    return p;
}
CORDAGE_HOST_DEVICE inline void store_shared_piece(const piece& p, float* to) noexcept {
#if defined(__CUDA_ARCH__)
    asm volatile(
        "st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
        "r"(p.word[0]), "r"(p.word[1]), "r"(p.word[2]), "r"(p.word[3])
        : "memory");
#else
    CORDAGE_ASSERT(is_aligned_to<piece>(to));
    std::memcpy(to, &p, sizeof(p));
#endif
}

/// Elements of a piece.
template <piece_element T>
inline constexpr int piece_size = static_cast<int>(sizeof(piece) / sizeof(T));

/// The elements of a piece as floats.
template <piece_element T>
CORDAGE_HOST_DEVICE void unpack(const piece& p, float* x) noexcept {
    for (int i = 0; i < piece_size<T>; ++i) {
        if constexpr (std::same_as<T, float>) {
            x[i] = lane_traits<float>::from_bits(p.word[i]);
        } else {
            x[i] = element_traits<T>::load(T{static_cast<std::uint16_t>(p.word[i / 2] >> (16 * (i % 2)))});
        }
    }
}

/// Floats as a piece of elements, to nearest, ties to even.
template <piece_element T>
CORDAGE_HOST_DEVICE piece packed(const float* x) noexcept {
    piece p;
    for (int i = 0; i < 4; ++i) {
        if constexpr (std::same_as<T, float>) {
            p.word[i] = lane_traits<float>::bits(x[i]);
        } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
            if constexpr (std::same_as<T, float16>) {
                asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(p.word[i]) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
            } else {
                asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(p.word[i]) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
            }
#else
            const int first = 2 * i;
            p.word[i] = element_traits<T>::store(x[first]).bits |
                        std::uint32_t{element_traits<T>::store(x[first + 1]).bits} << 16;
#endif
        }
    }
    return p;
}

}  // namespace cordage::backend
