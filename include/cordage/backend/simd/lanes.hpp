// SPDX-License-Identifier: MIT
// How each pairing lays pairs into vector lanes; serves the SIMD rotation, forward and backward.
#pragma once

#include <cstdint>
#include <xsimd/xsimd.hpp>

#include "cordage/backend/simd/elements.hpp"
#include "cordage/backend/simd/even_odd.hpp"
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
#if XSIMD_VERSION_MAJOR < 13
    return xsimd::swizzle(x, xsimd::make_batch_constant<xsimd::batch<word, Arch>, partner>());
#elif XSIMD_VERSION_MAJOR == 13
    return xsimd::swizzle(x, xsimd::make_batch_constant<word, Arch, partner>());
#else
    return xsimd::swizzle(x, xsimd::make_batch_constant<word, partner, Arch>());
#endif
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

/// A vector of pairs, lane 0 of each and lane 1 of each.
template <class Vector>
struct pair_lanes {
    Vector lane0, lane1;
};

/// cos and sin of a vector of pairs, in registers for all heads of a token.
template <class Vector>
struct pair_turn {
    Vector cos, sin;

    CORDAGE_ALWAYS_INLINE pair_lanes<Vector> forward(const Vector& x0, const Vector& x1) const noexcept {
        return {multiply_subtract(cos, x0, sin * x1), multiply_add(cos, x1, sin * x0)};
    }
    CORDAGE_ALWAYS_INLINE pair_lanes<Vector> adjoint(const Vector& g0, const Vector& g1) const noexcept {
        return {multiply_add(cos, g0, sin * g1), multiply_subtract(cos, g1, sin * g0)};
    }
};

/// sum + dL/dangle.
template <class Vector>
CORDAGE_ALWAYS_INLINE Vector plus_grad_angle(const Vector& g0, const Vector& g1, const Vector& y0, const Vector& y1,
                                             const Vector& sum) noexcept {
    return multiply_add(g1, y0, subtract_product(g0, y1, sum));
}

/// What one step of a kernel holds in registers: cos and sin of `pairs_each` pairs, and how these lie in a head.
///
///   load(c, s, cos_factor, sin_factor)   from rows of cos and sin
///   apply(x, y, first, pairs)            turns pairs [first, first + pairs_each) of a head of `pairs` pairs
///   backward(g, y, gx, first, pairs, sum)  their grad_x, and adds their dL/dangle to sum
///   store(sum, out)                      dL/dangle in the order of the pairs
///
/// half_split:   lanes i of two vectors, the second `pairs` further on
/// interleaved:  pairs_each = width/2 pairs in one vector and its swap.   cos = c0 c0 c1 c1 ...   sin = -s0 s0 -s1 s1
/// ... bfloat16:     even and odd lanes of a vector of words
template <class Arch, pairing Pairing, element T>
struct turn;

template <class Arch, element T>
requires(!is_bfloat16<T>) struct turn<Arch, half_split, T> {
    using vector = reals<Arch, T>;
    using real = compute_of<T>;
    using sum_type = vector;
    static constexpr index_t pairs_each = static_cast<index_t>(vector::size);
    static constexpr index_t bytes_each = pairs_each * static_cast<index_t>(sizeof(T));
    static constexpr std::size_t most_in_registers = 4;
    pair_turn<vector> at;

    CORDAGE_ALWAYS_INLINE void load(const real* c, const real* s, real cos_factor, real sin_factor) noexcept {
        at = {vector::load_unaligned(c) * vector(cos_factor), vector::load_unaligned(s) * vector(sin_factor)};
    }
    CORDAGE_ALWAYS_INLINE void apply(const T* x, T* y, index_t first, index_t pairs) const noexcept {
        const auto out = at.forward(backend::load<Arch>(x + first), backend::load<Arch>(x + first + pairs));
        backend::store<Arch>(out.lane0, y + first);
        backend::store<Arch>(out.lane1, y + first + pairs);
    }
    CORDAGE_ALWAYS_INLINE void backward(const T* g, const T* y, T* gx, index_t first, index_t pairs,
                                        sum_type& sum) const noexcept {
        const vector g0 = backend::load<Arch>(g + first), g1 = backend::load<Arch>(g + first + pairs);
        const vector y0 = backend::load<Arch>(y + first), y1 = backend::load<Arch>(y + first + pairs);
        const auto out = at.adjoint(g0, g1);
        backend::store<Arch>(out.lane0, gx + first);
        backend::store<Arch>(out.lane1, gx + first + pairs);
        sum = plus_grad_angle(g0, g1, y0, y1, sum);
    }
    static CORDAGE_ALWAYS_INLINE sum_type zero() noexcept { return vector(real(0)); }
    static CORDAGE_ALWAYS_INLINE void store(const sum_type& sum, real* out) noexcept { sum.store_unaligned(out); }
};

