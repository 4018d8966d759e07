// SPDX-License-Identifier: MIT
// The CUDA backward pass as functions of a thread's indices: grad_x and all other gradients in one pass; serves stage
// rotation.
#pragma once

#include <algorithm>
#include <span>

#include "cordage/backend/cuda/angles.hpp"
#include "cordage/backend/cuda/gradient_sums.hpp"
#include "cordage/backend/cuda/thread_heads.hpp"

namespace cordage::backend {

/// One pass over grad_y and y, for units [first_unit, first_unit + threads.x):
///
///   block -> a chunk of tokens of one basis
///   x -> unit      y -> every threads.y-th head of all operands      z -> every threads.z-th token of the chunk
///
///   phase 2r      r-th step: grad_x; dL/dangle summed over a thread's heads in floats, over its tokens in double
///   phase 2r + 1  dL/dposition and dL/dangle of the step's tokens, added up over the block's threads; after the last
///                 step the block's dL/dinv_freq and its sum grad_y . y, a row of `sums`
///   last phase    adds up grad_y . y over the units
///
/// Without dL/dposition and dL/dangle all tokens are one step. Every sum has a fixed order.
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
    index_t only_basis;  // process the tokens of this basis only; -1: all
    index_t first_unit;
    double* sums;         // [chunks.count, sums_of_chunk], or null
    double* position;     // [axes, rows, tokens], added to, or null
    double* angle;        // [rows, tokens, pairs], added to, or null
    index_t axis_stride;  // rows * tokens
    int operand_count;
    operand_type operands[most_operands];

    /// @param shape  all fields except pairs, which follows from the threads
    static index_t shared_bytes(const index3& threads, sums_shape shape, bool has_angles) noexcept {
        shape.pairs = static_cast<std::int32_t>(threads.x) * pairs_of_unit;
        const index_t floats = has_angles ? index_t{threads.y} * threads.z * shape.pairs : 0;
        return block_sums::count(threads, shape) * index_t{sizeof(double)} + floats * index_t{sizeof(float)};
    }
    /// Maximum number of threads whose sums fit into the shared memory of a block.
    static index_t most_threads_of_block(const sums_shape& shape, bool has_angles) noexcept {
        std::uint32_t most = most_threads;
        while (shared_bytes({most, 1, 1}, shape, has_angles) > most_shared_bytes) most /= 2;
        return most;
    }

    CORDAGE_HOST_DEVICE index_t phases(const block_view& at) const noexcept { return 2 * rounds(at) + 1; }

    CORDAGE_HOST_DEVICE void run(index_t phase, const block_view& at) const noexcept {
        const index_t round = phase / 2, last = rounds(at) - 1;
        const block_sums all(at, sums_shape::of(angles, row_of_pairs(at)));
        if (phase % 2 == 0 && round <= last) {
            begin_sums(round == 0, all, at);
            const index_t number = first_unit + at.thread.x;
            if (number >= angles.pairs() / pairs_of_unit) return;
            const index_t end = is_by_step() ? round + 1 : steps_of(chunks, at);
            for (index_t step = is_by_step() ? round : 0; step < end; ++step) {
                const index_t i = token_of(chunks, step, at);
                if (i < chunks.end(at.block.x)) backward_of_token(i, number, all, at);
            }
        } else if (round <= last) {
            const index_t first = first_unit * pairs_of_unit, left = angles.pairs() - first;
            const index_t count = left < row_of_pairs(at) ? left : row_of_pairs(at);
            if (const index_t i = token_of(chunks, round, at); is_by_step() && i < chunks.end(at.block.x)) {
                if (position != nullptr) all.add_positions(position + i, axis_stride);
                if (angle != nullptr) all.add_angles(angle + i * angles.pairs() + first, count);
            }
            if (round == last && sums != nullptr) all.add_lanes(row(at) + first, count, angles.pairs());
        } else if (sums != nullptr && at.thread_number() == 0) {
            double& dot = row(at)[sums_of_chunk(angles) - 1];
            dot = first_unit == 0 ? all.sum_of_dots() : dot + all.sum_of_dots();
        }
    }

 private:
    CORDAGE_HOST_DEVICE bool is_by_step() const noexcept { return position != nullptr || angle != nullptr; }
    CORDAGE_HOST_DEVICE index_t rounds(const block_view& at) const noexcept {
        return is_by_step() ? steps_of(chunks, at) : 1;
    }
    CORDAGE_HOST_DEVICE static index_t row_of_pairs(const block_view& at) noexcept {
        return index_t{at.threads.x} * pairs_of_unit;
    }
    CORDAGE_HOST_DEVICE double* row(const block_view& at) const noexcept {
        return sums + index_t{at.block.x} * sums_of_chunk(angles);
    }
    // Sums of the block are cleared once, those of a token at each step.
    CORDAGE_HOST_DEVICE void begin_sums(bool is_first, const block_sums& all, const block_view& at) const noexcept {
        const index_t first = index_t{at.thread.x} * pairs_of_unit;
        for (index_t basis = 0; is_first && basis < angle_detail::bases_of_token(angles); ++basis) {
            for (int n = 0; n < pairs_of_unit; ++n) all.pairs(basis)[first + n] = 0.0;
        }
        if (is_first) all.dot() = 0.0;
        for (index_t axis = 0; axis < angle_detail::axes_of(angles); ++axis) all.position(axis) = 0.0;
        for (int n = 0; angle != nullptr && n < pairs_of_unit; ++n) all.angles()[first + n] = 0.0f;
    }

