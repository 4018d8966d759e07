// SPDX-License-Identifier: MIT
// xsimd's vectors as lanes of the register layer; serves the SIMD backend.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>
#include <xsimd/xsimd.hpp>

#include "cordage/core/macros.hpp"
#include "cordage/pair/lane.hpp"

namespace cordage {

namespace backend {

/// The next smaller vectors, half as wide; void if there are none.
template <class Arch>
struct narrower {
    using type = void;
};
#if XSIMD_WITH_AVX512F && XSIMD_WITH_FMA3_AVX2
template <class Arch>
    requires std::is_base_of_v<xsimd::avx512f, Arch>
struct narrower<Arch> {
    using type = xsimd::fma3<xsimd::avx2>;
};
#endif
#if XSIMD_WITH_FMA3_AVX2 && XSIMD_WITH_FMA3_SSE
template <>
struct narrower<xsimd::fma3<xsimd::avx2>> {
    using type = xsimd::fma3<xsimd::sse4_2>;
};
#endif

}  // namespace backend

namespace backend::simd_detail {

template <class Arch>
inline constexpr bool is_avx512 = std::is_base_of_v<xsimd::avx512f, Arch>;
template <class Arch>
inline constexpr bool is_avx2 = std::is_base_of_v<xsimd::avx2, Arch>;
template <class Arch>
inline constexpr bool is_sse4 = std::is_base_of_v<xsimd::sse4_1, Arch> && !std::is_base_of_v<xsimd::avx, Arch>;

/// Whether products and sums of an architecture can be fused, with one rounding.
template <class Arch>
inline constexpr bool has_fused_multiply_add =
    is_avx512<Arch> || std::is_base_of_v<xsimd::fma3<xsimd::avx2>, Arch> ||
    std::is_base_of_v<xsimd::fma3<xsimd::avx>, Arch> || std::is_base_of_v<xsimd::fma3<xsimd::sse4_2>, Arch> ||
    std::is_base_of_v<xsimd::neon64, Arch>;

/// The lanes of x as lanes of the batch To, at no cost. (On NEON, xsimd 8.1's bitwise_cast is a call.)
template <class To, class From, class Arch>
CORDAGE_ALWAYS_INLINE To bits_as(const xsimd::batch<From, Arch>& x) noexcept {
    return std::bit_cast<typename To::register_type>(static_cast<typename xsimd::batch<From, Arch>::register_type>(x));
}

/// Operations common to lanes of floats and of doubles. Products and sums are fused where the architecture can. (xsimd
/// 8.1 multiplies and adds separately on AVX-512.)
template <class Real, class Arch>
struct lanes_of_numbers {
    using real = xsimd::batch<Real, Arch>;
    using number = xsimd::as_unsigned_integer_t<Real>;
    using word = xsimd::batch<number, Arch>;
    static constexpr bool is_float = std::is_same_v<Real, float>;

    static CORDAGE_ALWAYS_INLINE real multiply_add(const real& a, const real& b, const real& c) noexcept {
#if XSIMD_WITH_AVX512F
        if constexpr (is_avx512<Arch> && is_float)
            return _mm512_fmadd_ps(a, b, c);
        else if constexpr (is_avx512<Arch>)
            return _mm512_fmadd_pd(a, b, c);
        else
#endif
            return xsimd::fma(a, b, c);
    }
    /// By the compiler's operator, which is folded into products and sums, unlike xsimd's.
    static CORDAGE_ALWAYS_INLINE real negative(const real& x) noexcept {
        return real(-static_cast<typename real::register_type>(x));
    }
    static CORDAGE_ALWAYS_INLINE word bits(const real& x) noexcept { return bits_as<word>(x); }
    static CORDAGE_ALWAYS_INLINE real from_bits(const word& w) noexcept { return bits_as<real>(w); }
    static CORDAGE_ALWAYS_INLINE word where_bit(const word& w, int n, const word& a, const word& b) noexcept {
#if XSIMD_WITH_AVX512F
        if constexpr (is_avx512<Arch> && is_float) {
            return word(_mm512_mask_mov_epi32(b, _mm512_test_epi32_mask(w, word(number{1} << n)), a));
        } else if constexpr (is_avx512<Arch>) {
            return word(_mm512_mask_mov_epi64(b, _mm512_test_epi64_mask(w, word(number{1} << n)), a));
        } else
#endif
#if XSIMD_WITH_AVX2
            if constexpr (is_avx2<Arch> && is_float) {  // a blend reads the highest bits alone
            return bits(_mm256_blendv_ps(from_bits(b), from_bits(a), from_bits(w << (31 - n))));
        } else if constexpr (is_avx2<Arch>) {
            return bits(_mm256_blendv_pd(from_bits(b), from_bits(a), from_bits(w << (63 - n))));
        } else
#endif
        {
            const word all = word(number{0}) - ((w >> n) & word(number{1}));
            return (a & all) | (b & ~all);
        }
    }
};

}  // namespace backend::simd_detail

template <class Arch>
struct lane_traits<xsimd::batch<double, Arch>> : backend::simd_detail::lanes_of_numbers<double, Arch> {
    using real = xsimd::batch<double, Arch>;
    using word = xsimd::batch<std::uint64_t, Arch>;

