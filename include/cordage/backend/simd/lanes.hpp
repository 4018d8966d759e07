// SPDX-License-Identifier: MIT
// How each pairing lays pairs into vector lanes; serves the SIMD rotation, forward and backward.
#pragma once

#include <cstdint>
#include <xsimd/xsimd.hpp>

#include "cordage/backend/simd/elements.hpp"
#include "cordage/backend/simd/multiply_add.hpp"
#include "cordage/core/index.hpp"
#include "cordage/core/macros.hpp"
#include "cordage/core/pairing.hpp"

namespace cordage::backend {

/// x1, x0, x3, x2, ...: every lane's partner in an interleaved head.
template <class Real, class Arch>
CORDAGE_ALWAYS_INLINE xsimd::batch<Real, Arch> swap_neighbours(const xsimd::batch<Real, Arch>& x) noexcept {
    using word = xsimd::as_unsigned_integer_t<Real>;
#if XSIMD_WITH_NEON64
    if constexpr (std::is_same_v<Real, float>) {
        return vrev64q_f32(x);
    } else if constexpr (std::is_same_v<Real, double>) {
        return vextq_f64(x, x, 1);
    }
#endif
    struct partner {
        static constexpr word get(word lane, word) { return lane ^ 1u; }
    };
    return xsimd::swizzle(x, xsimd::make_batch_constant<xsimd::batch<word, Arch>, partner>());
}

/// row[0], row[0], row[1], row[1], ...: half a vector of numbers, each for both lanes of its pair.
template <class Arch, class Real>
CORDAGE_ALWAYS_INLINE xsimd::batch<Real, Arch> load_twice(const Real* row) noexcept {
#if defined(__AVX512F__)
    if constexpr (std::is_base_of_v<xsimd::avx512f, Arch> && std::is_same_v<Real, float>) {
        const __m512i lanes = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
        return _mm512_permutexvar_ps(lanes, _mm512_castps256_ps512(_mm256_loadu_ps(row)));
    } else
#endif
#if defined(__AVX2__)
        if constexpr (std::is_base_of_v<xsimd::avx2, Arch> && std::is_same_v<Real, float>) {
        const __m256i lanes = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
        return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(row)), lanes);
    } else
#endif
#if XSIMD_WITH_NEON64
        if constexpr (std::is_same_v<Real, float>) {
        const float32x2_t both = vld1_f32(row);
        return vcombine_f32(vdup_lane_f32(both, 0), vdup_lane_f32(both, 1));
    } else if constexpr (std::is_same_v<Real, double>) {
        return vld1q_dup_f64(row);
    } else
#endif
    {
        constexpr std::size_t size = xsimd::batch<Real, Arch>::size;
        alignas(64) Real lanes[size];
        for (std::size_t i = 0; i < size; ++i) lanes[i] = row[i / 2];
        return xsimd::batch<Real, Arch>::load_aligned(lanes);
    }
}

/// -1, 1, -1, 1, ...
template <class Arch, class Real>
CORDAGE_ALWAYS_INLINE xsimd::batch<Real, Arch> alternating_signs() noexcept {
    constexpr std::size_t size = xsimd::batch<Real, Arch>::size;
    alignas(64) Real signs[size];
    for (std::size_t i = 0; i < size; ++i) signs[i] = i % 2 == 0 ? Real(-1) : Real(1);
    return xsimd::batch<Real, Arch>::load_aligned(signs);
}

/// cos and sin of one vector of lanes, in registers for all heads of a token.
///
/// half_split:  `width` pairs; lanes i of two vectors, the second `pairs` further on.   cos = c, sin = s
/// interleaved: `width/2` pairs in one vector and its swap.    cos = c0 c0 c1 c1 ...    sin = -s0 s0 -s1 s1 ...
template <class Arch, pairing Pairing, element T>
struct turn;

