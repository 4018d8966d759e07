// SPDX-License-Identifier: MIT
// Vectors of elements as they lie in memory, and as the numbers of the arithmetic; serves the SIMD rotation.
#pragma once

#include <cstdint>
#include <type_traits>
#include <xsimd/xsimd.hpp>

#include "cordage/core/float16.hpp"
#include "cordage/core/macros.hpp"

namespace cordage::backend {

/// One vector of the numbers that elements T compute with.
template <class Arch, element T>
using reals = xsimd::batch<compute_of<T>, Arch>;

namespace elements_detail {

/// The type whose bits an element has: a host's own 16-bit type names ours.
template <class T>
struct bits_of {
    using type = T;
};
template <class T>
requires requires { typename element_traits<T>::same_bits_as; }
struct bits_of<T> {
    using type = typename element_traits<T>::same_bits_as;
};

template <class Arch>
inline constexpr bool is_avx512 = std::is_base_of_v<xsimd::avx512f, Arch>;
template <class Arch>
inline constexpr bool is_avx2 = std::is_base_of_v<xsimd::avx2, Arch>;
template <class Arch>
inline constexpr bool is_sse4 = std::is_base_of_v<xsimd::sse4_1, Arch> && !std::is_base_of_v<xsimd::avx, Arch>;

}  // namespace elements_detail

/// Whether elements T are bfloat16, by their own type or a host's.
template <element T>
inline constexpr bool is_bfloat16 = std::is_same_v<typename elements_detail::bits_of<T>::type, bfloat16>;

/// Reads one vector; x need not be aligned. 16-bit types widen exactly.
template <class Arch, element T>
CORDAGE_ALWAYS_INLINE reals<Arch, T> load(const T* x) noexcept {
    using bits [[maybe_unused]] = typename elements_detail::bits_of<T>::type;
    if constexpr (std::is_floating_point_v<T>) {
        auto v = reals<Arch, T>::load_unaligned(x);
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
        asm("" : "+v"(v.data));  // GCC would read x again for each use, which costs where x is not aligned
#endif
        return v;
#if defined(__AVX512F__)
    } else if constexpr (elements_detail::is_avx512<Arch> && std::is_same_v<bits, float16>) {
        return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
#endif
#if defined(__F16C__)
    } else if constexpr (elements_detail::is_avx2<Arch> && std::is_same_v<bits, float16>) {
        return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
    } else if constexpr (elements_detail::is_sse4<Arch> && std::is_same_v<bits, float16>) {
        return _mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)));
#endif
#if XSIMD_WITH_NEON64
    } else if constexpr (std::is_base_of_v<xsimd::neon64, Arch> && std::is_same_v<bits, float16>) {
        return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(reinterpret_cast<const std::uint16_t*>(x))));
#endif
    } else {
        alignas(64) compute_of<T> lanes[reals<Arch, T>::size];
        for (std::size_t i = 0; i < reals<Arch, T>::size; ++i) lanes[i] = element_traits<T>::load(x[i]);
        return reals<Arch, T>::load_aligned(lanes);
    }
}

/// Writes one vector; y need not be aligned. 16-bit types are rounded to nearest, ties to even.
template <class Arch, element T>
CORDAGE_ALWAYS_INLINE void store(const reals<Arch, T>& v, T* y) noexcept {
    using bits [[maybe_unused]] = typename elements_detail::bits_of<T>::type;
    if constexpr (std::is_floating_point_v<T>) {
        v.store_unaligned(y);
#if defined(__AVX512F__)
    } else if constexpr (elements_detail::is_avx512<Arch> && std::is_same_v<bits, float16>) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
#endif
#if defined(__F16C__)
    } else if constexpr (elements_detail::is_avx2<Arch> && std::is_same_v<bits, float16>) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    } else if constexpr (elements_detail::is_sse4<Arch> && std::is_same_v<bits, float16>) {
        _mm_storel_epi64(reinterpret_cast<__m128i*>(y), _mm_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
#endif
#if XSIMD_WITH_NEON64
    } else if constexpr (std::is_base_of_v<xsimd::neon64, Arch> && std::is_same_v<bits, float16>) {
        vst1_u16(reinterpret_cast<std::uint16_t*>(y), vreinterpret_u16_f16(vcvt_f16_f32(v)));
#endif
    } else {
        alignas(64) compute_of<T> lanes[reals<Arch, T>::size];
        v.store_aligned(lanes);
        for (std::size_t i = 0; i < reals<Arch, T>::size; ++i) y[i] = element_traits<T>::store(lanes[i]);
    }
}

}  // namespace cordage::backend
