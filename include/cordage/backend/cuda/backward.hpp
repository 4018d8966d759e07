// SPDX-License-Identifier: MIT
// The CUDA backward pass as plain functions of a thread's place: grad_x, and sums behind the angles in the same pass;
// serves stage rotation.
#pragma once

#include <algorithm>
#include <span>

#include "cordage/backend/cuda/angles.hpp"
#include "cordage/backend/cuda/gradient_sums.hpp"
#include "cordage/backend/cuda/walk.hpp"

namespace cordage::backend {

/// One pass over grad_y and y, for units [first_unit, first_unit + threads.x):
///
///   block -> a chunk of tokens, which share a basis
///   x -> unit      y -> every threads.y-th head, through all operands      z -> every threads.z-th token of the chunk
///
///   phase 2r      r-th step: grad_x; dL/dphi summed over a thread's heads in floats, over its tokens in double
///   phase 2r + 1  dL/dposition of the step's tokens, added up over the block's threads; after the last step the
///                 block's dL/dinv_freq and its sum grad_y . y, a row of `sums`
///   last phase    the latter over the units
///
/// Without dL/dposition all tokens are one step. Every sum has a fixed order.
template <class Operand, pairing Pairing, bool ByPieces, class Source>
struct backward_kernel;
template <class T, class Format, pairing Pairing, bool ByPieces, class Source>
struct backward_kernel<backward_operand<T, Format>, Pairing, ByPieces, Source> {
    using operand_type = backward_operand<T, Format>;
    static constexpr int pairs_of_unit = pairs_in_pieces<T, Pairing, ByPieces>;
    using unit_type = unit<T, Format, Pairing, ByPieces, pairs_of_unit>;
    static constexpr int blocks_per_processor = 2;  // 128 registers

    Source angles;
    index_t tokens;  // of a row
    token_chunks chunks;
    index_t only_basis;  // the tokens of this basis, where each names its own; or -1: all
    index_t first_unit;
    double* sums;         // [chunks.count, pairs + 1], or null
    double* position;     // [axes, rows, tokens], added to, or null
    index_t axis_stride;  // rows * tokens
    int operand_count;
    operand_type operands[most_operands];

    static index_t shared_bytes(const index3& threads, index_t axes) noexcept {
        return block_sums::count(threads, index_t{threads.x} * pairs_of_unit, axes) *
               static_cast<index_t>(sizeof(double));
    }

    CORDAGE_HOST_DEVICE index_t phases(const block_view& at) const noexcept { return 2 * rounds(at) + 1; }

    CORDAGE_HOST_DEVICE void run(index_t phase, const block_view& at) const noexcept {
        const index_t round = phase / 2, last = rounds(at) - 1, axes = angle_detail::axes_of(angles);
        const block_sums all(at, row_of_pairs(at));
        if (phase % 2 == 0 && round <= last) {
            if (round == 0) begin_sums(all, at);
            for (index_t axis = 0; axis < axes; ++axis) all.position(axis) = 0.0;
            const index_t number = first_unit + at.thread.x;
            if (number >= angles.pairs() / pairs_of_unit) return;
            const index_t end = position == nullptr ? steps_of(chunks, at) : round + 1;
            for (index_t step = position == nullptr ? 0 : round; step < end; ++step) {
                const index_t i = token_of(chunks, step, at);
                if (i < chunks.end(at.block.x)) backward_of_token(i, number, all, at);
            }
        } else if (round <= last) {
            const index_t i = token_of(chunks, round, at);
            if (position != nullptr && i < chunks.end(at.block.x)) all.add_positions(position + i, axis_stride, axes);
            if (round == last && sums != nullptr) {
                const index_t first = first_unit * pairs_of_unit, left = angles.pairs() - first;
                all.add_lanes(row(at) + first, left < row_of_pairs(at) ? left : row_of_pairs(at));
            }
        } else if (sums != nullptr && at.thread_number() == 0) {
            double& dot = row(at)[angles.pairs()];
            dot = first_unit == 0 ? all.sum_of_dots() : dot + all.sum_of_dots();
        }
    }

 private:
    CORDAGE_HOST_DEVICE index_t rounds(const block_view& at) const noexcept {
        return position == nullptr ? 1 : steps_of(chunks, at);
    }
    CORDAGE_HOST_DEVICE static index_t row_of_pairs(const block_view& at) noexcept {
        return index_t{at.threads.x} * pairs_of_unit;
    }
    CORDAGE_HOST_DEVICE double* row(const block_view& at) const noexcept {
        return sums + index_t{at.block.x} * (angles.pairs() + 1);
    }
    CORDAGE_HOST_DEVICE static void begin_sums(const block_sums& all, const block_view& at) noexcept {
        for (int n = 0; n < pairs_of_unit; ++n) all.pairs()[index_t{at.thread.x} * pairs_of_unit + n] = 0.0;
        all.dot() = 0.0;
    }

