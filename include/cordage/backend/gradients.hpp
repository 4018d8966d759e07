// SPDX-License-Identifier: MIT
// Where a backend adds the gradients behind the angles of one range of tokens; serves all CPU backends.
#pragma once

#include "cordage/angles/angle_source.hpp"

namespace cordage::backend {

/// Where one range of tokens adds its share of the gradients. A null data pointer means: not wanted.
struct angle_gradients {
    double* inv_freq = nullptr;          ///< [bases of the range, pairs]
    double* attention_factor = nullptr;  ///< [bases of the range]
    index_t first_basis = 0;             ///< the first basis of the range
    double* position = nullptr;          ///< [axes, batch, tokens] dense, each token written by one range only
    index_t axis_stride = 0;             ///< batch * tokens, from one axis of `position` to the next
    double* weights = nullptr;           ///< of the operands' norms, one after the other, as many as are wanted

    /// Adds what one token's dL/dangle of pairs [first, first + count) gives to frequencies and to its position:
    ///
    ///   dL/dinv_freq += position * dL/dangle            dL/dposition += sum of inv_freq * dL/dangle, by axis
    template <class Source, class Real>
    CORDAGE_ALWAYS_INLINE void add(const Source& angles, index_t row, index_t token, index_t first, index_t count,
                                   const Real* grad_angle) const noexcept {
        using namespace angle_detail;
        if constexpr (differentiable_angle_source<Source>) {
            const index_t basis = basis_of(angles, row, token);
            if (inv_freq != nullptr) {
                double* sums = inv_freq + (basis - first_basis) * angles.pairs() + first;
                for (index_t i = 0; i < count; ++i) {
                    const double at = angles.position(row, token, axis_of(angles, first + i));
                    sums[i] += at * static_cast<double>(grad_angle[i]);
                }
            }
            if (position == nullptr) return;
            const double* rates = angles.inv_freq(basis) + first;
            double* of_token = position + row * angles.tokens() + token;
            for (index_t i = 0; i < count;) {  // neighbouring pairs of one axis add up first
                const index_t axis = axis_of(angles, first + i);
                double sum = 0.0;
                for (; i < count && axis_of(angles, first + i) == axis; ++i) {
                    sum += rates[i] * static_cast<double>(grad_angle[i]);
                }
                of_token[axis * axis_stride] += sum;
            }
        }
    }

    /// dL/dm += grad_y . y / m of one token.
    template <class Source>
    CORDAGE_ALWAYS_INLINE void add_factor(const Source& angles, index_t row, index_t token, double dot) const noexcept {
        attention_factor[angle_detail::basis_of(angles, row, token) - first_basis] +=
            dot / angles.attention_factor(row, token);
    }
};

}  // namespace cordage::backend
