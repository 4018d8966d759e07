// SPDX-License-Identifier: MIT
// Scalar backward pass: grad_x, and the gradients to frequencies, positions and attention factor in the same pass; the
// reference for all backends; serves stage rotation.
#pragma once

#include "cordage/backend/gradients.hpp"
#include "cordage/backend/scalar/normalized_backward.hpp"
#include "cordage/backend/scalar/pair_of_heads.hpp"
#include "cordage/backend/tags.hpp"
#include "cordage/core/token_chunks.hpp"

namespace cordage::backend {

/// One pass over grad_y and y of the tokens [begin, end):
///
///   grad_x = m R(-phi) grad_y                 dL/dphi = grad_y1 y0 - grad_y0 y1
///   dL/dtheta_i += position * sum over heads dL/dphi_i        dL/dposition += sum_i theta_i dL/dphi_i, i of its axis
///   dL/dm       += sum grad_y . y / m
///
/// grad_x is computed in the type that operands compute in, all other products and sums in double. The caller checks
/// the arguments.
template <pairing Pairing, class Source, class O>
CORDAGE_ONE_BODY void backward_range(scalar, const Source& angles, const operand_list<O>& operands,
                                     const angle_gradients& grads, index_t begin, index_t end) noexcept {
    using real = typename O::compute;
    const index_t pairs = angles.pairs(), tokens = angles.tokens();
    for_each_token(tokens, begin, end, [&](index_t row, index_t token) CORDAGE_ALWAYS_INLINE_LAMBDA {
        if constexpr (O::is_normalized) {
            double* weights = grads.weights;
            for (const O& o : operands) {
                backward_normalized<Pairing>(angles, o, grads, o.grad_weight.empty() ? nullptr : weights, row, token);
                weights += o.grad_weight.size();
            }
        } else {
            if (grads.attention_factor != nullptr) {
                grads.add_factor(angles, row, token, dot_of_token(operands, row, token, 2 * pairs));
            }
            for (index_t pair = 0; pair < pairs; ++pair) {
                const cos_sin<real> at = transposed(cos_sin_at<real>(angles, row, token, pair));
                double grad_angle = 0.0;
                for (const O& o : operands) {
                    grad_angle = backward_pair<double, Pairing>(o, row, token, pair, pairs, at, grad_angle);
                }
                grads.add(angles, row, token, pair, 1, &grad_angle);
            }
            for (const O& o : operands) copy_unrotated(o, row, token, 2 * pairs);
        }
    });
}

}  // namespace cordage::backend