template <class Arch, element T>
requires is_bfloat16<T>
struct turn<Arch, half_split, T> {
    using vector = reals<Arch, T>;
    using real = compute_of<T>;
    using sum_type = even_odd<vector>;
    static constexpr index_t pairs_each = 2 * static_cast<index_t>(vector::size);
    static constexpr index_t bytes_each = pairs_each * static_cast<index_t>(sizeof(T));
    static constexpr std::size_t most_in_registers = 2;
    pair_turn<vector> even, odd;

    CORDAGE_ALWAYS_INLINE void load(const real* c, const real* s, real cos_factor, real sin_factor) noexcept {
        const auto cos = unzip<Arch>(c), sin = unzip<Arch>(s);
        even = {cos.even * vector(cos_factor), sin.even * vector(sin_factor)};
        odd = {cos.odd * vector(cos_factor), sin.odd * vector(sin_factor)};
    }
    CORDAGE_ALWAYS_INLINE void apply(const T* x, T* y, index_t first, index_t pairs) const noexcept {
        const auto x0 = load_even_odd<Arch>(x + first), x1 = load_even_odd<Arch>(x + first + pairs);
        const auto evens = even.forward(x0.even, x1.even), odds = odd.forward(x0.odd, x1.odd);
        store_even_odd<Arch, T>({evens.lane0, odds.lane0}, y + first);
        store_even_odd<Arch, T>({evens.lane1, odds.lane1}, y + first + pairs);
    }
    CORDAGE_ALWAYS_INLINE void backward(const T* g, const T* y, T* gx, index_t first, index_t pairs,
                                        sum_type& sum) const noexcept {
        const auto g0 = load_even_odd<Arch>(g + first), g1 = load_even_odd<Arch>(g + first + pairs);
        const auto y0 = load_even_odd<Arch>(y + first), y1 = load_even_odd<Arch>(y + first + pairs);
        const auto evens = even.adjoint(g0.even, g1.even), odds = odd.adjoint(g0.odd, g1.odd);
        store_even_odd<Arch, T>({evens.lane0, odds.lane0}, gx + first);
        store_even_odd<Arch, T>({evens.lane1, odds.lane1}, gx + first + pairs);
        sum.even = plus_grad_angle(g0.even, g1.even, y0.even, y1.even, sum.even);
        sum.odd = plus_grad_angle(g0.odd, g1.odd, y0.odd, y1.odd, sum.odd);
    }
    static CORDAGE_ALWAYS_INLINE sum_type zero() noexcept { return {vector(real(0)), vector(real(0))}; }
    static CORDAGE_ALWAYS_INLINE void store(const sum_type& sum, real* out) noexcept { zip<Arch>(sum, out); }
};