    // grad_x of this thread's heads, and their contribution to its sums.
    CORDAGE_HOST_DEVICE void backward_of_token(index_t i, index_t number, const block_sums& all,
                                               const block_view& at) const noexcept {
        const token_place place = place_of(i, tokens);
        const index_t row = place.row, token = place.token, pair = number * pairs_of_unit, pairs = angles.pairs();
        if (only_basis >= 0 && angle_detail::basis_of(angles, row, token) != only_basis) return;
        const auto of_pairs = angles_of<adjoint, pairs_of_unit>(angles, row, token, pair);
        float grad_angle[pairs_of_unit] = {};
        float dot = 0.0f;
        for (thread_heads heads(at, operands, operand_count); heads.is_at_head(); heads.go_on()) {
            const operand_type& o = heads.operand();
            auto [g_lanes, y_lanes, x_lanes] = o.lanes_of(row, token);
            if (x_lanes == nullptr) continue;
            g_lanes += heads.head() * o.grad_y.head_stride;
            y_lanes += heads.head() * o.y.head_stride;
            x_lanes += heads.head() * o.grad_x.head_stride;
            const auto g = unit_type::load(o.grad_y.format, g_lanes, number, pairs);
            const auto y = unit_type::load(o.y.format, y_lanes, number, pairs);
            unit_type::store(o.grad_x.format, rotated(of_pairs, g), x_lanes, number, pairs);
            for (int n = 0; n < pairs_of_unit; ++n) {
                grad_angle[n] = plus_grad_angle(grad_angle[n], g.pair(n), y.pair(n));
                dot = plus_grad_factor(dot, g.pair(n), y.pair(n));
            }
            if (g_lanes == x_lanes || o.shape().head_dim == 2 * pairs) continue;
            copy_others<ByPieces>(o.grad_y, g_lanes, o.grad_x, x_lanes, o.first_lane, 2 * pairs, number,
                                  pairs / pairs_of_unit);
        }
        const index_t first = index_t{at.thread.x} * pairs_of_unit;
        all.dot() += static_cast<double>(dot);  // first, so that its register is free (sm_80)
        all.add(angles, place, pair, first, grad_angle, position != nullptr);
        for (int n = 0; angle != nullptr && n < pairs_of_unit; ++n) all.angles()[first + n] = grad_angle[n];
    }
};

/// Threads of a block for a chunk of `length` tokens: x fills whole warps, then z takes tokens, then y takes heads.
inline index3 backward_threads(index_t length, index_t units, index_t heads, index_t most = most_threads) noexcept {
    const index_t x = std::min(units, most);
    index_t y = 1;
    const auto may_double = [&](index_t z) { return 2 * x * y * z <= most && y < heads; };
    while (x * y < 32 && may_double(1)) y *= 2;
    const index_t z = std::clamp<index_t>(most / (x * y), 1, std::min<index_t>(length, most_threads_z));
    while (may_double(z)) y *= 2;
    const auto narrow = [](index_t n) { return static_cast<std::uint32_t>(n); };
    return {narrow(x), narrow(y), narrow(z)};
}

/// Launches the backward pass of up to most_operands checked operands of one type: a kernel for every 256 units (one
/// for usual heads), and the kernel that adds up the sums.
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
                             kernel_type kernel{angles,
                                                shape.tokens,
                                                chunks,
                                                only_basis,
                                                0,
                                                grads.has_sums() ? grads.workspace : nullptr,
                                                grads.position,
                                                grads.angle,
                                                tokens,
                                                static_cast<int>(operands.size()),
                                                {}};
                             for (std::size_t i = 0; i < operands.size(); ++i) kernel.operands[i] = *operands[i];
                             const sums_shape sums = sums_shape::of(angles, 0);
                             const bool has_angles = grads.angle != nullptr;
                             const index3 threads = backward_threads(
                                 chunks.length, units, heads, kernel_type::most_threads_of_block(sums, has_angles));
                             const launch_size size{threads,
                                                    {static_cast<std::uint32_t>(chunks.count), 1, 1},
                                                    kernel_type::shared_bytes(threads, sums, has_angles)};
                             for (; kernel.first_unit < units; kernel.first_unit += threads.x)
                                 where.launch(function, kernel, size);
                         });
    });
}

}  // namespace cordage::backend