    /// A half word in the low bits of the double 2^52 gives a double, minus 2^52, exactly; only the sum of the two
    /// halves rounds.
    static CORDAGE_ALWAYS_INLINE real from_signed(const word& w) noexcept {
        const word power(std::uint64_t{0x433} << 52);
        const real low =
            as_written(lane_traits::from_bits((w & word(std::uint64_t{0xffff'ffff})) | power) - real(0x1p52));
        const real high = as_written(lane_traits::from_bits(((w >> 32) ^ word(std::uint64_t{1} << 31)) | power) -
                                     real(0x1p52 + 0x1p31));
        return lane_traits::multiply_add(high, real(0x1p32), low);
    }

 private:
    /// The same number. Without fused products and sums, fast-math would add up 2^52 and 2^84 of both halves first.
    static CORDAGE_ALWAYS_INLINE real as_written(const real& x) noexcept {
        auto lanes = static_cast<typename real::register_type>(x);
#if defined(__x86_64__)  // the others have fused ones
        if constexpr (!backend::simd_detail::has_fused_multiply_add<Arch>) asm("" : "+x"(lanes));
#endif
        return lanes;
    }
};

/// `fused` rounds once where has_fused_multiply_add<Arch>.
template <class Arch>
struct lane_traits<xsimd::batch<float, Arch>> : backend::simd_detail::lanes_of_numbers<float, Arch> {
    using real = xsimd::batch<float, Arch>;
    using word = xsimd::batch<std::uint32_t, Arch>;
    using lane = backend::simd_detail::lanes_of_numbers<float, Arch>;
    using lane::bits, lane::from_bits, lane::where_bit;

    static CORDAGE_ALWAYS_INLINE real fused(const real& a, const real& b, const real& c) noexcept {
        return lane_traits::multiply_add(a, b, c);
    }
    static CORDAGE_ALWAYS_INLINE real from_signed(const word& w) noexcept {
        return xsimd::to_float(backend::simd_detail::bits_as<xsimd::batch<std::int32_t, Arch>>(w));
    }
    static CORDAGE_ALWAYS_INLINE word smaller(const word& v, const word& w) noexcept { return xsimd::min(v, w); }
    static CORDAGE_ALWAYS_INLINE word larger(const word& v, const word& w) noexcept { return xsimd::max(v, w); }
    // Infinity's bits less the magnitude's, by which a NaN wraps below 0. By bits, for fast-math.
    static CORDAGE_ALWAYS_INLINE word below_infinity(const real& x) noexcept {
        return word(0x7f80'0000u) - (bits(x) & word(0x7fff'ffffu));
    }
    // Under fast-math clang assumes that a comparison of x with itself, also by an intrinsic, finds no NaN: bits are
    // compared.
    static CORDAGE_ALWAYS_INLINE real plain_nan(const real& x) noexcept {
#if XSIMD_WITH_AVX512F
        if constexpr (backend::simd_detail::is_avx512<Arch>) {  // classes QNaN and SNaN become the indefinite NaN
            return _mm512_fixupimm_ps(x, x, _mm512_set1_epi32(0x33), 0);
        } else
#endif
#if XSIMD_WITH_AVX && !(defined(__clang__) && __FINITE_MATH_ONLY__)
            if constexpr (std::is_base_of_v<xsimd::avx, Arch>) {
            const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(0xffc0'0000u)));
            return _mm256_blendv_ps(x, nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
        } else
#endif
        {
            return from_bits(where_bit(below_infinity(x), 31, word(0xffc0'0000u), bits(x)));
        }
    }
    static CORDAGE_ALWAYS_INLINE bool has_nan(const real& x) noexcept {
#if XSIMD_WITH_AVX512F && !(defined(__clang__) && __FINITE_MATH_ONLY__)
        if constexpr (backend::simd_detail::is_avx512<Arch>) {
            return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q) != 0;
        } else
#endif
#if XSIMD_WITH_AVX && !(defined(__clang__) && __FINITE_MATH_ONLY__)
            if constexpr (std::is_base_of_v<xsimd::avx, Arch>) {
            return _mm256_movemask_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)) != 0;
        } else
#endif
        {
            std::uint32_t below[real::size], any = 0;
            below_infinity(x).store_unaligned(below);
            for (const std::uint32_t one : below) any |= one;
            return any >> 31 != 0;
        }
    }
    static CORDAGE_ALWAYS_INLINE word rounded_upper_half(const word& w) noexcept {
#if XSIMD_WITH_AVX512F
        if constexpr (backend::simd_detail::is_avx512<Arch>) {  // three operations, at most one on port 0
            return w + where_bit(w, 16, word(0x8000u), word(0x7fffu));
        } else
#endif
            return w + (((w >> 16) & word(1u)) + word(0x7fffu));
    }
};

}  // namespace cordage
