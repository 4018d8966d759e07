// SPDX-License-Identifier: MIT
// One pair of all heads of a token, forward and backward, and the lanes that are not rotated; serves the CPU backends.
#pragma once

#include <cstring>

#include "cordage/core/macros.hpp"
#include "cordage/core/pairing.hpp"
#include "cordage/pair/rotate.hpp"
#include "cordage/tensors/operand.hpp"

namespace cordage::backend {

// Always inlined, so that a unit compiled for one instruction set leaves no copy that another one may get.

/// y = R x of one pair of every head of a token, by m cos and m sin.
template <pairing Pairing, operand_type Operand, class Real>
CORDAGE_ALWAYS_INLINE void rotate_pair(const Operand& o, index_t row, index_t token, index_t pair, index_t pairs,
                                       const cos_sin<Real>& at) noexcept {
    auto [x, y] = o.lanes_of(row, token);
    if (x == nullptr) return;
    const index_t lane0 = Pairing::first(pair, pairs), lane1 = Pairing::second(pair, pairs);
    for (index_t h = 0; h < o.shape().heads; ++h, x += o.x.head_stride, y += o.y.head_stride) {
        const auto out = rotated(at, lane_pair<Real>{o.x.format.load(x[lane0]), o.x.format.load(x[lane1])});
        y[lane0] = o.y.format.store(out.first);
        y[lane1] = o.y.format.store(out.second);
    }
}

/// grad_x = R^T grad_y of one pair of every head of a token, by m cos and -m sin, and dL/dangle added up over the heads
/// in Sum.
template <class Sum, pairing Pairing, backward_operand_type Operand, class Real>
CORDAGE_ALWAYS_INLINE Sum backward_pair(const Operand& o, index_t row, index_t token, index_t pair, index_t pairs,
                                        const cos_sin<Real>& transposed_at, Sum sum) noexcept {
    auto [g, y, gx] = o.lanes_of(row, token);
    if (gx == nullptr) return sum;
    const index_t lane0 = Pairing::first(pair, pairs), lane1 = Pairing::second(pair, pairs);
    for (index_t h = 0; h < o.shape().heads;
         ++h, g += o.grad_y.head_stride, y += o.y.head_stride, gx += o.grad_x.head_stride) {
        const lane_pair<Real> grad{o.grad_y.format.load(g[lane0]), o.grad_y.format.load(g[lane1])};
        const lane_pair<Real> out{o.y.format.load(y[lane0]), o.y.format.load(y[lane1])};
        const auto back = rotated(transposed_at, grad);
        gx[lane0] = o.grad_x.format.store(back.first);
        gx[lane1] = o.grad_x.format.store(back.second);
        sum = plus_grad_angle(sum, lane_pair<Sum>{grad.first, grad.second}, lane_pair<Sum>{out.first, out.second});
    }
    return sum;
}

/// grad_y . y over the rotated lanes of every head of a token, in double; before grad_x overwrites one of them.
template <backward_operand_type Operand>
CORDAGE_ALWAYS_INLINE double dot_of_token(const Operand& o, index_t row, index_t token, index_t rotary_dim) noexcept {
    auto [g, y, gx] = o.lanes_of(row, token);
    if (gx == nullptr) return 0.0;
    double dot = 0.0;
    for (index_t h = 0; h < o.shape().heads; ++h, g += o.grad_y.head_stride, y += o.y.head_stride) {
        for (index_t i = 0; i < rotary_dim; ++i) {
            dot += static_cast<double>(o.grad_y.format.load(g[i])) * static_cast<double>(o.y.format.load(y[i]));
        }
    }
    return dot;
}

/// The lanes of every head around the rotated ones, where source and destination differ: copied bit for bit where both
/// are of one type and format, else read and stored.
template <class In, class InFormat, class Out, class OutFormat>
CORDAGE_ALWAYS_INLINE void copy_unrotated(const heads_view<In, InFormat>& in, const heads_view<Out, OutFormat>& out,
                                          index_t row, index_t token, index_t first_lane, index_t rotary_dim) noexcept {
    if (in.shape.head_dim == rotary_dim || in.shape.heads == 0) return;
    const In* from = in.token(row, token);
    Out* to = out.token(row, token);
    if (from == nullptr || to == nullptr) return;
    constexpr bool is_one_type = std::same_as<In, const Out>;
    const bool is_one_format = is_one_type && is_same_format(in.format, out.format);
    if (is_one_format && static_cast<const void*>(from) == static_cast<const void*>(to)) return;
    const index_t after = first_lane + rotary_dim, head_dim = in.shape.head_dim;
    for (index_t h = 0; h < in.shape.heads; ++h, from += in.head_stride, to += out.head_stride) {
        const auto copy = [&](index_t begin, index_t end) CORDAGE_ALWAYS_INLINE_LAMBDA {
            if constexpr (is_one_type) {
                if (is_one_format) {
                    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin) * sizeof(Out));
                    return;
                }
            }
            for (index_t i = begin; i < end; ++i) to[i] = out.format.store(in.format.load(from[i]));
        };
        copy(0, first_lane);
        copy(after, head_dim);
    }
}

}  // namespace cordage::backend
