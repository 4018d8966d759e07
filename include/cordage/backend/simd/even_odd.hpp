// SPDX-License-Identifier: MIT
// bfloat16 as the even and odd halves of 32-bit words, which convert without shuffles; serves the SIMD rotation.
#pragma once

#include <bit>
#include <cstdint>

#include "cordage/backend/simd/elements.hpp"
#include "cordage/core/macros.hpp"

namespace cordage::backend {

/// 2n numbers as two vectors: those of even and those of odd index.
template <class Vector>
struct even_odd {
    Vector even, odd;
};

/// Reads a vector of words of two bfloat16 each; one operation converts each half. x need not be aligned.
template <class Arch, class T>
CORDAGE_ALWAYS_INLINE even_odd<xsimd::batch<float, Arch>> load_even_odd(const T* x) noexcept {
    using lane = lane_traits<xsimd::batch<float, Arch>>;
    using word = typename lane::word;
    const word both = word::load_unaligned(reinterpret_cast<const std::uint32_t*>(x));
    return {lane::from_bits(both << 16), lane::from_bits(both & word(0xffff'0000u))};
}

/// Stores both halves, rounded to nearest, ties to even. Every NaN must have a zero lower half, as results of
/// arithmetic on bfloat16 and plain_nan have; others might become infinity (pair/format.hpp rounds any float).
template <class Arch, class T>
CORDAGE_ALWAYS_INLINE void store_even_odd(const even_odd<xsimd::batch<float, Arch>>& v, T* y) noexcept {
    using word = typename lane_traits<xsimd::batch<float, Arch>>::word;
    using lane = lane_traits<xsimd::batch<float, Arch>>;
#if defined(__AVX512BF16__)
    if constexpr (simd_detail::is_avx512<Arch>) {
        const __m512i in_order =
            _mm512_setr_epi32(0x100000, 0x110001, 0x120002, 0x130003, 0x140004, 0x150005, 0x160006, 0x170007, 0x180008,
                              0x190009, 0x1a000a, 0x1b000b, 0x1c000c, 0x1d000d, 0x1e000e, 0x1f000f);
        const auto both = std::bit_cast<__m512i>(_mm512_cvtne2ps_pbh(v.odd, v.even));
        _mm512_storeu_si512(y, _mm512_permutexvar_epi16(in_order, both));
    } else
#endif
    {
        const word even = lane::rounded_upper_half(lane::bits(v.even)),
                   odd = lane::rounded_upper_half(lane::bits(v.odd));
        const word both = (even >> 16) | (odd & word(0xffff'0000u));
        both.store_unaligned(reinterpret_cast<std::uint32_t*>(y));
    }
}

/// Splits 2n numbers of a row.
template <class Arch, class Real>
CORDAGE_ALWAYS_INLINE even_odd<xsimd::batch<Real, Arch>> unzip(const Real* row) noexcept {
    using vector = xsimd::batch<Real, Arch>;
    constexpr std::size_t size = vector::size;
#if defined(__AVX512F__)
    if constexpr (simd_detail::is_avx512<Arch> && std::is_same_v<Real, float>) {
        const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
        const __m512 low = _mm512_loadu_ps(row), high = _mm512_loadu_ps(row + size);
        return {_mm512_permutex2var_ps(low, even, high), _mm512_permutex2var_ps(low, odd, high)};
    } else
#endif
#if defined(__AVX2__)
        if constexpr (simd_detail::is_avx2<Arch> && std::is_same_v<Real, float>) {
        const __m256 low = _mm256_loadu_ps(row), high = _mm256_loadu_ps(row + size);
        const auto in_order = [](__m256 x) {  // 0 1 4 5 2 3 6 7 -> 0 1 2 3 4 5 6 7
            return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), 0b11'01'10'00));
        };
        return {in_order(_mm256_shuffle_ps(low, high, 0b10'00'10'00)),
                in_order(_mm256_shuffle_ps(low, high, 0b11'01'11'01))};
    } else
#endif
#if XSIMD_WITH_NEON64
        if constexpr (std::is_same_v<Real, float>) {
        const float32x4x2_t both = vld2q_f32(row);
        return {both.val[0], both.val[1]};
    } else
#endif
    {
        alignas(64) Real even[size], odd[size];
        for (std::size_t i = 0; i < size; ++i) {
            even[i] = row[2 * i];
            odd[i] = row[2 * i + 1];
        }
        return {vector::load_aligned(even), vector::load_aligned(odd)};
    }
}

/// Two vectors of elements of any format as even and odd lanes.
template <class Arch, class Format, class T>
CORDAGE_ALWAYS_INLINE even_odd<reals<Arch, Format>> load_even_odd(const Format& format, const T* x) noexcept {
    if constexpr (is_bfloat16<Format> && std::endian::native == std::endian::little) {
        return load_even_odd<Arch>(x);
    } else if constexpr (std::is_same_v<Format, element_traits<float>>) {
        return unzip<Arch>(x);
    } else {
        constexpr std::size_t size = reals<Arch, Format>::size;
        alignas(64) typename Format::compute row[2 * size];
        load<Arch>(format, x).store_aligned(row);
        load<Arch>(format, x + size).store_aligned(row + size);
        return unzip<Arch>(static_cast<const typename Format::compute*>(row));
    }
}

/// first[0], second[0], first[1], second[1], ...: half a vector of each.
template <class Arch, class Real>
CORDAGE_ALWAYS_INLINE xsimd::batch<Real, Arch> zip(const Real* first, const Real* second) noexcept {
#if defined(__AVX512F__)
    if constexpr (simd_detail::is_avx512<Arch> && std::is_same_v<Real, float>) {
        const __m512i lanes = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        return _mm512_permutex2var_ps(_mm512_castps256_ps512(_mm256_loadu_ps(first)), lanes,
                                      _mm512_castps256_ps512(_mm256_loadu_ps(second)));
    } else
#endif
#if defined(__AVX2__)
        if constexpr (simd_detail::is_avx2<Arch> && std::is_same_v<Real, float>) {
        const __m128 low = _mm_loadu_ps(first), high = _mm_loadu_ps(second);
        return _mm256_set_m128(_mm_unpackhi_ps(low, high), _mm_unpacklo_ps(low, high));
    } else
#endif
#if XSIMD_WITH_NEON64
        if constexpr (std::is_same_v<Real, float>) {
        const float32x2_t low = vld1_f32(first), high = vld1_f32(second);
        return vcombine_f32(vzip1_f32(low, high), vzip2_f32(low, high));
    } else
#endif
    {
        constexpr std::size_t size = xsimd::batch<Real, Arch>::size;
        alignas(64) Real lanes[size];
        for (std::size_t i = 0; i < size; ++i) lanes[i] = (i % 2 == 0 ? first : second)[i / 2];
        return xsimd::batch<Real, Arch>::load_aligned(lanes);
    }
}

/// Adds to 2n numbers of a row, in order.
template <class Arch, class Real>
CORDAGE_ALWAYS_INLINE void add_zipped(Real* row, const even_odd<xsimd::batch<Real, Arch>>& v) noexcept {
    using vector = xsimd::batch<Real, Arch>;
    alignas(64) Real even[vector::size], odd[vector::size];
    v.even.store_aligned(even);
    v.odd.store_aligned(odd);
    for (std::size_t i = 0; i < 2; ++i, row += vector::size) {
        const std::size_t skip = i * vector::size / 2;
        (vector::load_unaligned(row) + zip<Arch>(even + skip, odd + skip)).store_unaligned(row);
    }
}

}  // namespace cordage::backend