template <class Arch, element T>
struct turn<Arch, half_split, T> {
    using vector = reals<Arch, T>;
    using real = compute_of<T>;
    static constexpr index_t width = static_cast<index_t>(vector::size);
    static constexpr index_t pairs_each = width;
    static constexpr std::size_t most_in_registers = 4;
    vector cos, sin;

    CORDAGE_ALWAYS_INLINE void load(const real* c, const real* s, real cos_factor, real sin_factor) noexcept {
        cos = vector::load_unaligned(c) * vector(cos_factor);
        sin = vector::load_unaligned(s) * vector(sin_factor);
    }
    CORDAGE_ALWAYS_INLINE void apply(const T* x, T* y, index_t first, index_t pairs) const noexcept {
        const vector x0 = backend::load<Arch>(x + first), x1 = backend::load<Arch>(x + first + pairs);
        store<Arch>(multiply_subtract(cos, x0, sin * x1), y + first);
        store<Arch>(multiply_add(cos, x1, sin * x0), y + first + pairs);
    }
    /// grad_x, and adds dL/dangle of each lane to grad_angle and grad_y . y to dot.
    CORDAGE_ALWAYS_INLINE void backward(const T* g, const T* y, T* gx, index_t first, index_t pairs, vector& grad_angle,
                                        vector& dot) const noexcept {
        const vector g0 = backend::load<Arch>(g + first), g1 = backend::load<Arch>(g + first + pairs);
        const vector y0 = backend::load<Arch>(y + first), y1 = backend::load<Arch>(y + first + pairs);
        store<Arch>(multiply_add(cos, g0, sin * g1), gx + first);
        store<Arch>(multiply_subtract(cos, g1, sin * g0), gx + first + pairs);
        grad_angle = multiply_add(g1, y0, subtract_product(g0, y1, grad_angle));
        dot = multiply_add(g0, y0, multiply_add(g1, y1, dot));
    }
    static void store_grad_angle(const vector& grad_angle, real* out) noexcept { grad_angle.store_unaligned(out); }
};

template <class Arch, element T>
struct turn<Arch, interleaved, T> {
    using vector = reals<Arch, T>;
    using real = compute_of<T>;
    static constexpr index_t width = static_cast<index_t>(vector::size);
    static constexpr index_t pairs_each = width / 2;
    // AVX-512 has twice the registers too
    static constexpr std::size_t most_in_registers = std::is_base_of_v<xsimd::avx512f, Arch> ? 8 : 4;
    vector cos, sin;

    CORDAGE_ALWAYS_INLINE void load(const real* c, const real* s, real cos_factor, real sin_factor) noexcept {
        cos = load_twice<Arch>(c) * vector(cos_factor);
        sin = load_twice<Arch>(s) * (alternating_signs<Arch, real>() * vector(sin_factor));
    }
    CORDAGE_ALWAYS_INLINE void apply(const T* x, T* y, index_t first, index_t) const noexcept {
        const vector v = backend::load<Arch>(x + 2 * first);
        store<Arch>(multiply_add(cos, v, sin * swap_neighbours(v)), y + 2 * first);
    }
    CORDAGE_ALWAYS_INLINE void backward(const T* g, const T* y, T* gx, index_t first, index_t, vector& grad_angle,
                                        vector& dot) const noexcept {
        const vector gv = backend::load<Arch>(g + 2 * first), yv = backend::load<Arch>(y + 2 * first);
        store<Arch>(subtract_product(sin, swap_neighbours(gv), cos * gv), gx + 2 * first);
        grad_angle = multiply_add(gv, swap_neighbours(yv), grad_angle);  // g0 y1, g1 y0, ...
        dot = multiply_add(gv, yv, dot);
    }
    static void store_grad_angle(const vector& grad_angle, real* out) noexcept {
        real lanes[vector::size];
        grad_angle.store_unaligned(lanes);
        for (index_t i = 0; i < pairs_each; ++i) out[i] = lanes[2 * i + 1] - lanes[2 * i];
    }
};

}  // namespace cordage::backend
