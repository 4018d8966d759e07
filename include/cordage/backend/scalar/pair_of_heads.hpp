// SPDX-License-Identifier: MIT
// One pair of all heads of a token, forward and backward, and copies of unrotated lanes; serves the CPU backends.
#pragma once

#include <cstring>

#include "cordage/backend/tags.hpp"
#include "cordage/core/macros.hpp"
#include "cordage/core/pairing.hpp"
#include "cordage/pair/rotate.hpp"
#include "cordage/tensors/operand.hpp"

namespace cordage::backend {

// Always inlined: a unit compiled for one instruction set must not emit a copy that another unit could link to.

/// y = R x of one pair of every head of a token, given m cos and m sin.
template <pairing Pairing, operand_type Operand, class Real>
CORDAGE_ALWAYS_INLINE void rotate_pair(const Operand& o, index_t row, index_t token, index_t pair, index_t pairs,
                                       const cos_sin<Real>& at) noexcept {
    static_assert(!Operand::is_normalized,
                  "cordage: a backend must pass operands with a norm to backend::rotate_normalized");
    const auto lanes = o.lanes_of(row, token);
    if (lanes.x == nullptr || !o.is_rotated()) return;
    const index_t lane0 = Pairing::first(pair, pairs), lane1 = Pairing::second(pair, pairs);
    for (index_t h = 0; h < o.shape().heads; ++h) {
        const auto* const x = lanes.x + h * o.x.head_stride;
        auto* const y = lanes.y + h * o.y.head_stride;
        const auto out = rotated(at, lane_pair<Real>{o.x.format.load(x[lane0]), o.x.format.load(x[lane1])});
        y[lane0] = o.y.format.store(out.first);
        y[lane1] = o.y.format.store(out.second);
    }
}

/// grad_x = R^T grad_y of one pair of every head of a token, given m cos and -m sin, and dL/dangle summed over the
/// heads in Sum.
template <class Sum, pairing Pairing, backward_operand_type Operand, class Real>
CORDAGE_ALWAYS_INLINE Sum backward_pair(const Operand& o, index_t row, index_t token, index_t pair, index_t pairs,
                                        const cos_sin<Real>& transposed_at, Sum sum) noexcept {
    static_assert(!Operand::is_normalized,
                  "cordage: a backend must pass operands with a norm to backend::backward_normalized");
    const auto lanes = o.lanes_of(row, token);
    if (lanes.grad_x == nullptr) return sum;
    const index_t lane0 = Pairing::first(pair, pairs), lane1 = Pairing::second(pair, pairs);
    for (index_t h = 0; h < o.shape().heads; ++h) {
        const auto *const g = lanes.grad_y + h * o.grad_y.head_stride, *const y = lanes.y + h * o.y.head_stride;
        auto* const gx = lanes.grad_x + h * o.grad_x.head_stride;
        const lane_pair<Real> grad{o.grad_y.format.load(g[lane0]), o.grad_y.format.load(g[lane1])};
        const lane_pair<Real> out{o.y.format.load(y[lane0]), o.y.format.load(y[lane1])};
        const auto back = rotated(transposed_at, grad);
        gx[lane0] = o.grad_x.format.store(back.first);
        gx[lane1] = o.grad_x.format.store(back.second);
        sum = plus_grad_angle(sum, lane_pair<Sum>{grad.first, grad.second}, lane_pair<Sum>{out.first, out.second});
    }
    return sum;
}

/// grad_y . y over the rotated lanes of every head of a token, in double; called before grad_x overwrites one of them.
template <backward_operand_type Operand>
CORDAGE_ALWAYS_INLINE double dot_of_token(const Operand& o, index_t row, index_t token, index_t rotary_dim) noexcept {
    const auto lanes = o.lanes_of(row, token);
    if (lanes.grad_x == nullptr) return 0.0;
    double dot = 0.0;
    for (index_t h = 0; h < o.shape().heads; ++h) {
        const auto *const g = lanes.grad_y + h * o.grad_y.head_stride, *const y = lanes.y + h * o.y.head_stride;
        for (index_t i = 0; i < rotary_dim; ++i) {
            dot += static_cast<double>(o.grad_y.format.load(g[i])) * static_cast<double>(o.y.format.load(y[i]));
        }
    }
    return dot;
}

/// As above, summed over operands.
template <class O>
CORDAGE_ALWAYS_INLINE double dot_of_token(const operand_list<O>& operands, index_t row, index_t token,
                                          index_t rotary_dim) noexcept {
    double dot = 0.0;
    for (const O& o : operands) dot += dot_of_token(o, row, token, rotary_dim);
    return dot;
}

/// Converts lanes to another type or format.
template <class InFormat, class In, class OutFormat, class Out>
CORDAGE_ALWAYS_INLINE void convert_lanes(scalar, const InFormat& in, const In* from, const OutFormat& out, Out* to,
                                         index_t count) noexcept {
    for (index_t i = 0; i < count; ++i) to[i] = out.store(in.load(from[i]));
}

/// Copies the lanes of every head outside of [begin, end), if source and destination differ: bit for bit if both have
/// one type and format, else converted.
template <class Backend, class In, class InFormat, class Out, class OutFormat>
CORDAGE_ALWAYS_INLINE void copy_around(Backend how, const heads_view<const In, InFormat>& in, const In* from,
                                       const heads_view<Out, OutFormat>& out, Out* to, index_t begin,
                                       index_t end) noexcept {
    constexpr bool is_one_type = std::same_as<In, Out>;
    const bool is_one_format = is_one_type && is_same_format(in.format, out.format);
    if (is_one_format && static_cast<const void*>(from) == static_cast<const void*>(to)) return;
    index_t heads = in.shape.heads, head_dim = in.shape.head_dim;
    if (begin == end && in.head_stride == head_dim && out.head_stride == head_dim) {  // one contiguous copy
        head_dim *= heads;
        heads = 1;
    }
    for (index_t h = 0; h < heads; ++h) {
        const auto copy = [&](index_t first, index_t count) CORDAGE_ALWAYS_INLINE_LAMBDA {
            const In* const lanes = from + h * in.head_stride + first;
            Out* const copies = to + h * out.head_stride + first;
            if (is_one_format) {
                std::memcpy(static_cast<void*>(copies), lanes, static_cast<std::size_t>(count) * sizeof(Out));
            } else {
                convert_lanes(how, in.format, lanes, out.format, copies, count);
            }
        };
        copy(0, begin);
        copy(end, head_dim - end);
    }
}

/// Whether an operand has lanes that are not rotated.
template <class Operand>
CORDAGE_ALWAYS_INLINE bool has_unrotated(const Operand& o, index_t rotary_dim) noexcept {
    return !o.is_rotated() || rotary_dim != o.shape().head_dim;
}

/// Copies the lanes of a token's heads that are not rotated: from x to y, or from grad_y to grad_x; all lanes of an
/// operand that is not rotated.
template <operand_type Operand, class Backend = scalar>
CORDAGE_ALWAYS_INLINE void copy_unrotated(const Operand& o, index_t row, index_t token, index_t rotary_dim,
                                          Backend how = {}) noexcept {
    if (!has_unrotated(o, rotary_dim)) return;
    const index_t end = o.is_rotated() ? o.first_lane + rotary_dim : 0;
    const auto lanes = o.lanes_of(row, token);
    if (lanes.x != nullptr)
        copy_around(how, o.x, lanes.x - o.first_lane, o.y, lanes.y - o.first_lane, o.first_lane, end);
}
template <backward_operand_type Operand, class Backend = scalar>
CORDAGE_ALWAYS_INLINE void copy_unrotated(const Operand& o, index_t row, index_t token, index_t rotary_dim,
                                          Backend how = {}) noexcept {
    if (!has_unrotated(o, rotary_dim)) return;
    const auto lanes = o.lanes_of(row, token);
    if (lanes.grad_x == nullptr) return;
    copy_around(how, o.grad_y, lanes.grad_y - o.first_lane, o.grad_x, lanes.grad_x - o.first_lane, o.first_lane,
                o.first_lane + rotary_dim);
}

}  // namespace cordage::backend
