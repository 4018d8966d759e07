// SPDX-License-Identifier: MIT
// The backward pass of one token's normalized and rotated heads, in vectors; serves the SIMD rotation.
#pragma once

#include <algorithm>
#include <concepts>
#include <type_traits>

#include "cordage/backend/gradients.hpp"
#include "cordage/backend/simd/normalized_heads.hpp"
#include "cordage/backend/simd/token_gradients.hpp"

namespace cordage::backend {

namespace simd_detail {

/// Number of heads whose sums fill a vector, and number of heads whose sums are computed before their grad_x: few
/// enough that the second read hits the L1 cache, enough to hide the latency of each sum.
inline constexpr index_t heads_of_group = 16, heads_at_once = 32;

/// A step of Count vectors of a layout, as a tag. Lanes: the order of the step's lanes.
template <class Layout, std::size_t Count, pairing Lanes>
struct lane_step {};

/// As pair_registers, for a vector of lanes that are not rotated.
template <class Arch, class Real>
struct unrotated_vector : single_vectors<Arch, Real> {
    static constexpr index_t pairs_each = lane_width<Real, Arch>;

    static CORDAGE_ALWAYS_INLINE lane_type<Real, Arch> from_rows(const Real* first, const Real*) noexcept {
        return from_row<lane_type<Real, Arch>>(first);
    }
};

template <class Layout>
inline constexpr bool has_partner = requires(const typename Layout::values& v) { Layout::partner(v); };

/// Products of r grad_y and x summed over heads, of every lane with itself and with its partner: in lane order if
/// vectors hold whole pairs, else first lanes of all pairs before second lanes.
template <class Real, bool IsInLaneOrder>
struct product_rows {
    alignas(64) Real same[2 * row_block] = {}, cross[2 * row_block] = {};

