// SPDX-License-Identifier: MIT
// Scalar backward pass: grad_x, and the gradients to frequencies, positions and attention factor in the same walk over
// the tensors; the oracle of all backends; serves stage rotation.
#pragma once

#include <span>

#include "cordage/backend/tags.hpp"
#include "cordage/core/macros.hpp"
#include "cordage/core/operand.hpp"
#include "cordage/core/pairing.hpp"

namespace cordage::backend {

/// Where one range of tokens adds its share of the gradients. A null data pointer means: not wanted.
struct angle_gradients {
    double* inv_freq = nullptr;          ///< [pairs]
    double* position = nullptr;          ///< [axes, batch, tokens] dense, each token written by one range only
    index_t axis_stride = 0;             ///< batch * tokens, from one axis of `position` to the next
    double* attention_factor = nullptr;  ///< one number
};

/// One pass over grad_y and y of the tokens [begin, end), which share one basis:
///
///   grad_x = m R(-phi) grad_y                 dL/dphi = grad_y1 y0 - grad_y0 y1
///   dL/dtheta_i += position * sum over heads dL/dphi_i        dL/dposition += sum_i theta_i dL/dphi_i, i of its axis
///   dL/dm       += sum grad_y . y / m
///
/// Products in compute_of<T>, sums over heads, pairs and tokens in double. Checked by the caller.
template <pairing Pairing, class Source, element T>
CORDAGE_ONE_BODY void backward_range(scalar, const Source& angles, std::span<const backward_operand<T>> operands,
                                     const angle_gradients& grads, index_t begin, index_t end) noexcept {
    using real = compute_of<T>;
    using traits = element_traits<T>;
    const index_t pairs = angles.pairs(), tokens = angles.tokens();
    double sum_over_m = 0.0;
    for (index_t i = begin; i < end; ++i) {
        const index_t row = i / tokens, token = i % tokens;
        index_t axis = 0;
        double grad_position = 0.0;  // of the neighbouring pairs so far that this axis turns
        const auto add_grad_position = [&] {
            if (grads.position) grads.position[axis * grads.axis_stride + i] += grad_position;
            grad_position = 0.0;
        };
        for (index_t pair = 0; pair < pairs; ++pair) {
            if (angles.axis(pair) != axis) {
                add_grad_position();
                axis = angles.axis(pair);
            }
            const auto at = angles.template at<real>(row, token, pair);
            const index_t lane0 = Pairing::first(pair, pairs), lane1 = Pairing::second(pair, pairs);
            double grad_angle = 0.0;
            for (const backward_operand<T>& o : operands) {
                for (index_t h = 0; h < o.y.shape.heads; ++h) {
                    const T* gy = o.grad_y.head(row, token, h) + o.first_lane;
                    const T* y = o.y.head(row, token, h) + o.first_lane;
                    T* gx = o.grad_x.head(row, token, h) + o.first_lane;
                    const real g0 = traits::load(gy[lane0]), g1 = traits::load(gy[lane1]);
                    const real y0 = traits::load(y[lane0]), y1 = traits::load(y[lane1]);
                    gx[lane0] = traits::store(at.cos * g0 + at.sin * g1);
                    gx[lane1] = traits::store(at.cos * g1 - at.sin * g0);
                    grad_angle += static_cast<double>(g1) * static_cast<double>(y0) -
                                  static_cast<double>(g0) * static_cast<double>(y1);
                    sum_over_m += static_cast<double>(g0) * static_cast<double>(y0) +
                                  static_cast<double>(g1) * static_cast<double>(y1);
                }
            }
            if (grads.inv_freq) grads.inv_freq[pair] += angles.position(row, token, axis) * grad_angle;
            grad_position += angles.inv_freq(row)[static_cast<std::size_t>(pair)] * grad_angle;
        }
        add_grad_position();
        for (const backward_operand<T>& o : operands) {
            for (index_t h = 0; h < o.y.shape.heads; ++h) {
                const T* gy = o.grad_y.head(row, token, h);
                T* gx = o.grad_x.head(row, token, h);
                if (gx == gy) continue;
                for (index_t lane = 0; lane < o.first_lane; ++lane) gx[lane] = gy[lane];
                for (index_t lane = o.first_lane + 2 * pairs; lane < o.y.shape.head_dim; ++lane) gx[lane] = gy[lane];
            }
        }
    }
    if (grads.attention_factor && begin < end) {
        *grads.attention_factor += sum_over_m / angles.attention_factor(begin / tokens);
    }
}

}  // namespace cordage::backend
