// SPDX-License-Identifier: MIT
// The operations that the register layer needs of a lane type, and those of float and double (CUDA: float).
#pragma once

#include <cstdint>

#include "cordage/core/macros.hpp"

namespace cordage {

/// The operations that the formulas of pair/ need beside + and *, of a number type: float and double here, xsimd's
/// vectors of numbers in backend/simd/lane.hpp. Specialise it for another vector type and every formula accepts that
/// type.
///
///   multiply_add(a, b, c)       a b + c, rounded once where the target has an instruction for it, else twice: never as
///                               a compiler likes, so that vectors of any width and single numbers have the same bits
///   fused(a, b, c)              a b + c, rounded once; of single numbers, and of vectors of floats
///   negative(x)                 -x, which compilers fold into neighbouring sums and products
///   word                        unsigned integers of the numbers' width, one for each number of the lane
///   bits(x), from_bits(w)       the same bits as the other type
///   from_signed(w)              the signed integer w as the nearest number
///   where_bit(w, n, a, b)       a where bit n of w is set, else b; words
/// and for floats
///   smaller(v, w), larger(v, w)  of unsigned words
///   plain_nan(x)                x, with every NaN replaced by one quiet NaN
///   rounded_upper_half(w)       w + 0x7fff + (bit 16 of w); its upper half is w rounded to nearest, ties to even
template <class Lane>
struct lane_traits;

namespace pair_detail {

/// Operations shared by one float and one double.
template <class Real, class Word, class Signed>
struct one_number {
    using word = Word;

    CORDAGE_HOST_DEVICE static Real fused(Real a, Real b, Real c) noexcept {
#if defined(__CUDA_ARCH__)
        if constexpr (sizeof(Real) == 4) {
            return __fmaf_rn(a, b, c);
        } else {
            return __fma_rn(a, b, c);
        }
#else
        if constexpr (sizeof(Real) == 4) {
            return __builtin_fmaf(a, b, c);
        } else {
            return __builtin_fma(a, b, c);
        }
#endif
    }
    CORDAGE_HOST_DEVICE static Real multiply_add(Real a, Real b, Real c) noexcept {
#if defined(__CUDA_ARCH__) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
        return fused(a, b, c);
#else
        return a * b + c;
#endif
    }
    CORDAGE_HOST_DEVICE static constexpr Real negative(Real x) noexcept { return -x; }
    CORDAGE_HOST_DEVICE static constexpr word bits(Real x) noexcept { return __builtin_bit_cast(word, x); }
    CORDAGE_HOST_DEVICE static constexpr Real from_bits(word w) noexcept { return __builtin_bit_cast(Real, w); }
    CORDAGE_HOST_DEVICE static constexpr Real from_signed(word w) noexcept {
        return static_cast<Real>(static_cast<Signed>(w));
    }
    CORDAGE_HOST_DEVICE static constexpr word where_bit(word w, int n, word a, word b) noexcept {
        return ((w >> n) & 1u) != 0 ? a : b;
    }
};

}  // namespace pair_detail

template <>
struct lane_traits<double> : pair_detail::one_number<double, std::uint64_t, std::int64_t> {};

template <>
struct lane_traits<float> : pair_detail::one_number<float, std::uint32_t, std::int32_t> {
    CORDAGE_HOST_DEVICE static constexpr word smaller(word v, word w) noexcept { return v < w ? v : w; }
    CORDAGE_HOST_DEVICE static constexpr word larger(word v, word w) noexcept { return v > w ? v : w; }
    CORDAGE_HOST_DEVICE static constexpr float plain_nan(float x) noexcept {
        return (bits(x) & 0x7fff'ffffu) > 0x7f80'0000u ? from_bits(0xffc0'0000u) : x;  // fast-math removes x != x
    }
    CORDAGE_HOST_DEVICE static constexpr word rounded_upper_half(word w) noexcept {
        return w + 0x7fffu + ((w >> 16) & 1u);
    }
};

}  // namespace cordage