    template <class Layout>
    static CORDAGE_ALWAYS_INLINE void add(Real* row, index_t skip, const typename Layout::values& v) noexcept {
        if constexpr (requires { v.even.first; }) {
            using arch = typename Layout::vector::arch_type;
            add_zipped<arch>(row + skip, {v.even.first, v.odd.first});
            add_zipped<arch>(row + row_block + skip, {v.even.second, v.odd.second});
        } else if constexpr (requires { v.first; }) {
            add_to_row(v.first, row + (IsInLaneOrder ? 2 * skip : skip));
            add_to_row(v.second, row + (IsInLaneOrder ? 2 * skip + 1 : row_block + skip));
        } else {
            add_to_row(v, row + (has_partner<Layout> ? 2 * skip : skip));
        }
    }
};

/// Values of a layout from rows. For bfloat16, NaNs are replaced, as even_odd stores require a zero lower half.
template <class Layout, bool AreBfloat16, class Real>
CORDAGE_ALWAYS_INLINE typename Layout::values coefficients(const Real* first, const Real* second) noexcept {
    using vector = typename Layout::vector;
    return Layout::map([](const vector& v) CORDAGE_ALWAYS_INLINE_LAMBDA { return plain_nan_if<AreBfloat16>(v); },
                       Layout::from_rows(first, second));
}

/// a b + c of every vector of values.
template <class Layout, class Values = typename Layout::values>
CORDAGE_ALWAYS_INLINE Values multiplied_and_added(const Values& a, const Values& b, const Values& c) noexcept {
    using vector = typename Layout::vector;
    return Layout::map([](const vector& x, const vector& y, const vector& z)
                           CORDAGE_ALWAYS_INLINE_LAMBDA { return lane_traits<vector>::multiply_add(x, y, z); },
                       a, b, c);
}

/// cos g + sin (partner of g) + more; cos g + more for lanes that are not rotated.
template <class Layout, class Values = typename Layout::values>
CORDAGE_ALWAYS_INLINE Values rotated_back(const Values& cos, const Values& sin, const Values& g,
                                          const Values& more) noexcept {
    if constexpr (has_partner<Layout>) {
        return multiplied_and_added<Layout>(cos, g, multiplied_and_added<Layout>(sin, Layout::partner(g), more));
    } else {
        return multiplied_and_added<Layout>(cos, g, more);
    }
}

/// Adds the sums over the lanes of a step for at most heads_of_group heads: first the sums of square_factor x^2, then
/// those of e x, where e is grad_y rotated back and multiplied by the weights.
///
/// @param sums  [2 heads_of_group]
template <class Layout, std::size_t Count, pairing Lanes, class Operand, class T, class Real>
CORDAGE_ALWAYS_INLINE void add_sums(lane_step<Layout, Count, Lanes>, const Operand& o, const T* g, const T* x,
                                    const weighted_row<Real>& at, index_t skip, index_t pairs, index_t heads,
                                    Real square_factor, Real* sums) noexcept {
    using vector = typename Layout::vector;
    using values = typename Layout::values;
    values cos[Count], sin[Count];
    unrolled<Count>([&](auto v) CORDAGE_ALWAYS_INLINE_LAMBDA {
        const index_t i = skip + v * Layout::pairs_each;
        cos[v] = Layout::from_rows(at.first_cos + i, at.second_cos + i);
        if constexpr (has_partner<Layout>) sin[v] = Layout::from_rows(at.first_sin + i, at.second_sin + i);
    });
    const auto g_format = o.grad_y.format, x_format = o.y.format;
    const index_t g_stride = o.grad_y.head_stride, x_stride = o.y.head_stride;
    vector rows[2 * heads_of_group];
    std::fill_n(rows, 2 * heads_of_group, vector(Real(0)));
    for (index_t h = 0; h < heads; ++h) {
        const T *const g_lanes = g + h * g_stride, *const x_lanes = x + h * x_stride;
        vector squares(Real(0)), products(Real(0));
        unrolled<Count>([&](auto v) CORDAGE_ALWAYS_INLINE_LAMBDA {
            constexpr index_t lane = Lanes::first(v * Layout::pairs_each, 0);
            const values of = Layout::load(x_format, x_lanes + lane, pairs);
            const values e = rotated_back<Layout>(cos[v], sin[v], Layout::load(g_format, g_lanes + lane, pairs),
                                                  all_of<Layout>(Real(0)));
            Layout::map(
                [&](const vector& number, const vector& grad) CORDAGE_ALWAYS_INLINE_LAMBDA {
                    squares = lane_traits<vector>::multiply_add(number, number, squares);
                    products = lane_traits<vector>::multiply_add(number, grad, products);
                    return number;
                },
                of, e);
        });
        rows[h] = squares * vector(square_factor);
        rows[heads_of_group + h] = products;
    }
    if constexpr (std::is_same_v<vector, Real>) {
        for (index_t i = 0; i < 2 * heads_of_group; ++i) sums[i] += rows[i];
    } else {
        for (index_t i = 0; i < 2 * heads_of_group; i += static_cast<index_t>(vector::size)) {
            add_to_row(sums_of_rows<typename vector::arch_type>(rows + i), sums + i);
        }
    }
}

/// grad_x = r e - share x of the lanes of a step, and sums of r grad_y x.
template <class Layout, std::size_t Count, pairing Lanes, class Operand, class T, class Real, class Rows, class Fetch>
CORDAGE_ALWAYS_INLINE void heads_backward(lane_step<Layout, Count, Lanes>, const Operand& o, const T* g, const T* x,
                                          T* gx, const weighted_row<Real>& at, index_t skip, index_t pairs,
                                          index_t heads, const Real* inverse_rms, const Real* shares, Real share_factor,
                                          Rows& rows, const Fetch& fetch) noexcept {
    using vector = typename Layout::vector;
    using values = typename Layout::values;
    constexpr bool are_bfloat16 = operand_traits<Operand>::are_bfloat16;
    values cos[Count], sin[Count], same[Count], cross[Count];
    unrolled<Count>([&](auto v) CORDAGE_ALWAYS_INLINE_LAMBDA {
        const index_t i = skip + v * Layout::pairs_each;
        cos[v] = coefficients<Layout, are_bfloat16>(at.first_cos + i, at.second_cos + i);
        if constexpr (has_partner<Layout>) {
            sin[v] = coefficients<Layout, are_bfloat16>(at.first_sin + i, at.second_sin + i);
        }
        same[v] = cross[v] = all_of<Layout>(Real(0));
    });
    const auto g_format = o.grad_y.format, x_format = o.y.format, gx_format = o.grad_x.format;
    const index_t g_stride = o.grad_y.head_stride, x_stride = o.y.head_stride, gx_stride = o.grad_x.head_stride;
    for (index_t h = 0; h < heads; ++h) {
        fetch(h);
        const T *const g_lanes = g + h * g_stride, *const x_lanes = x + h * x_stride;
        T* const gx_lanes = gx + h * gx_stride;
        const vector r(inverse_rms[h]), share(-shares[h] * share_factor);
        const auto times = [](const vector& by, const values& v) CORDAGE_ALWAYS_INLINE_LAMBDA {
            return Layout::map([&](const vector& one) CORDAGE_ALWAYS_INLINE_LAMBDA { return vector(one * by); }, v);
        };
        unrolled<Count>([&](auto v) CORDAGE_ALWAYS_INLINE_LAMBDA {
            constexpr index_t lane = Lanes::first(v * Layout::pairs_each, 0);
            const values of = Layout::load(x_format, x_lanes + lane, pairs);
            const values grad = times(r, Layout::load(g_format, g_lanes + lane, pairs));
            same[v] = multiplied_and_added<Layout>(grad, of, same[v]);
            if constexpr (has_partner<Layout>) {
                cross[v] = multiplied_and_added<Layout>(grad, Layout::partner(of), cross[v]);
            }
            Layout::store(gx_format, rotated_back<Layout>(cos[v], sin[v], grad, times(share, of)), gx_lanes + lane,
                          pairs);
        });
    }
    unrolled<Count>([&](auto v) CORDAGE_ALWAYS_INLINE_LAMBDA {
        const index_t i = skip + v * Layout::pairs_each;
        rows.template add<Layout>(rows.same, i, same[v]);
        if constexpr (has_partner<Layout>) rows.template add<Layout>(rows.cross, i, cross[v]);
    });
}

/// Gradients to weights and angles from the products of a token's heads, if the norm comes first:
///
///   gw0 = c p00 + s p10     gw1 = c p11 - s p01
///   dL/dangle = w0 (c p10 - s p00) - w1 (c p01 + s p11)
///
/// If it follows the rotation, the same with -p01 for p10 and -p10 for p01.
///
/// p01: r times grad_y's first lane of a pair with x's second one, and so on. One body, as fill.
///
/// @param factors  as for weighted_row::fill
/// @return the sum of w gw
template <class Arch, pairing Pairing, class Real, bool IsInLaneOrder>
CORDAGE_ONE_BODY Real fold_products(const product_rows<Real, IsInLaneOrder>& rows, const angle_row<Real>& at,
                                    const Real* factors, index_t count, bool is_after, Real* grad_first,
                                    Real* grad_second, Real* grad_angle) noexcept {
    using vector = xsimd::batch<Real, Arch>;
    vector sums(Real(0));
    Real sum(0);
    over_row<Arch, Real>(count, [&]<class A>(vectors<A, 1>, index_t i) CORDAGE_ALWAYS_INLINE_LAMBDA {
        using lanes = lane_type<Real, A>;
        const lanes zero(Real(0)), c = from_row<lanes>(at.cos + i), s = from_row<lanes>(at.sin + i);
        const auto w = pairs_of_row<A, std::is_same_v<Pairing, interleaved>>(factors, i, count);
        const auto same = pairs_of_row<A, IsInLaneOrder>(rows.same, i, row_block);
        const auto cross = pairs_of_row<A, IsInLaneOrder>(rows.cross, i, row_block);
        const lanes p10 = is_after ? lanes(zero - cross.first) : cross.second;
        const lanes p01 = is_after ? lanes(zero - cross.second) : cross.first;
        const lanes gw0 = c * same.first + s * p10, gw1 = c * same.second - s * p01;
        to_row(gw0, grad_first + i);
        to_row(gw1, grad_second + i);
        add_to_row(lanes(w.first * (c * p10 - s * same.first) - w.second * (c * p01 + s * same.second)),
                   grad_angle + i);
        const lanes of_weights = w.first * gw0 + w.second * gw1;
        if constexpr (std::is_void_v<A>) {
            sum += of_weights;
        } else {
            sums += of_weights;
        }
    });
    alignas(64) Real lanes[vector::size];
    sums.store_aligned(lanes);
    for (const Real lane : lanes) sum += lane;
    return sum;
}

}  // namespace simd_detail

/// The scalar backend's function in vectors of Arch, with sums over one token's heads in the compute type. Heads are
/// processed in groups: after the sums of a group, its grad_x, as its lanes are still in the L1 cache.
///
/// @param angle_row_of  of the same angles
/// @param grad_angle    [row_block], added to if there are at most row_block rotated pairs
template <pairing Pairing, class Arch, backward_operand_type Operand, class Real = typename Operand::compute>
CORDAGE_ONE_BODY void backward_normalized(simd<Arch>, const token_angles<Real>& angles, const Operand& o,
                                          const token_gradients<Real>& grads, double* weights, index_t row,
                                          index_t token, bool is_long, angle_rows<Real>& angle_row_of,
                                          Real* grad_angle) noexcept {
    using real = Real;
    using vector = xsimd::batch<real, Arch>;
    using namespace simd_detail;
    using layout = layout_of<Arch, Pairing, Operand>;
    constexpr bool is_in_lane_order = std::is_same_v<typename layout::values, typename layout::vector>;
    constexpr bool are_bfloat16 = operand_traits<Operand>::are_bfloat16;
    constexpr auto size = static_cast<index_t>(vector::size);
    const auto lanes = o.lanes_of(row, token);
    if (lanes.grad_x == nullptr) return;
    const auto& norm = o.norm;
    const index_t heads = o.shape().heads, head_dim = o.shape().head_dim;
    const index_t pairs = o.is_rotated() ? angles.pairs() : 0, begin = o.first_lane, end = begin + 2 * pairs;
    const bool is_after = norm.is_after_rotation && pairs > 0,
               has_rows = norm.is_over_all_heads && norm.weight != nullptr;
    const double m = is_after ? angles.attention_factor(row, token) : 1.0;
    const real square_factor = plain_nan_if<are_bfloat16>(is_after ? static_cast<real>(m * m) : real(1));

    // Angles times weights of the current pairs, for the current heads.
    real factors[2 * row_block];
    weighted_row<real> at;
    angle_row<real> unweighted{};
    index_t pair_at = -1, head_at = 0;
    const auto make_row = [&](index_t head, index_t first, index_t count) CORDAGE_ALWAYS_INLINE_LAMBDA {
        if (!has_rows) head = 0;
        if (pair_at == first && head_at == head) return;
        pair_at = first, head_at = head;
        write_factors_of_pairs<Arch, Pairing>(norm, head, begin, pairs, first, head_dim, count, factors);
        unweighted = angle_row_of(row, token, first, count);
        at.template fill<Arch, Pairing>(unweighted, count, !is_after, factors);  // of the adjoint, up to a sign
    };
    const auto for_each_block = [&](index_t head, const auto& f) CORDAGE_ALWAYS_INLINE_LAMBDA {
        for (index_t first = 0; first < pairs; first += row_block) {
            const index_t count = std::min(row_block, pairs - first);
            make_row(head, first, count);
            f(first, count);
        }
    };
    // step(kind of step, pairs before it in the block, its first lane) for a block, and for unrotated lanes.
    const auto steps_of_block = [&](index_t first, index_t count, const auto& step) CORDAGE_ALWAYS_INLINE_LAMBDA {
        in_vectors<Arch, Pairing, Operand>(
            count, [&]<class A, std::size_t Count>(vectors<A, Count>, index_t skip) CORDAGE_ALWAYS_INLINE_LAMBDA {
                step(lane_step<layout_of<A, Pairing, Operand>, Count, Pairing>{}, skip,
                     Pairing::first(first + skip, pairs));
            });
    };
    const auto for_each_other_block = [&](index_t head, const auto& step,
                                          const auto& done) CORDAGE_ALWAYS_INLINE_LAMBDA {
        for (index_t lane = pairs == 0 ? 0 : begin == 0 ? end : 0; lane < head_dim;) {
            const index_t last = std::min(lane + row_block, lane < begin ? begin : head_dim);
            weighted_row<real> others;
            write_factors<Arch>(norm, head, lane, head_dim, last - lane, others.first_cos);
            over_row<Arch, real>(last - lane, [&]<class A>(vectors<A, 1>, index_t i) CORDAGE_ALWAYS_INLINE_LAMBDA {
                step(lane_step<unrotated_vector<A, real>, 1, half_split>{}, others, i, lane + i - begin);
            });
            done(lane, last);
            lane = last == begin && pairs > 0 ? end : last;
        }
    };

    // r, and the factor of x to subtract, r^3 times the mean of e x; for the current heads only.
    alignas(64) real inverse_rms[head_block], shares[head_block], rotated_squares[head_block];
    real squares = 0, products = 0, all_rotated = 0;  // over all heads
    const index_t lanes_of_mean = norm.rows(heads) * head_dim;
    const vector per_lane(real(1) / static_cast<real>(lanes_of_mean)), epsilon(static_cast<real>(norm.epsilon));
    const auto scale = [&](const vector& square, const vector& product, index_t h) CORDAGE_ALWAYS_INLINE_LAMBDA {
        const vector r = vector(real(1)) / xsimd::sqrt(vector(square * per_lane + epsilon));
        plain_nan_if<are_bfloat16>(r).store_aligned(inverse_rms + h);
        const vector share = r * r * r * (product * per_lane);
        plain_nan_if<are_bfloat16>(share).store_aligned(shares + h);
    };
    const bool has_own_factor = is_after && grads.has_factor();
    const ahead later_g(lanes.grad_y, o.grad_y.head_stride, head_dim), later_x(lanes.y, o.y.head_stride, head_dim);
    const auto add_up = [&](index_t head, index_t some) CORDAGE_ALWAYS_INLINE_LAMBDA {
        alignas(64) real sums[2 * head_block];
        std::fill_n(sums, 2 * (rounded_up_quotient(some, heads_of_group) * heads_of_group), real(0));
        const auto* const g = lanes.grad_y + head * o.grad_y.head_stride;
        const auto* const x = lanes.y + head * o.y.head_stride;
        const auto add = [&](const auto& step, const weighted_row<real>& by, index_t skip, index_t lane,
                             real factor) CORDAGE_ALWAYS_INLINE_LAMBDA {
            for (index_t h = 0; h < some; h += heads_of_group) {
                add_sums(step, o, g + h * o.grad_y.head_stride + lane, x + h * o.y.head_stride + lane, by, skip, pairs,
                         std::min(some - h, heads_of_group), factor, sums + 2 * h);
            }
        };
        for_each_block(head, [&](index_t first, index_t count) CORDAGE_ALWAYS_INLINE_LAMBDA {
            steps_of_block(first, count,
                           [&](const auto& step, index_t skip, index_t lane)
                               CORDAGE_ALWAYS_INLINE_LAMBDA { add(step, at, skip, lane, square_factor); });
        });
        for (index_t h = 0; has_own_factor && h < some; ++h) {
            rotated_squares[h] = sums[2 * (h - h % heads_of_group) + h % heads_of_group];
            all_rotated += rotated_squares[h];
        }
        for_each_other_block(
            head,
            [&](const auto& step, const weighted_row<real>& by, index_t skip, index_t lane)
                CORDAGE_ALWAYS_INLINE_LAMBDA { add(step, by, skip, lane, real(1)); },
            [](index_t, index_t) {});
        for (index_t h = 0; h < some; h += heads_of_group) {
            for (index_t i = 0; norm.is_over_all_heads && i < heads_of_group; ++i) {
                squares += sums[2 * h + i], products += sums[2 * h + heads_of_group + i];
            }
            for (index_t i = 0; !norm.is_over_all_heads && i < heads_of_group; i += size) {
                scale(vector::load_aligned(sums + 2 * h + i), vector::load_aligned(sums + 2 * h + heads_of_group + i),
                      h + i);
            }
        }
    };
    using products_of = product_rows<real, is_in_lane_order>;
    products_of rows;
    double dot = 0.0;
    const auto write_grad_x = [&](index_t head, index_t some, bool is_first,
                                  bool is_last) CORDAGE_ALWAYS_INLINE_LAMBDA {
        const auto pass = [&](const auto& step, const weighted_row<real>& by, index_t skip, index_t lane, real factor,
                              products_of& to, bool fetches_g, bool fetches_x) CORDAGE_ALWAYS_INLINE_LAMBDA {
            heads_backward(step, o, lanes.grad_y + head * o.grad_y.head_stride + lane,
                           lanes.y + head * o.y.head_stride + lane, lanes.grad_x + head * o.grad_x.head_stride + lane,
                           by, skip, pairs, some, inverse_rms, shares, factor, to,
                           [&](index_t h) CORDAGE_ALWAYS_INLINE_LAMBDA {
                               const index_t next = head + h + some;
                               if (fetches_g) later_g(lanes.grad_y - begin, next * o.grad_y.head_stride);
                               if (fetches_x) later_x(lanes.y - begin, next * o.y.head_stride);
                           });
        };
        double* const sums = weights == nullptr || !has_rows ? weights : weights + head * head_dim;
        for_each_block(head, [&](index_t first, index_t count) CORDAGE_ALWAYS_INLINE_LAMBDA {
            if (is_first) rows = {};
            steps_of_block(first, count,
                           [&]<class Layout, std::size_t Count>(lane_step<Layout, Count, Pairing>, index_t skip,
                                                                index_t lane) CORDAGE_ALWAYS_INLINE_LAMBDA {
                               // Half as many vectors at a time, since each also needs registers for its products.
                               constexpr std::size_t some_vectors = Count > 1 ? Count / 2 : 1;
                               for (std::size_t v = 0; v < Count; v += some_vectors) {
                                   const index_t more = static_cast<index_t>(v) * Layout::pairs_each;
                                   pass(lane_step<Layout, some_vectors, Pairing>{}, at, skip + more,
                                        lane + Pairing::first(more, 0), square_factor, rows,
                                        is_long && first + skip + more == 0, is_long && v != 0 && first + skip == 0);
                               }
                           });
            if (!is_last) return;
            alignas(64) real first_sums[row_block], second_sums[row_block], of_angles[row_block] = {};
            real* const to_angles = pairs > row_block ? of_angles : grad_angle;
            dot += static_cast<double>(fold_products<Arch, Pairing>(rows, unweighted, factors, count, is_after,
                                                                    first_sums, second_sums, to_angles));
            if (pairs > row_block) grads.add(row, token, first, count, of_angles);
            for (index_t i = 0; sums != nullptr && i < count; ++i) {
                sums[begin + Pairing::first(first + i, pairs)] += static_cast<double>(first_sums[i]);
                sums[begin + Pairing::second(first + i, pairs)] += static_cast<double>(second_sums[i]);
            }
        });
        for (index_t h = 0; has_own_factor && !norm.is_over_all_heads && h < some; ++h) {
            dot -= static_cast<double>(shares[h] * rotated_squares[h]);
        }
        products_of others;
        for_each_other_block(
            head,
            [&](const auto& step, const weighted_row<real>& by, index_t skip, index_t lane)
                CORDAGE_ALWAYS_INLINE_LAMBDA {
                    const bool is_fetched = is_long && pairs == 0 && lane == 0;
                    pass(step, by, skip, lane, real(1), others, is_fetched, is_fetched);
                },
            [&](index_t lane, index_t last) CORDAGE_ALWAYS_INLINE_LAMBDA {
                for (index_t i = 0; sums != nullptr && i < last - lane; ++i) {
                    sums[lane + i] += static_cast<double>(others.same[i]);
                }
                others = {};
            });
    };

    // Alternates between sums and grad_x. If each call recomputes all rows of angles, processes as many heads as
    // possible per call.
    const bool is_alone = has_rows || pairs > row_block;
    const index_t at_once = has_rows ? 1 : is_alone ? head_block : heads_at_once;
    for (bool sums_alone = norm.is_over_all_heads;; sums_alone = false) {
        for (index_t head = 0; head < heads; head += at_once) {
            const index_t some = std::min(at_once, heads - head);
            if (sums_alone || !norm.is_over_all_heads) add_up(head, some);
            if (!sums_alone) write_grad_x(head, some, is_alone || head == 0, is_alone || head + some == heads);
        }
        if (!sums_alone) break;
        for (index_t h = 0; h < head_block; h += size) scale(vector(squares), vector(products), h);
    }
    if (has_own_factor && norm.is_over_all_heads) dot -= static_cast<double>(shares[0] * all_rotated);
    if (grads.has_factor()) grads.add_factor(row, token, dot);
}

}  // namespace cordage::backend
