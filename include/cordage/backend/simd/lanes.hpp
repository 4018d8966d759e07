// SPDX-License-Identifier: MIT
// How each pairing maps pairs to vector lanes; serves the SIMD rotation, forward and backward.
#pragma once

#include <cstdint>

#include "cordage/backend/simd/elements.hpp"
#include "cordage/backend/simd/even_odd.hpp"
#include "cordage/core/index.hpp"
#include "cordage/core/macros.hpp"
#include "cordage/core/pairing.hpp"
#include "cordage/pair/rotate.hpp"
#include "cordage/tensors/operand.hpp"

namespace cordage::backend {

/// x1, x0, x3, x2, ...: the partner of each lane in an interleaved head.
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

/// 1, -1, 1, -1, ...
template <class Arch, class Real>
CORDAGE_ALWAYS_INLINE xsimd::batch<Real, Arch> alternating_signs() noexcept {
    constexpr std::size_t size = xsimd::batch<Real, Arch>::size;
    alignas(64) Real signs[size];
    for (std::size_t i = 0; i < size; ++i) signs[i] = i % 2 == 0 ? Real(1) : Real(-1);
    return xsimd::batch<Real, Arch>::load_aligned(signs);
}

namespace simd_detail {

/// Pairs as two vectors, of their first and of their second numbers; the formulas are those of pair/rotate.hpp.
template <class Arch, class Real>
struct pair_vectors {
    using vector = lane_type<Real, Arch>;
    using values = lane_pair<vector>;
    using angles = cos_sin<vector>;
    using sum_type = vector;
    static constexpr index_t pairs_each = lane_width<Real, Arch>;
    static constexpr std::size_t most_in_registers = 4;

    static CORDAGE_ALWAYS_INLINE values partner(const values& x) noexcept { return {x.second, x.first}; }
    static CORDAGE_ALWAYS_INLINE values with_signs(const values& s) noexcept {
        return {s.first, lane_traits<vector>::negative(s.second)};
    }
    template <class F, class... More>
    static CORDAGE_ALWAYS_INLINE values map(const F& f, const values& x, const More&... more) noexcept {
        return {f(x.first, more.first...), f(x.second, more.second...)};
    }
    template <class F, class... More>
    static CORDAGE_ALWAYS_INLINE values map_with_partner(const F& f, const values& x, const More&... more) noexcept {
        return {f(x.first, x.second, more.first...), f(x.second, x.first, more.second...)};
    }
    static CORDAGE_ALWAYS_INLINE angles load_angles(const Real* c, const Real* s, Real cos_factor,
                                                    Real sin_factor) noexcept {
        return {from_row<vector>(c) * vector(cos_factor), from_row<vector>(s) * vector(sin_factor)};
    }
    static CORDAGE_ALWAYS_INLINE values rotate(const angles& at, const values& x) noexcept { return rotated(at, x); }
    static CORDAGE_ALWAYS_INLINE values from_rows(const Real* first, const Real* second) noexcept {
        return {from_row<vector>(first), from_row<vector>(second)};
    }
    static CORDAGE_ALWAYS_INLINE sum_type zero() noexcept { return vector(Real(0)); }
    static CORDAGE_ALWAYS_INLINE sum_type add(const sum_type& sum, const values& g, const values& y) noexcept {
        return plus_grad_angle(sum, g, y);
    }
    static CORDAGE_ALWAYS_INLINE void add_to(Real* out, const sum_type& sum) noexcept { add_to_row(sum, out); }
};

/// The same with their loads and stores, of elements in order.
template <class Arch, pairing Pairing, class Real>
struct ordered_pairs : pair_vectors<Arch, Real> {
    using values = typename ordered_pairs::values;

    template <class Format, class T>
    static CORDAGE_ALWAYS_INLINE values load(const Format& format, const T* x, index_t pairs) noexcept {
        return {backend::load<Arch>(format, x), backend::load<Arch>(format, x + Pairing::second(0, pairs))};
    }
    template <class Format, class T>
    static CORDAGE_ALWAYS_INLINE void store(const Format& format, const values& v, T* y, index_t pairs) noexcept {
        backend::store<Arch>(format, v.first, y);
        backend::store<Arch>(format, v.second, y + Pairing::second(0, pairs));
    }
};

/// Values that are one vector of elements in order.
template <class Arch, class Real>
struct single_vectors {
    using vector = lane_type<Real, Arch>;
    using values = vector;

