// SPDX-License-Identifier: MIT
// Fused multiply-add where the architecture has one, with one rounding; serves the SIMD kernels.
#pragma once

#include <type_traits>
#include <xsimd/xsimd.hpp>

#include "cordage/core/macros.hpp"

namespace cordage::backend {

template <class Arch>
using floats = xsimd::batch<float, Arch>;

/// Whether multiply_add rounds once. (xsimd 8.1 multiplies and adds on AVX-512, hence the intrinsics below.)
template <class Arch>
inline constexpr bool has_fused_multiply_add =
    std::is_base_of_v<xsimd::avx512f, Arch> || std::is_base_of_v<xsimd::fma3<xsimd::avx2>, Arch> ||
    std::is_base_of_v<xsimd::fma3<xsimd::avx>, Arch> || std::is_base_of_v<xsimd::fma3<xsimd::sse4_2>, Arch>;

/// a b + c.
template <class Arch>
CORDAGE_ALWAYS_INLINE floats<Arch> multiply_add(const floats<Arch>& a, const floats<Arch>& b,
                                                const floats<Arch>& c) noexcept {
#if XSIMD_WITH_AVX512F
    if constexpr (std::is_base_of_v<xsimd::avx512f, Arch>) {
        return _mm512_fmadd_ps(a, b, c);
    } else
#endif
        return xsimd::fma(a, b, c);
}

/// a b - c.
template <class Arch>
CORDAGE_ALWAYS_INLINE floats<Arch> multiply_subtract(const floats<Arch>& a, const floats<Arch>& b,
                                                     const floats<Arch>& c) noexcept {
#if XSIMD_WITH_AVX512F
    if constexpr (std::is_base_of_v<xsimd::avx512f, Arch>) {
        return _mm512_fmsub_ps(a, b, c);
    } else
#endif
        return xsimd::fms(a, b, c);
}

/// c - a b.
template <class Arch>
CORDAGE_ALWAYS_INLINE floats<Arch> subtract_product(const floats<Arch>& a, const floats<Arch>& b,
                                                    const floats<Arch>& c) noexcept {
#if XSIMD_WITH_AVX512F
    if constexpr (std::is_base_of_v<xsimd::avx512f, Arch>) {
        return _mm512_fnmadd_ps(a, b, c);
    } else
#endif
        return xsimd::fnma(a, b, c);
}

}  // namespace cordage::backend
