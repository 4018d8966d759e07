// SPDX-License-Identifier: MIT
// The backward pass of one token's normalized and rotated heads, one after the other; the reference for all backends;
// serves stage rotation.
#pragma once

#include "cordage/angles/angle_source.hpp"
#include "cordage/backend/gradients.hpp"
#include "cordage/core/macros.hpp"
#include "cordage/core/pairing.hpp"
#include "cordage/pair/rotate.hpp"
#include "cordage/tensors/operand.hpp"

namespace cordage::backend {

/// Adds grad_x and all other gradients of every head of a token. z is the input of the norm, t the gradient of its
/// output:
///
///   norm first      z = x        t = m R^T grad_y        grad_x = grad_z
///   norm after      z = m R x    t = grad_y              grad_x = m R^T grad_z
///
///   grad_z = r (t w - z r^2 mean of t w z)               grad_w = sum over heads and tokens of t z r
///
/// dL/dangle and dL/dm use the rotation's input and output: z r w and its gradient t if the norm is first, z and grad_z
/// if it follows (both pairs rotated by one angle give the same dL/dangle). Rounding between norm and rotation is
/// treated as the identity.
///
/// @param weights  sums for the norm's weights, in double; null: not computed
template <pairing Pairing, class Source, backward_operand_type Operand>
CORDAGE_ALWAYS_INLINE void backward_normalized(const Source& angles, const Operand& o, const angle_gradients& grads,
                                               double* weights, index_t row, index_t token) noexcept {
    using real = typename Operand::compute;
    const auto lanes = o.lanes_of(row, token);
    if (lanes.grad_x == nullptr) return;
    const auto& norm = o.norm;
    const index_t heads = o.shape().heads, head_dim = o.shape().head_dim;
    const index_t pairs = o.is_rotated() ? angles.pairs() : 0, begin = o.first_lane, end = begin + 2 * pairs;
    const bool is_after = norm.is_after_rotation;
    struct both {
        real z, t;
    };
    const auto read = [&](index_t head, index_t lane) CORDAGE_ALWAYS_INLINE_LAMBDA {
        return both{o.y.format.load(lanes.y[head * o.y.head_stride + lane - begin]),
                    o.grad_y.format.load(lanes.grad_y[head * o.grad_y.head_stride + lane - begin])};
    };
    const auto write = [&](index_t head, index_t lane, real number) CORDAGE_ALWAYS_INLINE_LAMBDA {
        lanes.grad_x[head * o.grad_x.head_stride + lane - begin] = o.grad_x.format.store(number);
    };
    const auto angle = [&](index_t pair)
                           CORDAGE_ALWAYS_INLINE_LAMBDA { return cos_sin_at<real>(angles, row, token, pair); };
    // z and t of a pair's two lanes.
    const auto pair_of = [&](index_t head, index_t pair) CORDAGE_ALWAYS_INLINE_LAMBDA {
        const both first = read(head, begin + Pairing::first(pair, pairs));
        const both second = read(head, begin + Pairing::second(pair, pairs));
        lane_pair<real> z{first.z, second.z}, t{first.t, second.t};
        if (is_after) {
            z = rotated(angle(pair), z);
        } else {
            t = rotated(transposed(angle(pair)), t);
        }
        return lane_pair<both>{{z.first, t.first}, {z.second, t.second}};
    };
    const auto factor = [&](index_t head, index_t lane)
                            CORDAGE_ALWAYS_INLINE_LAMBDA { return norm.template factor<real>(head, lane, head_dim); };
    real squares = 0, products = 0;  // sums of z^2 and of t w z
    const auto add_head = [&](index_t head) CORDAGE_ALWAYS_INLINE_LAMBDA {
        const auto add = [&](const both& at, index_t lane) {
            squares += at.z * at.z;
            products += at.t * factor(head, lane) * at.z;
        };
        for (index_t pair = 0; pair < pairs; ++pair) {
            const auto at = pair_of(head, pair);
            add(at.first, begin + Pairing::first(pair, pairs));
            add(at.second, begin + Pairing::second(pair, pairs));
        }
        for (index_t lane = 0; lane < head_dim; ++lane) {
            if (lane < begin || lane >= end) add(read(head, lane), lane);
        }
    };
    for (index_t head = 0; norm.is_over_all_heads && head < heads; ++head) add_head(head);
    double dot = 0.0;  // m dL/dm
    for (index_t head = 0; head < heads; ++head) {
        if (!norm.is_over_all_heads) {
            squares = products = 0;
            add_head(head);
        }
        const index_t count = norm.rows(heads) * head_dim;
        const real r = norm.inverse_rms(squares, count);
        const rms_norm_gradient<real> gradient{r, products / static_cast<real>(count)};
        const auto grad_z = [&](const both& at, index_t lane) CORDAGE_ALWAYS_INLINE_LAMBDA {
            if (weights != nullptr) {
                weights[(norm.rows(heads) == 1 ? 0 : head * head_dim) + lane] +=
                    static_cast<double>(at.t) * static_cast<double>(at.z * r);
            }
            return gradient(at.z, at.t, factor(head, lane));
        };
        for (index_t pair = 0; pair < pairs; ++pair) {
            const index_t lane0 = begin + Pairing::first(pair, pairs), lane1 = begin + Pairing::second(pair, pairs);
            const auto at = pair_of(head, pair);
            lane_pair<real> gx{grad_z(at.first, lane0), grad_z(at.second, lane1)};
            // The gradient of the rotation's output, and that output.
            lane_pair<double> g{at.first.t, at.second.t};
            lane_pair<double> n{at.first.z * r * factor(head, lane0), at.second.z * r * factor(head, lane1)};
            if (is_after) {
                g = {gx.first, gx.second};
                n = {at.first.z, at.second.z};
                gx = rotated(transposed(angle(pair)), gx);
            }
            const double grad_angle = plus_grad_angle(0.0, g, n);
            dot = plus_grad_factor(dot, g, n);
            grads.add(angles, row, token, pair, 1, &grad_angle);
            write(head, lane0, gx.first);
            write(head, lane1, gx.second);
        }
        for (index_t lane = 0; lane < head_dim; ++lane) {
            if (lane < begin || lane >= end) write(head, lane, grad_z(read(head, lane), lane));
        }
    }
    if (grads.attention_factor != nullptr) grads.add_factor(angles, row, token, dot);
}

}  // namespace cordage::backend