    template <class Format, class T>
    static CORDAGE_ALWAYS_INLINE values load(const Format& format, const T* x, index_t) noexcept {
        return backend::load<Arch>(format, x);
    }
    template <class Format, class T>
    static CORDAGE_ALWAYS_INLINE void store(const Format& format, const values& v, T* y, index_t) noexcept {
        backend::store<Arch>(format, v, y);
    }
    template <class F, class... More>
    static CORDAGE_ALWAYS_INLINE values map(const F& f, const values& x, const More&... more) noexcept {
        return f(x, more...);
    }
};

/// x; if it is for bfloat16, with plain NaNs, as even_odd stores require: a caller's weights, tables and factors may
/// hold any NaN.
template <bool IsBfloat16, class Lane>
CORDAGE_ALWAYS_INLINE Lane plain_nan_if(const Lane& x) noexcept {
    if constexpr (IsBfloat16) {
        return lane_traits<Lane>::plain_nan(x);
    } else {
        return x;
    }
}

template <class Vector>
CORDAGE_ALWAYS_INLINE cos_sin<Vector> with_plain_nans(const cos_sin<Vector>& at) noexcept {
    return {lane_traits<Vector>::plain_nan(at.cos), lane_traits<Vector>::plain_nan(at.sin)};
}

}  // namespace simd_detail

/// The mapping of a head's pairs to vectors, for elements read in order (EvenOdd false) or, for bfloat16 only, as
/// halves of 32-bit words (EvenOdd true):
///
///   load(format, x, pairs)              pairs_each pairs of a head of `pairs` pairs, as `values`; x: their first lane
///   store(format, v, y, pairs)             writes them back
///   load_angles(c, s, c_factor, s_factor)  their cos and sin from rows, as `angles`
///   rotate(angles, values)              y = R x
///   from_rows(first, second)            values from rows in the order of the pairs
///   partner(values)                     the other number of each pair
///   with_signs(values)                  sin, -sin of each pair
///   map(f, values...)                   f of their vectors
///   map_with_partner(f, x, values...)      map(f, x, partner(x), values...), without copies that GCC 12 keeps
///   add(sum, g, y), zero(), add_to(out, sum)  sums of dL/dangle over heads, stored in the order of the pairs
///
// clang-format off
///   half_split              lanes i of two vectors, the second `pairs` further on
///   half_split, EvenOdd     the same twice, for even and for odd lanes
///   interleaved             x0 x1 x2 x3 ... and its swap x1 x0 x3 x2 ...: cos = c0 c0 c1 c1 ..., sin = s0 -s0 s1 -s1 ...
///   interleaved, EvenOdd    even lanes and odd lanes
// clang-format on
template <class Arch, pairing Pairing, class Real, bool EvenOdd>
struct pair_registers;

template <class Arch, class Real>
struct pair_registers<Arch, half_split, Real, false> : simd_detail::ordered_pairs<Arch, half_split, Real> {};

// even_odd stores require NaNs with a zero lower half; a table may contain others, so they are replaced.

template <class Arch>
struct pair_registers<Arch, interleaved, float, true> : simd_detail::pair_vectors<Arch, float> {
    using each = simd_detail::pair_vectors<Arch, float>;
    using values = typename each::values;

    static CORDAGE_ALWAYS_INLINE typename each::angles load_angles(const float* c, const float* s, float cos_factor,
                                                                   float sin_factor) noexcept {
        return simd_detail::with_plain_nans(each::load_angles(c, s, cos_factor, sin_factor));
    }

