// SPDX-License-Identifier: MIT
// The backward pass of the rotation: to x, and to frequencies, positions and the attention factor; stage rotation.
#pragma once

#include <array>
#include <vector>

#include "cordage/core/token_chunks.hpp"
#include "cordage/rotate/forward.hpp"

namespace cordage {

/// The gradients beyond grad_x that a backward pass adds to. Leave out what is not wanted.
struct rotation_gradients {
    std::span<double> inv_freq = {};      ///< dL/dinv_freq, [bases, rotary_dim/2] dense, added to
    std::span<double> position_ids = {};  ///< dL/dposition, [axes, batch, tokens] dense, added to
    double* attention_factor = nullptr;   ///< dL/dm, [bases], added to
};

/// grad_x = m R(-a) grad_y, the transpose of rotate_forward; arguments and errors as rotate_forward's. In place
/// allowed.
template <pairing Pairing, class Backend = backend::fastest, executor Executor, angle_source Source, element T,
          class... More>
requires(std::same_as<More, operand<T>>&&...) void rotate_backward(const Executor& how, const Source& angles,
                                                                   const operand<T>& first, const More&... more) {
    const std::array<operand<T>, 1 + sizeof...(More)> all{first, more...};
    rotate_detail::rotate<Pairing, Backend, backend::adjoint, Executor, Source, T>("rotate_backward", how, angles, all);
}
/// The same, run serially.
template <pairing Pairing, class Backend = backend::fastest, angle_source Source, element T, class... More>
requires(std::same_as<More, operand<T>>&&...) void rotate_backward(const Source& angles, const operand<T>& first,
                                                                   const More&... more) {
    rotate_backward<Pairing, Backend>(serial{}, angles, first, more...);
}

namespace rotate_detail {

// Tokens are cut into at most this many chunks, or one a basis where those are more, each with its own partial sums,
// whoever runs them: so the sums are added in one order and have the same bits whatever the number of threads.
inline constexpr index_t most_chunks = 64;
inline constexpr index_t smallest_chunk = 32;

template <angles_of_tokens Source, class T>
void check_gradients(const rotation_gradients& grads, const Source& angles, const backward_operand<T>& o) {
    const index_t tokens = o.y.shape.batch * o.y.shape.tokens;
    const auto wrong = [](std::span<double> given, index_t wanted) {
        return !given.empty() && static_cast<index_t>(given.size()) != wanted;
    };
    const index_t bases = angles.bases(), axes = angles.axes();
    if (wrong(grads.inv_freq, bases * angles.pairs())) {
        throw shape_error(message("rotate_backward: grads.inv_freq has ", grads.inv_freq.size(), " entries, must have ",
                                  bases == 1 ? "" : "batch*", "rotary_dim/2 = ", bases * angles.pairs()));
    }
    if (wrong(grads.position_ids, axes * tokens)) {
        throw shape_error(message("rotate_backward: grads.position_ids has ", grads.position_ids.size(),
                                  " entries, must have ", axes == 1 ? "" : "axes*", "batch*tokens = ", axes * tokens));
    }
}

}  // namespace rotate_detail

/// As above, and in the same pass over grad_y and y the gradients behind the angles:
///
///   dL/da           = grad_y1 y0 - grad_y0 y1
///   dL/dinv_freq_i += sum over tokens and heads of position * dL/da_i
///   dL/dposition   += sum over pairs and heads of inv_freq_i * dL/da_i, for each axis over the pairs it turns
///   dL/dm          += sum of grad_y . y / m over the rotated lanes
///
///   rotate_backward<half_split>(angles, {.inv_freq = grad}, grad_through(grad_q, q, grad_q), grad_through(...));
///
/// @param angles    a source that knows its positions: exact_angles, float32_angles, axis_angles, or row_angles of
///                  these
/// @param grads     added to, never set; what is left empty is not computed. One basis and one axis but for row_angles,
///                  which has a basis a row (bases = batch), and axis_angles
/// @param first,more  y is what rotate_forward wrote; grad_x may be grad_y or y itself, must not partly overlap them
/// Sums over tokens in double (over one token's heads too, but a vector backend does those of an fp32 tensor in fp32)
/// and in a fixed order: the same bits whatever the number of threads. A 16-bit y is rounded, which brings its relative
/// rounding (2^-8 for bfloat16) of each |grad_y y| into the sums. Allocates the partial sums, at most max(64, bases) *
/// rotary_dim/2 doubles, when inv_freq or attention_factor is wanted.
template <pairing Pairing, class Backend = backend::fastest, executor Executor, differentiable_angle_source Source,
          element T, class... More>
requires(std::same_as<More, backward_operand<T>>&&...) void rotate_backward(const Executor& how, const Source& angles,
                                                                            const rotation_gradients& grads,
                                                                            const backward_operand<T>& first,
                                                                            const More&... more) {
    using namespace rotate_detail;
    const std::array<backward_operand<T>, 1 + sizeof...(More)> all{first, more...};
    const std::span<const backward_operand<T>> operands(all);
    check_all("rotate_backward", angles, operands);
    check_gradients(grads, angles, first);
    if (has_no_elements(operands)) return;

    const index_t tokens = first.y.shape.batch * first.y.shape.tokens;
    const token_chunks chunks = token_chunks::of(tokens, angles.bases(), most_chunks, smallest_chunk);
    const index_t pairs = angles.pairs();
    std::vector<double> partial_inv_freq(grads.inv_freq.empty() ? 0 : static_cast<std::size_t>(chunks.count * pairs));
    std::vector<double> partial_factor(grads.attention_factor == nullptr ? 0 : static_cast<std::size_t>(chunks.count));

    using backend::backward_range;
    for_each_range(how, chunks.count, 2, [&](index_t begin, index_t end) noexcept {
        for (index_t c = begin; c < end; ++c) {
            backend::angle_gradients mine;
            if (!partial_inv_freq.empty()) mine.inv_freq = partial_inv_freq.data() + c * pairs;
            if (!partial_factor.empty()) mine.attention_factor = partial_factor.data() + c;
            if (!grads.position_ids.empty()) mine.position = grads.position_ids.data();
            mine.axis_stride = tokens;
            backward_range<Pairing>(Backend{}, angles, operands, mine, chunks.begin(c), chunks.end(c));
        }
    });

    for (index_t c = 0; c < chunks.count; ++c) {
        const index_t basis = chunks.basis(c);
        for (index_t pair = 0; !partial_inv_freq.empty() && pair < pairs; ++pair) {
            grads.inv_freq[static_cast<std::size_t>(basis * pairs + pair)] +=
                partial_inv_freq[static_cast<std::size_t>(c * pairs + pair)];
        }
        if (!partial_factor.empty()) grads.attention_factor[basis] += partial_factor[static_cast<std::size_t>(c)];
    }
}
/// The same, run serially.
template <pairing Pairing, class Backend = backend::fastest, differentiable_angle_source Source, element T,
          class... More>
requires(std::same_as<More, backward_operand<T>>&&...) void rotate_backward(const Source& angles,
                                                                            const rotation_gradients& grads,
                                                                            const backward_operand<T>& first,
                                                                            const More&... more) {
    rotate_backward<Pairing, Backend>(serial{}, angles, grads, first, more...);
}

}  // namespace cordage
