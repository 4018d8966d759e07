// SPDX-License-Identifier: MIT
// Loads and stores of vectors of elements; serves the SIMD backend.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "cordage/backend/simd/lane.hpp"
#include "cordage/core/index.hpp"
#include "cordage/pair/format.hpp"

namespace cordage::backend {

namespace elements_detail {

/// The library's element type with the same bits, for a format without data members; a host's 16-bit type declares it
/// as same_bits_as.
template <class Format>
struct bits_of {
    using type = void;
};
template <class T>
struct bits_of<element_traits<T>> {
    using type = T;
};
template <class T>
    requires requires { typename element_traits<T>::same_bits_as; }
struct bits_of<element_traits<T>> {
    using type = typename element_traits<T>::same_bits_as;
};

}  // namespace elements_detail

/// One vector of numbers. The vectors of Arch = void are single numbers, as at the end of a row.
template <class Real, class Arch>
using lane_type = std::conditional_t<std::is_void_v<Arch>, Real, xsimd::batch<Real, Arch>>;
/// How many numbers it has.
template <class Real, class Arch>
inline constexpr auto lane_width = static_cast<index_t>(sizeof(lane_type<Real, Arch>) / sizeof(Real));
/// One vector of the compute type of a format.
template <class Arch, class Format>
using reals = lane_type<typename Format::compute, Arch>;

/// Whether a format is plain bfloat16, cordage's type or a host's.
template <class Format>
inline constexpr bool is_bfloat16 = std::is_same_v<typename elements_detail::bits_of<Format>::type, bfloat16>;

/// Reads one vector; x need not be aligned. 16-bit types widen exactly.
template <class Arch, class Format, class T>
CORDAGE_ALWAYS_INLINE reals<Arch, Format> load(const Format& format, const T* x) noexcept {
    using namespace simd_detail;
    using real = reals<Arch, Format>;
    using bits [[maybe_unused]] = typename elements_detail::bits_of<Format>::type;
    if constexpr (std::is_void_v<Arch>) {
        return format.load(*x);
    } else if constexpr (std::is_same_v<bits, typename Format::compute>) {
        auto v = real::load_unaligned(x);
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
        asm("" : "+v"(v.data));  // otherwise GCC reloads x for each use, which is slow if unaligned
#endif
        return v;
#if XSIMD_WITH_AVX512F
    } else if constexpr (is_avx512<Arch> && std::is_same_v<bits, float16>) {
        return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
    } else if constexpr (is_avx512<Arch> && std::is_same_v<bits, bfloat16>) {
        const __m256i narrow = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(narrow), 16));
#endif
#if defined(__F16C__)
    } else if constexpr (is_avx2<Arch> && std::is_same_v<bits, float16>) {
        return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
    } else if constexpr (is_sse4<Arch> && std::is_same_v<bits, float16>) {
        return _mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)));
#endif
#if XSIMD_WITH_AVX2
    } else if constexpr (is_avx2<Arch> && std::is_same_v<bits, bfloat16>) {
        const __m128i narrow = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(narrow), 16));
#endif
#if XSIMD_WITH_NEON64
    } else if constexpr (std::is_base_of_v<xsimd::neon64, Arch> && std::is_same_v<bits, float16>) {
        return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(reinterpret_cast<const std::uint16_t*>(x))));
    } else if constexpr (std::is_base_of_v<xsimd::neon64, Arch> && std::is_same_v<bits, bfloat16>) {
        return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(reinterpret_cast<const std::uint16_t*>(x)), 16));
#endif
    } else {
        alignas(64) typename Format::compute lanes[real::size];
        for (std::size_t i = 0; i < real::size; ++i) lanes[i] = format.load(x[i]);
        return real::load_aligned(lanes);
    }
}

/// Writes one vector; y need not be aligned. 16-bit types are rounded to nearest, ties to even.
template <class Arch, class Format, class T>
CORDAGE_ALWAYS_INLINE void store(const Format& format, const reals<Arch, Format>& v, T* y) noexcept {
    using namespace simd_detail;
    using bits [[maybe_unused]] = typename elements_detail::bits_of<Format>::type;
    if constexpr (std::is_void_v<Arch>) {
        *y = format.store(v);
    } else if constexpr (std::is_same_v<bits, typename Format::compute>) {
        v.store_unaligned(y);
#if XSIMD_WITH_AVX512F
    } else if constexpr (is_avx512<Arch> && std::is_same_v<bits, float16>) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    } else if constexpr (is_avx512<Arch> && std::is_same_v<bits, bfloat16>) {
#if defined(__AVX512BF16__)
        const __m256bh narrow = _mm512_cvtneps_pbh(lane_traits<reals<Arch, Format>>::plain_nan(v));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), std::bit_cast<__m256i>(narrow));
#else
        const __m512i words = bfloat16_in_upper_half(v);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_cvtepi32_epi16(_mm512_srli_epi32(words, 16)));
#endif
#endif
#if defined(__F16C__)
    } else if constexpr (is_avx2<Arch> && std::is_same_v<bits, float16>) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    } else if constexpr (is_sse4<Arch> && std::is_same_v<bits, float16>) {
        _mm_storel_epi64(reinterpret_cast<__m128i*>(y), _mm_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
#endif
#if XSIMD_WITH_AVX2
    } else if constexpr (is_avx2<Arch> && std::is_same_v<bits, bfloat16>) {
        const __m256i words = _mm256_srli_epi32(bfloat16_in_upper_half(v), 16);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(y),
                         _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
#endif
#if XSIMD_WITH_NEON64
    } else if constexpr (std::is_base_of_v<xsimd::neon64, Arch> && std::is_same_v<bits, float16>) {
        vst1_u16(reinterpret_cast<std::uint16_t*>(y), vreinterpret_u16_f16(vcvt_f16_f32(v)));
    } else if constexpr (std::is_base_of_v<xsimd::neon64, Arch> && std::is_same_v<bits, bfloat16>) {
        vst1_u16(reinterpret_cast<std::uint16_t*>(y), vshrn_n_u32(bfloat16_in_upper_half(v), 16));
#endif
    } else {
        alignas(64) typename Format::compute lanes[reals<Arch, Format>::size];
        v.store_aligned(lanes);
        for (std::size_t i = 0; i < reals<Arch, Format>::size; ++i) y[i] = format.store(lanes[i]);
    }
}

/// A vector, or a single number, of a row of numbers.
template <class Lane, class Real>
CORDAGE_ALWAYS_INLINE Lane from_row(const Real* row) noexcept {
    if constexpr (std::is_same_v<Lane, Real>) {
        return *row;
    } else {
        return Lane::load_unaligned(row);
    }
}
template <class Lane, class Real>
CORDAGE_ALWAYS_INLINE void to_row(const Lane& x, Real* row) noexcept {
    if constexpr (std::is_same_v<Lane, Real>) {
        *row = x;
    } else {
        x.store_unaligned(row);
    }
}
template <class Lane, class Real>
CORDAGE_ALWAYS_INLINE void add_to_row(const Lane& x, Real* row) noexcept {
    to_row(Lane(from_row<Lane>(row) + x), row);
}

}  // namespace cordage::backend