    template <class Format, class T>
    static CORDAGE_ALWAYS_INLINE values load(const Format& format, const T* x, index_t) noexcept {
        const auto v = load_even_odd<Arch>(format, x);
        return {v.even, v.odd};
    }
    template <class Format, class T>
    static CORDAGE_ALWAYS_INLINE void store(const Format&, const values& v, T* y, index_t) noexcept {
        store_even_odd<Arch>({v.first, v.second}, y);
    }
    /// grad_x of pairs_each pairs; their dL/dangle is added to sum. (GCC 12 keeps copies of whole values, g and y, on
    /// the stack.)
    template <class T>
    static CORDAGE_ALWAYS_INLINE void backward(const typename each::angles& at, const T* g, const T* y, index_t, T* gx,
                                               index_t, typename each::sum_type& sum) noexcept {
        const auto grad = load_even_odd<Arch>(g), out = load_even_odd<Arch>(y);
        const values back = rotated(at, values{grad.even, grad.odd});
        store_even_odd<Arch>({back.first, back.second}, gx);
        sum = each::add(sum, {grad.even, grad.odd}, {out.even, out.odd});
    }
};

template <class Arch>
struct pair_registers<Arch, half_split, float, true> {
    using each = simd_detail::pair_vectors<Arch, float>;
    using vector = typename each::vector;
    using values = even_odd<typename each::values>;
    using angles = even_odd<typename each::angles>;
    using sum_type = even_odd<vector>;
    static constexpr index_t pairs_each = 2 * each::pairs_each;
    static constexpr std::size_t most_in_registers = 2;

    static CORDAGE_ALWAYS_INLINE angles load_angles(const float* c, const float* s, float cos_factor,
                                                    float sin_factor) noexcept {
        const auto cos = unzip<Arch>(c), sin = unzip<Arch>(s);
        using simd_detail::with_plain_nans;
        return {with_plain_nans(cos_sin<vector>{cos.even * vector(cos_factor), sin.even * vector(sin_factor)}),
                with_plain_nans(cos_sin<vector>{cos.odd * vector(cos_factor), sin.odd * vector(sin_factor)})};
    }
    template <class Format, class T>
    static CORDAGE_ALWAYS_INLINE values load(const Format& format, const T* x, index_t pairs) noexcept {
        const auto x0 = load_even_odd<Arch>(format, x), x1 = load_even_odd<Arch>(format, x + pairs);
        return {{x0.even, x1.even}, {x0.odd, x1.odd}};
    }
    template <class Format, class T>
    static CORDAGE_ALWAYS_INLINE void store(const Format&, const values& v, T* y, index_t pairs) noexcept {
        store_even_odd<Arch>({v.even.first, v.odd.first}, y);
        store_even_odd<Arch>({v.even.second, v.odd.second}, y + pairs);
    }
    static CORDAGE_ALWAYS_INLINE values rotate(const angles& at, const values& x) noexcept {
        return {rotated(at.even, x.even), rotated(at.odd, x.odd)};
    }
    static CORDAGE_ALWAYS_INLINE values from_rows(const float* first, const float* second) noexcept {
        const auto x0 = unzip<Arch>(first), x1 = unzip<Arch>(second);
        return {{x0.even, x1.even}, {x0.odd, x1.odd}};
    }
    static CORDAGE_ALWAYS_INLINE values partner(const values& x) noexcept {
        return {each::partner(x.even), each::partner(x.odd)};
    }
    static CORDAGE_ALWAYS_INLINE values with_signs(const values& s) noexcept {
        return {each::with_signs(s.even), each::with_signs(s.odd)};
    }
    template <class F, class... More>
    static CORDAGE_ALWAYS_INLINE values map(const F& f, const values& x, const More&... more) noexcept {
        return {each::map(f, x.even, more.even...), each::map(f, x.odd, more.odd...)};
    }
    template <class F, class... More>
    static CORDAGE_ALWAYS_INLINE values map_with_partner(const F& f, const values& x, const More&... more) noexcept {
        return {each::map_with_partner(f, x.even, more.even...), each::map_with_partner(f, x.odd, more.odd...)};
    }
    static CORDAGE_ALWAYS_INLINE sum_type zero() noexcept { return {each::zero(), each::zero()}; }
    /// As for interleaved.
    template <class T>
    static CORDAGE_ALWAYS_INLINE void backward(const angles& at, const T* g, const T* y, index_t pairs, T* gx,
                                               index_t pairs_of_gx, sum_type& sum) noexcept {
        const auto g0 = load_even_odd<Arch>(g), g1 = load_even_odd<Arch>(g + pairs);
        const auto y0 = load_even_odd<Arch>(y), y1 = load_even_odd<Arch>(y + pairs);
        const typename each::values even = rotated(at.even, lane_pair<vector>{g0.even, g1.even});
        const typename each::values odd = rotated(at.odd, lane_pair<vector>{g0.odd, g1.odd});
        store_even_odd<Arch>({even.first, odd.first}, gx);
        store_even_odd<Arch>({even.second, odd.second}, gx + pairs_of_gx);
        sum.even = each::add(sum.even, {g0.even, g1.even}, {y0.even, y1.even});
        sum.odd = each::add(sum.odd, {g0.odd, g1.odd}, {y0.odd, y1.odd});
    }
    static CORDAGE_ALWAYS_INLINE void add_to(float* out, const sum_type& sum) noexcept { add_zipped<Arch>(out, sum); }
};

template <class Arch, class Real>
struct pair_registers<Arch, interleaved, Real, false> : simd_detail::single_vectors<Arch, Real> {
    using vector = xsimd::batch<Real, Arch>;
    using values = vector;
    using angles = cos_sin<vector>;
    using sum_type = vector;
    static constexpr index_t pairs_each = static_cast<index_t>(vector::size) / 2;
    // AVX-512 has twice as many registers
    static constexpr std::size_t most_in_registers = simd_detail::is_avx512<Arch> ? 8 : 4;

