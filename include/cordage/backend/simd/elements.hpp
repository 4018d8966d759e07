// SPDX-License-Identifier: MIT
// Vectors of elements as they lie in memory, and as the numbers of the arithmetic; serves the SIMD rotation.
#pragma once

#include <cstdint>
#include <cstring>
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

template <class Arch, class T>
inline constexpr bool is_avx512 = std::is_base_of_v<xsimd::avx512f, Arch> && !std::is_same_v<T, double>;
template <class Arch, class T>
inline constexpr bool is_avx2 = std::is_base_of_v<xsimd::avx2, Arch> && !is_avx512<Arch, T>;

}  // namespace elements_detail

/// Reads one vector; x need not be aligned. 16-bit types widen exactly.
template <class Arch, element T>
CORDAGE_ALWAYS_INLINE reals<Arch, T> load(const T* x) noexcept {
    using bits [[maybe_unused]] = typename elements_detail::bits_of<T>::type;
    if constexpr (std::is_floating_point_v<T>) {
        return reals<Arch, T>::load_unaligned(x);
#if defined(__AVX512F__)
    } else if constexpr (elements_detail::is_avx512<Arch, bits> && std::is_same_v<bits, float16>) {
        return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
    } else if constexpr (elements_detail::is_avx512<Arch, bits> && std::is_same_v<bits, bfloat16>) {
        const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
        return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
#endif
#if defined(__AVX2__)
#if defined(__F16C__)
    } else if constexpr (elements_detail::is_avx2<Arch, bits> && std::is_same_v<bits, float16>) {
        return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
#endif
    } else if constexpr (elements_detail::is_avx2<Arch, bits> && std::is_same_v<bits, bfloat16>) {
        const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
        return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
#endif
    } else {
        alignas(64) compute_of<T> lanes[reals<Arch, T>::size];
        for (std::size_t i = 0; i < reals<Arch, T>::size; ++i) lanes[i] = element_traits<T>::load(x[i]);
        return reals<Arch, T>::load_aligned(lanes);
    }
}

namespace elements_detail {

/// bfloat16 in the lower half of every word: rounded to nearest, ties to even, a NaN stays a quiet NaN.
#if defined(__AVX512F__)
CORDAGE_ALWAYS_INLINE __m512i rounded_to_bfloat16(__m512 x) noexcept {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __mmask16 is_nan =
        _mm512_cmpgt_epu32_mask(_mm512_and_si512(bits, _mm512_set1_epi32(0x7fff'ffff)), _mm512_set1_epi32(0x7f80'0000));
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x0040'0000));
    return _mm512_srli_epi32(_mm512_mask_mov_epi32(rounded, is_nan, quiet), 16);
}
#endif
#if defined(__AVX2__)
CORDAGE_ALWAYS_INLINE __m256i rounded_to_bfloat16(__m256 x) noexcept {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i is_nan =
        _mm256_cmpgt_epi32(_mm256_and_si256(bits, _mm256_set1_epi32(0x7fff'ffff)), _mm256_set1_epi32(0x7f80'0000));
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x0040'0000));
    return _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, is_nan), 16);
}
#endif

}  // namespace elements_detail

/// Writes one vector; y need not be aligned. 16-bit types are rounded to nearest, ties to even.
template <class Arch, element T>
CORDAGE_ALWAYS_INLINE void store(const reals<Arch, T>& v, T* y) noexcept {
    using bits [[maybe_unused]] = typename elements_detail::bits_of<T>::type;
    if constexpr (std::is_floating_point_v<T>) {
        v.store_unaligned(y);
#if defined(__AVX512F__)
    } else if constexpr (elements_detail::is_avx512<Arch, bits> && std::is_same_v<bits, float16>) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    } else if constexpr (elements_detail::is_avx512<Arch, bits> && std::is_same_v<bits, bfloat16>) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(y),
                            _mm512_cvtepi32_epi16(elements_detail::rounded_to_bfloat16(__m512(v))));
#endif
#if defined(__AVX2__)
#if defined(__F16C__)
    } else if constexpr (elements_detail::is_avx2<Arch, bits> && std::is_same_v<bits, float16>) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
#endif
    } else if constexpr (elements_detail::is_avx2<Arch, bits> && std::is_same_v<bits, bfloat16>) {
        const __m256i words = elements_detail::rounded_to_bfloat16(__m256(v));
        const __m256i halves = _mm256_permute4x64_epi64(_mm256_packus_epi32(words, words), 0b10'00);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm256_castsi256_si128(halves));
#endif
    } else {
        alignas(64) compute_of<T> lanes[reals<Arch, T>::size];
        v.store_aligned(lanes);
        for (std::size_t i = 0; i < reals<Arch, T>::size; ++i) y[i] = element_traits<T>::store(lanes[i]);
    }
}

}  // namespace cordage::backend
