// SPDX-License-Identifier: MIT
// Fused multiply-add where the architecture has one, with one rounding; serves the SIMD kernels.
#pragma once

#include <type_traits>
#include <xsimd/xsimd.hpp>

#include "cordage/core/macros.hpp"

namespace cordage::backend {

/// Whether multiply_add rounds once. (xsimd 8.1 multiplies and adds on AVX-512, hence the intrinsics below.)
template <class Arch>
inline constexpr bool has_fused_multiply_add =
    std::is_base_of_v<xsimd::avx512f, Arch> || std::is_base_of_v<xsimd::fma3<xsimd::avx2>, Arch> ||
    std::is_base_of_v<xsimd::fma3<xsimd::avx>, Arch> || std::is_base_of_v<xsimd::fma3<xsimd::sse4_2>, Arch> ||
    std::is_base_of_v<xsimd::neon64, Arch>;

/// a b + c.
template <class Real, class Arch>
CORDAGE_ALWAYS_INLINE xsimd::batch<Real, Arch> multiply_add(const xsimd::batch<Real, Arch>& a,
                                                            const xsimd::batch<Real, Arch>& b,
                                                            const xsimd::batch<Real, Arch>& c) noexcept {
#if XSIMD_WITH_AVX512F
    if constexpr (std::is_base_of_v<xsimd::avx512f, Arch> && std::is_same_v<Real, float>) {
        return _mm512_fmadd_ps(a, b, c);
    } else if constexpr (std::is_base_of_v<xsimd::avx512f, Arch>) {
        return _mm512_fmadd_pd(a, b, c);
    } else
#endif
        return xsimd::fma(a, b, c);
}

/// a b - c.
template <class Real, class Arch>
CORDAGE_ALWAYS_INLINE xsimd::batch<Real, Arch> multiply_subtract(const xsimd::batch<Real, Arch>& a,
                                                                 const xsimd::batch<Real, Arch>& b,
                                                                 const xsimd::batch<Real, Arch>& c) noexcept {
#if XSIMD_WITH_AVX512F
    if constexpr (std::is_base_of_v<xsimd::avx512f, Arch> && std::is_same_v<Real, float>) {
        return _mm512_fmsub_ps(a, b, c);
    } else if constexpr (std::is_base_of_v<xsimd::avx512f, Arch>) {
        return _mm512_fmsub_pd(a, b, c);
    } else
#endif
        return xsimd::fms(a, b, c);
}

/// c - a b.
template <class Real, class Arch>
CORDAGE_ALWAYS_INLINE xsimd::batch<Real, Arch> subtract_product(const xsimd::batch<Real, Arch>& a,
                                                                const xsimd::batch<Real, Arch>& b,
                                                                const xsimd::batch<Real, Arch>& c) noexcept {
#if XSIMD_WITH_AVX512F
    if constexpr (std::is_base_of_v<xsimd::avx512f, Arch> && std::is_same_v<Real, float>) {
        return _mm512_fnmadd_ps(a, b, c);
    } else if constexpr (std::is_base_of_v<xsimd::avx512f, Arch>) {
        return _mm512_fnmadd_pd(a, b, c);
    } else
#endif
#if XSIMD_WITH_NEON64
        if constexpr (std::is_same_v<Real, float>) {
        return vfmsq_f32(c, a, b);
    } else if constexpr (std::is_same_v<Real, double>) {
        return vfmsq_f64(c, a, b);
    } else
#endif
        return xsimd::fnma(a, b, c);
}

}  // namespace cordage::backend
