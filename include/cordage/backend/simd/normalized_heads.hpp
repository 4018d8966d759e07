// SPDX-License-Identifier: MIT
// Normalizes and rotates the heads of one token in vectors; serves the SIMD rotation.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "cordage/backend/scalar/normalized_heads.hpp"
#include "cordage/backend/simd/angle_row.hpp"
#include "cordage/backend/simd/loops.hpp"
#include "cordage/backend/tags.hpp"

namespace cordage::backend {

/// Converts lanes to another type or format, in vectors.
template <class Arch, class InFormat, class In, class OutFormat, class Out>
CORDAGE_ALWAYS_INLINE void convert_lanes(simd<Arch>, const InFormat& in, const In* from, const OutFormat& out, Out* to,
                                         index_t count) noexcept {
    over_row<Arch, typename InFormat::compute>(
        count, [&]<class A>(vectors<A, 1>, index_t i)
                   CORDAGE_ALWAYS_INLINE_LAMBDA { store<A>(out, load<A>(in, from + i), to + i); });
}

namespace simd_detail {

/// Heads of a token whose sums of squares are stored at a time.
inline constexpr index_t head_block = 128;

/// Lanes whose squares are added at a time: for bfloat16 two vectors, since words are read (even_odd.hpp).
template <class Arch, class Format>
inline constexpr index_t lanes_of_squares = static_cast<index_t>(reals<Arch, Format>::size) *
                                            (is_bfloat16<Format> && std::endian::native == std::endian::little ? 2 : 1);

/// Adds the squares of these lanes to a vector of sums.
template <class Arch, class Format, class T>
CORDAGE_ALWAYS_INLINE void add_squares_of(const Format& format, const T* x, reals<Arch, Format>& sum) noexcept {
    using lane = lane_traits<reals<Arch, Format>>;
    constexpr bool reads_two_vectors =
        lanes_of_squares<Arch, Format> != static_cast<index_t>(reals<Arch, Format>::size);
    if constexpr (reads_two_vectors) {
#if defined(__AVX512BF16__)
        if constexpr (is_avx512<Arch>) {
            const auto both = reinterpret_cast<__m512bh>(_mm512_loadu_si512(x));
            sum = _mm512_dpbf16_ps(sum, both, both);
        } else
#endif
        {
            const auto v = load_even_odd<Arch>(x);
            sum = lane::multiply_add(v.odd, v.odd, lane::multiply_add(v.even, v.even, sum));
        }
    } else {
        const auto v = load<Arch>(format, x);
        sum = lane::multiply_add(v, v, sum);
    }
}

/// Sums of squares of `count` lanes, as a vector of partial sums.
template <class Arch, class Format, class T>
CORDAGE_ALWAYS_INLINE reals<Arch, Format> squares_of(const Format& format, const T* x, index_t count) noexcept {
    using vector = reals<Arch, Format>;
    constexpr index_t each = lanes_of_squares<Arch, Format>;
    vector sums[4]{vector(0), vector(0), vector(0), vector(0)};
    index_t i = 0;
    for (; i + 4 * each <= count; i += 4 * each) {
        for (index_t v = 0; v < 4; ++v) add_squares_of<Arch>(format, x + i + v * each, sums[v]);
    }
    for (; i + each <= count; i += each) add_squares_of<Arch>(format, x + i, sums[0]);
    alignas(64) typename Format::compute rest[vector::size] = {};
    if (i < count) {
        for (index_t j = 0; i < count; ++i, j = (j + 1) % static_cast<index_t>(vector::size)) {
            rest[j] += format.load(x[i]) * format.load(x[i]);
        }
        sums[1] += vector::load_aligned(rest);
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// The sums of the lanes of each row, as the lanes of one vector.
template <class Arch, class Real>
CORDAGE_ALWAYS_INLINE xsimd::batch<Real, Arch> sums_of_rows(const xsimd::batch<Real, Arch>* rows) noexcept {
    using vector = xsimd::batch<Real, Arch>;
#if XSIMD_WITH_AVX512F
    if constexpr (is_avx512<Arch> && std::is_same_v<Real, float>) {
        __m512 four[4];  // rows 4 i to 4 i + 3, summed over each quarter of a vector
        for (std::size_t i = 0; i < 4; ++i) {
            const __m512 a = rows[4 * i], b = rows[4 * i + 1], c = rows[4 * i + 2], d = rows[4 * i + 3];
            const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
            const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
            four[i] = _mm512_add_ps(_mm512_shuffle_ps(ab, cd, 0x44), _mm512_shuffle_ps(ab, cd, 0xee));
        }
        const auto quarters = [](__m512 a, __m512 b) CORDAGE_ALWAYS_INLINE_LAMBDA {
            return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
        };
        return quarters(quarters(four[0], four[1]), quarters(four[2], four[3]));
    } else
#endif
#if XSIMD_WITH_AVX2
        if constexpr (is_avx2<Arch> && std::is_same_v<Real, float>) {
        const auto four =
            [&](std::size_t i) CORDAGE_ALWAYS_INLINE_LAMBDA {  // rows i to i + 3, summed over each half of a vector
                return _mm256_hadd_ps(_mm256_hadd_ps(rows[i], rows[i + 1]), _mm256_hadd_ps(rows[i + 2], rows[i + 3]));
            };
        const __m256 low = four(0), high = four(4);
        return _mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31));
    } else
#endif
    {
        alignas(64) Real sums[vector::size], lanes[vector::size];
        for (std::size_t row = 0; row < vector::size; ++row) {
            rows[row].store_aligned(lanes);
            sums[row] = 0;
            for (const Real lane : lanes) sums[row] += lane;
        }
        return vector::load_aligned(sums);
    }
}

/// sums[h] += factor times the sum of x^2 over `lanes` lanes of head h; sums: [heads, rounded up to vectors]. A
/// separate function, so that the compiler keeps sums in registers.
///
/// @param stride  from one head to the next; 0 for one head, as the pointer is advanced once past the last head too
template <class Arch, class Format, class T, class Real>
CORDAGE_ONE_BODY void add_squares(const Format& format, const T* x, index_t stride, index_t heads, index_t lanes,
                                  Real factor, Real* sums) noexcept {
    using vector = reals<Arch, Format>;
    constexpr auto size = static_cast<index_t>(vector::size);
    const auto add = [&](auto count) CORDAGE_ALWAYS_INLINE_LAMBDA {
        for (index_t head = 0; head < heads; head += size) {
            vector rows[vector::size];
            const index_t some = std::min(size, heads - head);
            for (index_t i = 0; i < some; ++i, x += stride) rows[i] = squares_of<Arch>(format, x, count);
            for (index_t i = some; i < size; ++i) rows[i] = vector(Real(0));
            const vector before = vector::load_aligned(sums + head);
            lane_traits<vector>::multiply_add(vector(factor), sums_of_rows<Arch>(rows), before)
                .store_aligned(sums + head);
        }
    };
    if (lanes == 64) {  // trip counts known at compile time
        add(std::integral_constant<index_t, 64>{});
    } else if (lanes == 128) {
        add(std::integral_constant<index_t, 128>{});
    } else {
        add(lanes);
    }
}

/// The factors of `count` lanes of a norm, from lane `first` of a head on.
template <class Arch, class Norm, class Real>
CORDAGE_ALWAYS_INLINE void write_factors(const Norm& norm, index_t head, index_t first, index_t head_dim, index_t count,
                                         Real* factors) noexcept {
    using format = element_traits<typename Norm::element>;
    const typename Norm::element* weight = norm.weight_of(head, head_dim);
    if (weight == nullptr) {
        std::fill_n(factors, count, Real(1));
    } else if constexpr (std::is_same_v<typename format::compute, Real>) {
        over_row<Arch, Real>(count, [&]<class A>(vectors<A, 1>, index_t i) CORDAGE_ALWAYS_INLINE_LAMBDA {
            using lane = lane_type<Real, A>;
            to_row(lane(load<A>(format{}, weight + first + i) + lane(norm.template weight_offset<Real>())),
                   factors + i);
        });
    } else {
        for (index_t i = 0; i < count; ++i) factors[i] = norm.template factor<Real>(head, first + i, head_dim);
    }
}

/// The factors of `count` pairs from pair `first` on; the pairs begin at lane `begin`: [2 count], in the order of
/// weighted_row::fill.
template <class Arch, pairing Pairing, class Norm, class Real>
CORDAGE_ALWAYS_INLINE void write_factors_of_pairs(const Norm& norm, index_t head, index_t begin, index_t pairs,
                                                  index_t first, index_t head_dim, index_t count,
                                                  Real* factors) noexcept {
    if constexpr (std::is_same_v<Pairing, half_split>) {
        write_factors<Arch>(norm, head, begin + first, head_dim, count, factors);
        write_factors<Arch>(norm, head, begin + pairs + first, head_dim, count, factors + count);
    } else {
        write_factors<Arch>(norm, head, begin + 2 * first, head_dim, 2 * count, factors);
    }
}

/// The two numbers of pairs i, ... of a row: neighbours if the row is in the order of an interleaved head, else the
/// second ones `second` after the first ones.
template <class Arch, bool AreNeighbours, class Real>
CORDAGE_ALWAYS_INLINE lane_pair<lane_type<Real, Arch>> pairs_of_row(const Real* row, index_t i,
                                                                    index_t second) noexcept {
    using lane = lane_type<Real, Arch>;
    if constexpr (!AreNeighbours) {
        return {from_row<lane>(row + i), from_row<lane>(row + second + i)};
    } else if constexpr (std::is_void_v<Arch>) {
        return {row[2 * i], row[2 * i + 1]};
    } else {
        const auto of = unzip<Arch>(row + 2 * i);
        return {of.even, of.odd};
    }
}

/// The same number in every vector of values.
template <class Layout, class Real>
CORDAGE_ALWAYS_INLINE typename Layout::values all_of(Real number) noexcept {
    using vector = typename Layout::vector;
    return Layout::map([&](const vector&) CORDAGE_ALWAYS_INLINE_LAMBDA { return vector(number); },
                       typename Layout::values{});
}

/// m cos and m sin of pairs times the weights w of a norm, for cos x - sin (partner of x):
///
///   norm first        y0 = c w0 x0 - s w1 x1      y1 = c w1 x1 + s w0 x0
///   rotation first    y0 = c w0 x0 - s w0 x1      y1 = c w1 x1 + s w1 x0
template <class Layout, class Values = typename Layout::values>
CORDAGE_ALWAYS_INLINE cos_sin<Values> weighted(const Values& c, const Values& s, const Values& w,
                                               bool is_after) noexcept {
    using vector = typename Layout::vector;
    const auto product = [](const vector& a, const vector& b) CORDAGE_ALWAYS_INLINE_LAMBDA { return vector(a * b); };
    return {Layout::map(product, c, w), Layout::map(product, Layout::with_signs(s), is_after ? w : Layout::partner(w))};
}

/// weighted cos and sin as a row in memory, in the order of the pairs.
template <class Real>
struct weighted_row {
    alignas(64) Real first_cos[row_block], first_sin[row_block], second_cos[row_block], second_sin[row_block];