    // grad_x of this thread's heads, and what they add to its sums.
    CORDAGE_HOST_DEVICE void backward_of_token(index_t i, index_t number, const block_sums& all,
                                               const block_view& at) const noexcept {
        const token_place place = place_of(i, tokens);
        const index_t row = place.row, token = place.token, pair = number * pairs_of_unit, pairs = angles.pairs();
        if (only_basis >= 0 && angle_detail::basis_of(angles, row, token) != only_basis) return;
        const auto turns = angles_of<adjoint, pairs_of_unit>(angles, row, token, pair);
        float grad_angle[pairs_of_unit] = {};
        float dot = 0.0f;
        for (head_walk heads(at, operands, operand_count); heads.is_at_head(); heads.go_on()) {
            const operand_type& o = heads.operand();
            auto [g_lanes, y_lanes, x_lanes] = o.lanes_of(row, token);
            if (x_lanes == nullptr) continue;
            g_lanes += heads.head() * o.grad_y.head_stride;
            y_lanes += heads.head() * o.y.head_stride;
            x_lanes += heads.head() * o.grad_x.head_stride;
            const auto g = unit_type::load(o.grad_y.format, g_lanes, number, pairs);
            const auto y = unit_type::load(o.y.format, y_lanes, number, pairs);
            unit_type::store(o.grad_x.format, rotated(turns, g), x_lanes, number, pairs);
            for (int n = 0; n < pairs_of_unit; ++n) {
                grad_angle[n] = plus_grad_angle(grad_angle[n], g.pair(n), y.pair(n));
                dot = plus_grad_factor(dot, g.pair(n), y.pair(n));
            }
            if (g_lanes == x_lanes || o.shape().head_dim == 2 * pairs) continue;
            copy_others<ByPieces>(o.grad_y, g_lanes, o.grad_x, x_lanes, o.first_lane, 2 * pairs, number,
                                  pairs / pairs_of_unit);
        }
        all.add(angles, place, pair, index_t{at.thread.x} * pairs_of_unit, grad_angle, position != nullptr);
        all.dot() += static_cast<double>(dot);
    }
};

/// Threads of a block that walks `length` tokens: whole warps, then tokens side by side, then heads.
inline index3 backward_threads(index_t length, index_t units, index_t heads) noexcept {
    const index_t x = std::min<index_t>(units, most_threads);
    index_t y = 1;
    const auto may_double = [&](index_t z) { return 2 * x * y * z <= most_threads && y < heads; };
    while (x * y < 32 && may_double(1)) y *= 2;
    const index_t z = std::clamp<index_t>(most_threads / (x * y), 1, std::min<index_t>(length, most_threads_z));
    while (may_double(z)) y *= 2;
    const auto narrow = [](index_t n) { return static_cast<std::uint32_t>(n); };
    return {narrow(x), narrow(y), narrow(z)};
}

/// Launches the backward pass of up to most_operands checked operands of one type: a kernel for each 256 units (one,
/// for any usual head), and the sums.
template <pairing Pairing, class Source, class T, class Format, kernel_launcher Launcher>
void launch_backward(const char* function, const Launcher& where, const Source& angles,
                     std::span<const backward_operand<T, Format>* const> operands, const device_gradients& grads,
                     bool has_basis_of_token) {
    const heads_shape& shape = operands[0]->shape();
    const index_t tokens = shape.batch * shape.tokens;
    with_pieces<Pairing>(operands, angles.pairs(), [&]<bool ByPieces>(std::bool_constant<ByPieces>, index_t heads) {
        using kernel_type = backward_kernel<backward_operand<T, Format>, Pairing, ByPieces, Source>;
        static_assert(device_kernel<kernel_type>);
        launch_with_sums(function, where, angles, tokens, has_basis_of_token, grads, {},
                         [&](const token_chunks& chunks, index_t only_basis) {
                             const index_t units = angles.pairs() / kernel_type::pairs_of_unit;
                             const index3 threads = backward_threads(chunks.length, units, heads);
                             kernel_type kernel{angles,
                                                shape.tokens,
                                                chunks,
                                                only_basis,
                                                0,
                                                grads.has_sums() ? grads.workspace : nullptr,
                                                grads.position,
                                                tokens,
                                                static_cast<int>(operands.size()),
                                                {}};
                             for (std::size_t i = 0; i < operands.size(); ++i) kernel.operands[i] = *operands[i];
                             const launch_size size{threads,
                                                    {static_cast<std::uint32_t>(chunks.count), 1, 1},
                                                    kernel_type::shared_bytes(threads, angle_detail::axes_of(angles))};
                             for (; kernel.first_unit < units; kernel.first_unit += threads.x)
                                 where.launch(function, kernel, size);
                         });
    });
}

}  // namespace cordage::backend