template <class Arch, element T>
requires(!is_bfloat16<T>) struct turn<Arch, interleaved, T> {
    using vector = reals<Arch, T>;
    using real = compute_of<T>;
    using sum_type = vector;
    static constexpr index_t pairs_each = static_cast<index_t>(vector::size) / 2;
    static constexpr index_t bytes_each = 2 * pairs_each * static_cast<index_t>(sizeof(T));
    // AVX-512 has twice the registers too
    static constexpr std::size_t most_in_registers = std::is_base_of_v<xsimd::avx512f, Arch> ? 8 : 4;
    vector cos, sin;

    CORDAGE_ALWAYS_INLINE void load(const real* c, const real* s, real cos_factor, real sin_factor) noexcept {
        cos = load_twice<Arch>(c) * vector(cos_factor);
        sin = load_twice<Arch>(s) * (alternating_signs<Arch, real>() * vector(sin_factor));
    }
    CORDAGE_ALWAYS_INLINE void apply(const T* x, T* y, index_t first, index_t) const noexcept {
        const vector v = backend::load<Arch>(x + 2 * first);
        backend::store<Arch>(multiply_add(cos, v, sin * swap_neighbours(v)), y + 2 * first);
    }
    CORDAGE_ALWAYS_INLINE void backward(const T* g, const T* y, T* gx, index_t first, index_t,
                                        sum_type& sum) const noexcept {
        const vector gv = backend::load<Arch>(g + 2 * first), yv = backend::load<Arch>(y + 2 * first);
        backend::store<Arch>(subtract_product(sin, swap_neighbours(gv), cos * gv), gx + 2 * first);
        sum = multiply_add(gv, swap_neighbours(yv), sum);  // g0 y1, g1 y0, ...
    }
    static CORDAGE_ALWAYS_INLINE sum_type zero() noexcept { return vector(real(0)); }
    static CORDAGE_ALWAYS_INLINE void store(const sum_type& sum, real* out) noexcept {
        alignas(64) real lanes[vector::size];
        sum.store_aligned(lanes);
        for (index_t i = 0; i < pairs_each; ++i) out[i] = lanes[2 * i + 1] - lanes[2 * i];
    }
};

template <class Arch, element T>
requires is_bfloat16<T>
struct turn<Arch, interleaved, T> {
    using vector = reals<Arch, T>;
    using real = compute_of<T>;
    using sum_type = vector;
    static constexpr index_t pairs_each = static_cast<index_t>(vector::size);
    static constexpr index_t bytes_each = 2 * pairs_each * static_cast<index_t>(sizeof(T));
    static constexpr std::size_t most_in_registers = 4;
    pair_turn<vector> at;

    CORDAGE_ALWAYS_INLINE void load(const real* c, const real* s, real cos_factor, real sin_factor) noexcept {
        at = {vector::load_unaligned(c) * vector(cos_factor), vector::load_unaligned(s) * vector(sin_factor)};
    }
    CORDAGE_ALWAYS_INLINE void apply(const T* x, T* y, index_t first, index_t) const noexcept {
        const auto v = load_even_odd<Arch>(x + 2 * first);
        const auto out = at.forward(v.even, v.odd);
        store_even_odd<Arch, T>({out.lane0, out.lane1}, y + 2 * first);
    }
    CORDAGE_ALWAYS_INLINE void backward(const T* g, const T* y, T* gx, index_t first, index_t,
                                        sum_type& sum) const noexcept {
        const auto gv = load_even_odd<Arch>(g + 2 * first), yv = load_even_odd<Arch>(y + 2 * first);
        const auto out = at.adjoint(gv.even, gv.odd);
        store_even_odd<Arch, T>({out.lane0, out.lane1}, gx + 2 * first);
        sum = plus_grad_angle(gv.even, gv.odd, yv.even, yv.odd, sum);
    }
    static CORDAGE_ALWAYS_INLINE sum_type zero() noexcept { return vector(real(0)); }
    static CORDAGE_ALWAYS_INLINE void store(const sum_type& sum, real* out) noexcept { sum.store_unaligned(out); }
};

}  // namespace cordage::backend