    /// One body, since GCC 12 keeps its vectors on the stack within long functions.
    /// @param factors  of the row's lanes: [2 count] in the order of the lanes
    template <class Arch, pairing Pairing>
    CORDAGE_ONE_BODY void fill(const angle_row<Real>& at, index_t count, bool is_after, const Real* factors) noexcept {
        over_row<Arch, Real>(count, [&]<class A>(vectors<A, 1>, index_t i) CORDAGE_ALWAYS_INLINE_LAMBDA {
            using layout = pair_vectors<A, Real>;
            const auto w = pairs_of_row<A, std::is_same_v<Pairing, interleaved>>(factors, i, count);
            const auto by = weighted<layout>(layout::from_rows(at.cos + i, at.cos + i),
                                             layout::from_rows(at.sin + i, at.sin + i), w, is_after);
            to_row(by.cos.first, first_cos + i);
            to_row(by.sin.first, first_sin + i);
            to_row(by.cos.second, second_cos + i);
            to_row(by.sin.second, second_sin + i);
        });
    }
};

/// The factors of a norm for the pairs of a layout's values, from lane `lane` of a head on.
template <class Layout, pairing Pairing, class Real, class Norm>
CORDAGE_ALWAYS_INLINE typename Layout::values factors_of(const Norm& norm, index_t head, index_t lane, index_t pairs,
                                                         index_t head_dim) noexcept {
    using vector = typename Layout::vector;
    using format = element_traits<typename Norm::element>;
    const typename Norm::element* weight = norm.weight_of(head, head_dim);
    if (weight == nullptr) return all_of<Layout>(Real(1));
    if constexpr (std::is_same_v<typename format::compute, Real>) {
        const vector one(norm.template weight_offset<Real>());
        return Layout::map([&](const vector& w) CORDAGE_ALWAYS_INLINE_LAMBDA { return vector(w + one); },
                           Layout::load(format{}, weight + lane, pairs));
    } else {
        alignas(64) Real first[Layout::pairs_each], second[Layout::pairs_each];
        for (index_t i = 0; i < Layout::pairs_each; ++i) {
            first[i] = norm.template factor<Real>(head, lane + Pairing::first(i, pairs), head_dim);
            second[i] = norm.template factor<Real>(head, lane + Pairing::second(i, pairs), head_dim);
        }
        return Layout::from_rows(first, second);
    }
}

/// Rotates Count vectors of pairs of `heads` heads and multiplies each head by its r.
///
/// @param head, lane  the first head; the first of its current lanes
template <class Layout, std::size_t Count, pairing Pairing, class Operand, class X, class Y, class Real>
CORDAGE_ALWAYS_INLINE void rotate_weighted(const Operand& o, const X* x, Y* y, const angle_row<Real>& at, index_t head,
                                           index_t lane_at, index_t pairs, const Real* inverse_rms, index_t heads,
                                           index_t ahead) noexcept {
    using vector = typename Layout::vector;
    // Weights and tables may hold any NaN, and even_odd stores need plain ones. Looking for a NaN takes less time than
    // replacing them: the sum of all products cos sin is NaN if one of them is.
    constexpr bool stores_even_odd = operand_traits<Operand>::are_bfloat16 && !std::is_same_v<vector, Real>;
    [[maybe_unused]] vector sum(Real(0));
    cos_sin<typename Layout::values> by[Count];
    unrolled<Count>([&](auto v) CORDAGE_ALWAYS_INLINE_LAMBDA {
        constexpr index_t i = v * Layout::pairs_each;
        by[v] = weighted<Layout>(
            Layout::from_rows(at.cos + i, at.cos + i), Layout::from_rows(at.sin + i, at.sin + i),
            factors_of<Layout, Pairing, Real>(o.norm, head, lane_at + Pairing::first(i, 0), pairs, o.x.shape.head_dim),
            o.norm.is_after_rotation);
        if constexpr (stores_even_odd) {
            Layout::map(
                [&](const vector& c, const vector& s) CORDAGE_ALWAYS_INLINE_LAMBDA {
                    sum = lane_traits<vector>::multiply_add(c, s, sum);
                    return c;
                },
                by[v].cos, by[v].sin);
        }
    });
    if constexpr (stores_even_odd) {
        if (lane_traits<vector>::has_nan(sum)) [[unlikely]] {
            const auto plain = [](const vector& c)
                                   CORDAGE_ALWAYS_INLINE_LAMBDA { return lane_traits<vector>::plain_nan(c); };
            unrolled<Count>([&](auto v) CORDAGE_ALWAYS_INLINE_LAMBDA {
                by[v] = {Layout::map(plain, by[v].cos), Layout::map(plain, by[v].sin)};
            });
        }
    }
    const auto x_format = o.x.format;
    const auto y_format = o.y.format;
    const index_t ahead_bytes = ahead == 0 ? 0 : o.x.shape.head_dim * static_cast<index_t>(sizeof(X));
    const index_t x_stride = o.x.head_stride, y_stride = o.y.head_stride;
    for (index_t h = 0; h < heads; ++h) {
        prefetch(address_of(x + h * x_stride, ahead), ahead_bytes);
        const vector r(inverse_rms[h]);
        unrolled<Count>([&](auto v) CORDAGE_ALWAYS_INLINE_LAMBDA {
            constexpr index_t lane = Pairing::first(v * Layout::pairs_each, 0);
            const auto y_lanes = Layout::map_with_partner(
                [&](const vector& x0, const vector& x1, const vector& c, const vector& s) CORDAGE_ALWAYS_INLINE_LAMBDA {
                    using traits = lane_traits<vector>;
                    return vector(r * traits::multiply_add(c, x0, traits::negative(s * x1)));
                },
                Layout::load(x_format, x + h * x_stride + lane, pairs), by[v].cos, by[v].sin);
            Layout::store(y_format, y_lanes, y + h * y_stride + lane, pairs);
        });
    }
}

}  // namespace simd_detail

/// The scalar backend's function in vectors of Arch: first the sums over a token's heads, then the rotation.
///
/// @param rows  of the same angles
template <pairing Pairing, class Arch, operand_type Operand, class Real = typename Operand::compute>
CORDAGE_ONE_BODY void rotate_normalized(simd<Arch>, const token_angles<Real>& angles, const Operand& o, index_t row,
                                        index_t token, bool is_long, angle_rows<Real>& rows) noexcept {
    using real = Real;
    using vector = xsimd::batch<real, Arch>;
    using namespace simd_detail;
    const auto& norm = o.norm;
    if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(o.x.format)>,
                                  element_traits<real>>) {  // rare; others are in forward.hpp
        if (norm.is_rounded_between) return rotate_normalized<Pairing>(angles, o, row, token);
    }
    const auto lanes = o.lanes_of(row, token);
    if (lanes.x == nullptr) return;
    const index_t heads = o.shape().heads, head_dim = o.shape().head_dim;
    const index_t pairs = o.is_rotated() ? angles.pairs() : 0, begin = o.first_lane, end = begin + 2 * pairs;
    const double m = norm.is_after_rotation ? angles.attention_factor(row, token) : 1.0;
    constexpr auto size = static_cast<index_t>(vector::size);
    alignas(64) real inverse_rms[head_block];
    // Sums of squares of heads [head, head + some). A norm after the rotation has m^2 times the squares of rotated
    // lanes.
    const auto make_sums = [&](index_t head, index_t some) CORDAGE_ALWAYS_INLINE_LAMBDA {
        for (index_t h = 0; h < some; h += size) vector(real(0)).store_aligned(inverse_rms + h);
        const auto* x = lanes.x - begin + head * o.x.head_stride;
        const auto add = [&](index_t first, index_t count, real factor) CORDAGE_ALWAYS_INLINE_LAMBDA {
            add_squares<Arch>(o.x.format, x + first, heads > 1 ? o.x.head_stride : 0, some, count, factor, inverse_rms);
        };
        if (!norm.is_after_rotation || pairs == 0 || m == 1.0) {
            add(0, head_dim, real(1));
        } else {
            add(0, begin, real(1));
            add(begin, 2 * pairs, static_cast<real>(m * m));
            add(end, head_dim - end, real(1));
        }
    };
    const index_t lanes_of_mean = norm.is_over_all_heads ? heads * head_dim : head_dim;
    const vector per_lane(real(1) / static_cast<real>(lanes_of_mean)), epsilon(static_cast<real>(norm.epsilon));
    const auto inverse_rms_of = [&](const vector& sums) CORDAGE_ALWAYS_INLINE_LAMBDA {
        const vector r = vector(real(1)) / xsimd::sqrt(vector(sums * per_lane + epsilon));
        return plain_nan_if<operand_traits<Operand>::are_bfloat16>(r);  // m may be any NaN
    };
    if (norm.is_over_all_heads) {
        real sum = 0;
        for (index_t head = 0; head < heads; head += head_block) {
            const index_t some = std::min(head_block, heads - head);
            make_sums(head, some);
            for (index_t h = 0; h < some; ++h) sum += inverse_rms[h];
        }
        std::fill_n(inverse_rms, head_block, inverse_rms_of(vector(sum)).get(0));
    }
    const index_t at_once =
        norm.is_over_all_heads && norm.weight != nullptr ? 1 : head_block;  // heads with one row of weights
    for (index_t head = 0; head < heads; head += at_once) {
        const index_t some = std::min(at_once, heads - head);
        if (!norm.is_over_all_heads) {
            make_sums(head, some);
            for (index_t h = 0; h < some; h += size) {
                inverse_rms_of(vector::load_aligned(inverse_rms + h)).store_aligned(inverse_rms + h);
            }
        }
        const auto* x = lanes.x + head * o.x.head_stride;
        auto* y = lanes.y + head * o.y.head_stride;
        for (index_t first = 0; first < pairs; first += row_block) {
            const index_t in_row = std::min(row_block, pairs - first);
            const angle_row<real> at = rows(row, token, first, in_row);
            in_vectors<Arch, Pairing, Operand>(
                in_row, [&]<class A, std::size_t Count>(vectors<A, Count>, index_t skip) CORDAGE_ALWAYS_INLINE_LAMBDA {
                    const index_t lane = Pairing::first(first + skip, pairs);
                    rotate_weighted<layout_of<A, Pairing, Operand>, Count, Pairing>(
                        o, x + lane, y + lane, {at.cos + skip, at.sin + skip}, head, begin + lane, pairs, inverse_rms,
                        some, is_long && lane == 0 ? o.x.token_stride : 0);
                });
        }
        const auto write_lanes = [&](index_t first, index_t last) CORDAGE_ALWAYS_INLINE_LAMBDA {  // unrotated lanes
            alignas(64) real factors[2 * row_block];
            for (; first < last; first += 2 * row_block) {
                const index_t count = std::min(2 * row_block, last - first);
                write_factors<Arch>(norm, head, first, head_dim, count, factors);
                for (index_t h = 0; h < some; ++h) {
                    const auto* const from = x + h * o.x.head_stride + first - begin;
                    auto* const to = y + h * o.y.head_stride + first - begin;
                    over_row<Arch, real>(
                        count, [&, r = inverse_rms[h]]<class A>(vectors<A, 1>, index_t i) CORDAGE_ALWAYS_INLINE_LAMBDA {
                            using lane = lane_type<real, A>;
                            const lane n = load<A>(o.x.format, from + i) * lane(r) * from_row<lane>(factors + i);
                            store<A>(o.y.format, n, to + i);
                        });
                }
            }
        };
        write_lanes(0, begin);
        write_lanes(end, head_dim);
    }
}

}  // namespace cordage::backend
