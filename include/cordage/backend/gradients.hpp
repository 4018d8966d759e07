// SPDX-License-Identifier: MIT
// The spans to which a backend adds the gradients of one range of tokens; serves all CPU backends.
#pragma once

#include "cordage/angles/angle_source.hpp"

namespace cordage::backend {

/// Destinations of the gradients of one range of tokens. A gradient whose pointer is null is not computed.
struct angle_gradients {
    double* inv_freq = nullptr;          ///< [bases of the range, pairs]
    double* attention_factor = nullptr;  ///< [bases of the range]
    index_t first_basis = 0;             ///< the first basis of the range
    double* position = nullptr;          ///< [axes, batch, tokens] dense, each token written by one range only
    index_t axis_stride = 0;             ///< batch * tokens, from one axis of `position` to the next
    double* angle = nullptr;             ///< [batch, tokens, pairs] dense, each token written by one range only
    double* weights = nullptr;           ///< of the operands' norms, concatenated; only those that are computed

    /// Adds one token's dL/dangle of pairs [first, first + count) to frequencies and to its position:
    ///
    ///   dL/dinv_freq += position * dL/dangle            dL/dposition += sum of inv_freq * dL/dangle, by axis
    ///
    /// and dL/dangle itself to `angle`.
    template <class Source, class Real>
    CORDAGE_ALWAYS_INLINE void add(const Source& angles, index_t row, index_t token, index_t first, index_t count,
                                   const Real* grad_angle) const noexcept {
        using namespace angle_detail;
        if (angle != nullptr) {
            double* to = angle + (row * angles.tokens() + token) * angles.pairs() + first;
            for (index_t i = 0; i < count; ++i) to[i] += static_cast<double>(grad_angle[i]);
        }
        if constexpr (differentiable_angle_source<Source>) {
            if (inv_freq == nullptr && position == nullptr) return;
            const index_t basis = basis_of(angles, row, token);
            if constexpr (sums_axes<Source>) {
                for (index_t axis = 0; axis < angles.axes(); ++axis) {
                    add_axis(angles, row, token, axis, basis + axis, first, count, grad_angle);
                }
            } else {
                for (index_t begin = 0, end = 0; begin < count; begin = end) {  // neighbouring pairs of one axis
                    const index_t axis = axis_of(angles, first + begin);
                    do ++end;
                    while (end < count && axis_of(angles, first + end) == axis);
                    add_axis(angles, row, token, axis, basis, first + begin, end - begin, grad_angle + begin);
                }
            }
        }
    }

    /// dL/dm += grad_y . y / m of one token.
    template <class Source>
    CORDAGE_ALWAYS_INLINE void add_factor(const Source& angles, index_t row, index_t token, double dot) const noexcept {
        attention_factor[angle_detail::basis_of(angles, row, token) - first_basis] +=
            dot / angle_detail::factor_of_basis(angles, row, token);
    }

 private:
    template <class Source, class Real>
    CORDAGE_ALWAYS_INLINE void add_axis(const Source& angles, index_t row, index_t token, index_t axis, index_t basis,
                                        index_t first, index_t count, const Real* grad_angle) const noexcept {
        if (inv_freq != nullptr) {
            double* sums = inv_freq + (basis - first_basis) * angles.pairs() + first;
            const double at = angles.position(row, token, axis);
            for (index_t i = 0; i < count; ++i) sums[i] += at * static_cast<double>(grad_angle[i]);
        }
        if (position == nullptr) return;
        const double* rates = angles.inv_freq(basis) + first;
        double sum = 0.0;
        for (index_t i = 0; i < count; ++i) sum += rates[i] * static_cast<double>(grad_angle[i]);
        position[axis * axis_stride + row * angles.tokens() + token] += sum;
    }
};

}  // namespace cordage::backend