    static CORDAGE_ALWAYS_INLINE angles load_angles(const Real* c, const Real* s, Real cos_factor,
                                                    Real sin_factor) noexcept {
        return {zip<Arch>(c, c) * vector(cos_factor),
                zip<Arch>(s, s) * (alternating_signs<Arch, Real>() * vector(sin_factor))};
    }
    static CORDAGE_ALWAYS_INLINE values rotate(const angles& at, const values& x) noexcept {
        return rotated_first(at, x, swap_neighbours(x));
    }
    static CORDAGE_ALWAYS_INLINE values from_rows(const Real* first, const Real* second) noexcept {
        return zip<Arch>(first, second);
    }
    static CORDAGE_ALWAYS_INLINE values partner(const values& x) noexcept { return swap_neighbours(x); }
    static CORDAGE_ALWAYS_INLINE values with_signs(const values& s) noexcept {
        return s * alternating_signs<Arch, Real>();
    }
    template <class F, class... More>
    static CORDAGE_ALWAYS_INLINE values map_with_partner(const F& f, const values& x, const More&... more) noexcept {
        return f(x, swap_neighbours(x), more...);
    }
    static CORDAGE_ALWAYS_INLINE sum_type zero() noexcept { return vector(Real(0)); }
    static CORDAGE_ALWAYS_INLINE sum_type add(const sum_type& sum, const values& g, const values& y) noexcept {
        return lane_traits<vector>::multiply_add(g, swap_neighbours(y), sum);  // g0 y1, g1 y0, ...
    }
    static CORDAGE_ALWAYS_INLINE void add_to(Real* out, const sum_type& sum) noexcept {
        alignas(64) Real lanes[vector::size];
        sum.store_aligned(lanes);
        using half = typename narrower<Arch>::type;
        if constexpr (!std::is_void_v<half>) {
            const auto each = unzip<half>(lanes);
            (xsimd::batch<Real, half>::load_unaligned(out) + (each.odd - each.even)).store_unaligned(out);
        } else {
            for (index_t i = 0; i < pairs_each; ++i) out[i] += lanes[2 * i + 1] - lanes[2 * i];
        }
    }
};

namespace simd_detail {

template <class O>
struct operand_traits;
template <class X, class Y, class XFormat, class YFormat, class Norm>
struct operand_traits<operand<X, Y, XFormat, YFormat, Norm>> {
    static constexpr bool are_bfloat16 = is_bfloat16<XFormat> && is_bfloat16<YFormat>;
    static constexpr auto element_size = static_cast<index_t>(sizeof(X));
};
template <class T, class Format, class Norm>
struct operand_traits<backward_operand<T, Format, Norm>> {
    static constexpr bool are_bfloat16 = is_bfloat16<Format>;
    static constexpr auto element_size = static_cast<index_t>(sizeof(T));
};

}  // namespace simd_detail

/// The pair_registers by which an operand's pairs are rotated; of Arch = void for one pair.
template <class Arch, pairing Pairing, class Operand, class Real = typename Operand::compute>
using layout_of =
    std::conditional_t<std::is_void_v<Arch>, simd_detail::ordered_pairs<void, Pairing, Real>,
                       pair_registers<Arch, Pairing, Real, simd_detail::operand_traits<Operand>::are_bfloat16>>;

}  // namespace cordage::backend
