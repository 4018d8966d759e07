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

    /// Shared memory, where sums over tokens leave registers to others: the pairs of a lane's threads for each lane
    /// (y, z), then for each thread its sum grad_y . y and its dL/dposition of each axis.
    static index_t shared_bytes(index_t threads, index_t axes) noexcept {
        return threads * (pairs_of_unit + 1 + axes) * static_cast<index_t>(sizeof(double));
    }

    CORDAGE_HOST_DEVICE index_t phases(const block_view& at) const noexcept { return 2 * rounds(at) + 1; }

    CORDAGE_HOST_DEVICE void run(index_t phase, const block_view& at) const noexcept {
        const index_t round = phase / 2, last = rounds(at) - 1;
        if (phase % 2 == 0 && round <= last) {
            if (round == 0) begin_sums(at);
            for (index_t axis = 0; axis < angle_detail::axes_of(angles); ++axis) my_position(at, axis) = 0.0;
            const index_t number = first_unit + at.thread.x;
            if (number >= angles.pairs() / pairs_of_unit) return;
            const index_t end = position == nullptr ? steps(at) : round + 1;
            for (index_t step = position == nullptr ? 0 : round; step < end; ++step) {
                const index_t i = token_of(step, at);
                if (i < chunks.end(at.block.x)) backward_of_token(i, number, at);
            }
        } else if (round <= last) {
            if (position != nullptr) add_positions(round, at);
            if (round == last && sums != nullptr) add_pairs(at);
        } else if (sums != nullptr && at.thread_number() == 0) {
            add_dots(at);
        }
    }

 private:
    CORDAGE_HOST_DEVICE index_t steps(const block_view& at) const noexcept {
        const index_t length = chunks.end(at.block.x) - chunks.begin(at.block.x);
        return (length + at.threads.z - 1) / at.threads.z;
    }
    CORDAGE_HOST_DEVICE index_t rounds(const block_view& at) const noexcept {
        return position == nullptr ? 1 : steps(at);
    }
    CORDAGE_HOST_DEVICE index_t token_of(index_t step, const block_view& at) const noexcept {
        return chunks.begin(at.block.x) + step * at.threads.z + at.thread.z;
    }
    CORDAGE_HOST_DEVICE index_t row_of_pairs(const block_view& at) const noexcept {
        return index_t{at.threads.x} * pairs_of_unit;
    }
    CORDAGE_HOST_DEVICE static index_t lanes(const block_view& at) noexcept {
        return index_t{at.threads.y} * at.threads.z;
    }
    CORDAGE_HOST_DEVICE double* by_lane(const block_view& at, index_t lane) const noexcept {
        return static_cast<double*>(at.shared) + lane * row_of_pairs(at);
    }
    // Of every thread its sum grad_y . y, then its dL/dposition of axis 0, of axis 1, ...
    CORDAGE_HOST_DEVICE double* dots(const block_view& at) const noexcept { return by_lane(at, lanes(at)); }
    CORDAGE_HOST_DEVICE double* positions(const block_view& at, index_t axis) const noexcept {
        return dots(at) + (1 + axis) * at.thread_count();
    }
    CORDAGE_HOST_DEVICE double& my_position(const block_view& at, index_t axis) const noexcept {
        return positions(at, axis)[at.thread_number()];
    }

    // This thread's sums of its pairs.
    CORDAGE_HOST_DEVICE double* my_pairs(const block_view& at) const noexcept {
        return by_lane(at, index_t{at.thread.z} * at.threads.y + at.thread.y) + at.thread.x * pairs_of_unit;
    }
    CORDAGE_HOST_DEVICE void begin_sums(const block_view& at) const noexcept {
        for (int n = 0; n < pairs_of_unit; ++n) my_pairs(at)[n] = 0.0;
        dots(at)[at.thread_number()] = 0.0;
    }

    // grad_x of this thread's heads, and what they add to its sums.
    CORDAGE_HOST_DEVICE void backward_of_token(index_t i, index_t number, const block_view& at) const noexcept {
        const token_place place = place_of(i, tokens);
        const index_t row = place.row, token = place.token, pair = number * pairs_of_unit, all = angles.pairs();
        const index_t basis = angle_detail::basis_of(angles, row, token);
        if (only_basis >= 0 && basis != only_basis) return;
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
            const auto g = unit_type::load(o.grad_y.format, g_lanes, number, all);
            const auto y = unit_type::load(o.y.format, y_lanes, number, all);
            unit_type::store(o.grad_x.format, rotated(turns, g), x_lanes, number, all);
            for (int n = 0; n < pairs_of_unit; ++n) {
                grad_angle[n] = plus_grad_angle(grad_angle[n], g.pair(n), y.pair(n));
                dot = plus_grad_factor(dot, g.pair(n), y.pair(n));
            }
            if (g_lanes == x_lanes || o.shape().head_dim == 2 * all) continue;
            copy_others<ByPieces>(o.grad_y, g_lanes, o.grad_x, x_lanes, o.first_lane, 2 * all, number,
                                  all / pairs_of_unit);
        }
        double at_position[pairs_of_unit];  // read once where neighbours share an axis
        for (int n = 0; n < pairs_of_unit; ++n) {
            const bool is_new =
                n == 0 || angle_detail::axis_of(angles, pair + n) != angle_detail::axis_of(angles, pair + n - 1);
            at_position[n] =
                is_new ? angles.position(row, token, angle_detail::axis_of(angles, pair + n)) : at_position[n - 1];
        }
        for (int n = 0; n < pairs_of_unit; ++n) my_pairs(at)[n] += at_position[n] * static_cast<double>(grad_angle[n]);
        for (int n = 0; position != nullptr && n < pairs_of_unit; ++n) {
            const index_t axis = angle_detail::axis_of(angles, pair + n);
            my_position(at, axis) += angles.inv_freq(basis)[pair + n] * static_cast<double>(grad_angle[n]);
        }
        dots(at)[at.thread_number()] += static_cast<double>(dot);
    }

    // An axis of a token for each thread of the token.
    CORDAGE_HOST_DEVICE void add_positions(index_t round, const block_view& at) const noexcept {
        const index_t i = token_of(round, at), threads = index_t{at.threads.x} * at.threads.y;
        if (i >= chunks.end(at.block.x)) return;
        for (index_t axis = at.thread_number() % threads; axis < angle_detail::axes_of(angles); axis += threads) {
            const double* of_token = positions(at, axis) + at.thread.z * threads;
            double sum = 0.0;
            for (index_t n = 0; n < threads; ++n) sum += of_token[n];
            position[axis * axis_stride + i] += sum;
        }
    }

    // The block's row of sums, a pair a thread; dots over y and z, left at the first lane.
    CORDAGE_HOST_DEVICE void add_pairs(const block_view& at) const noexcept {
        double* row = sums + index_t{at.block.x} * (angles.pairs() + 1) + first_unit * pairs_of_unit;
        const index_t left = angles.pairs() - first_unit * pairs_of_unit;
        for (index_t pair = at.thread_number(); pair < row_of_pairs(at) && pair < left; pair += at.thread_count()) {
            double sum = 0.0;
            for (index_t lane = 0; lane < lanes(at); ++lane) sum += by_lane(at, lane)[pair];
            row[pair] = sum;
        }
        if (at.thread.y != 0 || at.thread.z != 0) return;
        double* of_unit = dots(at) + at.thread.x;
        for (index_t lane = 1; lane < lanes(at); ++lane) of_unit[0] += of_unit[lane * at.threads.x];
    }

    CORDAGE_HOST_DEVICE void add_dots(const block_view& at) const noexcept {
        double sum = 0.0;
        for (index_t x = 0; x < at.threads.x; ++x) sum += dots(at)[x];
        double& dot = sums[index_t{at.block.x} * (angles.pairs() + 1) + angles.pairs()];
        dot = first_unit == 0 ? sum : dot + sum;
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

/// Where a backward pass on a device adds its gradients, and the memory it may use. Null where not wanted.
struct device_gradients {
    double* inv_freq;          // [bases, pairs]
    double* position;          // [axes, batch, tokens]
    double* attention_factor;  // [bases]
    double* workspace;         // [chunks.count, pairs + 1]
};

/// Launches the backward pass of up to most_operands checked operands of one type: a kernel for each 256 units (one,
/// for any usual head), and one that adds up what the blocks leave; where each token names its basis, so for each
/// basis, whose tokens alone a launch looks at.
///
/// @param attention_factors  of the bases, [bases], on the device
template <pairing Pairing, class Source, class Operand, kernel_launcher Launcher>
void launch_backward(const char* function, const Launcher& where, const Source& angles,
                     std::span<const Operand* const> operands, const device_gradients& grads,
                     const double* attention_factors, bool has_basis_of_token) {
    const heads_shape& shape = operands[0]->shape();
    const index_t bases = angle_detail::bases_of(angles), pairs = angles.pairs();
    const bool by_token = has_basis_of_token && bases > 1;
    const token_chunks chunks = device_chunks(shape.batch * shape.tokens, by_token ? 1 : bases);
    if (chunks.count == 0) return;
    const bool has_sums = grads.inv_freq != nullptr || grads.attention_factor != nullptr;
    const auto launch = [&]<bool ByPieces>(std::bool_constant<ByPieces>, index_t heads, index_t only_basis) {
        using kernel_type = backward_kernel<Operand, Pairing, ByPieces, Source>;
        static_assert(device_kernel<kernel_type>);
        const index_t units = pairs / kernel_type::pairs_of_unit;
        const index3 threads = backward_threads(chunks.length, units, heads);
        kernel_type kernel{angles,
                           shape.tokens,
                           chunks,
                           only_basis,
                           0,
                           has_sums ? grads.workspace : nullptr,
                           grads.position,
                           shape.batch * shape.tokens,
                           static_cast<int>(operands.size()),
                           {}};
        for (std::size_t i = 0; i < operands.size(); ++i) kernel.operands[i] = *operands[i];
        for (; kernel.first_unit < units; kernel.first_unit += threads.x) {
            where.launch(function, kernel,
                         launch_size{threads,
                                     {static_cast<std::uint32_t>(chunks.count), 1, 1},
                                     kernel_type::shared_bytes(index_t{threads.x} * threads.y * threads.z,
                                                               angle_detail::axes_of(angles))});
        }
    };
    with_pieces<Pairing>(operands, pairs, [&](auto by_pieces, index_t heads) {
        for (index_t b = 0; b < (by_token ? bases : 1); ++b) {
            launch(by_pieces, heads, by_token ? b : -1);
            if (!has_sums) continue;
            const gradient_sums_kernel add{attention_factors + b,
                                           pairs,
                                           by_token ? 1 : bases,
                                           chunks,
                                           grads.workspace,
                                           grads.inv_freq == nullptr ? nullptr : grads.inv_freq + b * pairs,
                                           grads.attention_factor == nullptr ? nullptr : grads.attention_factor + b};
            where.launch(function, add, gradient_sums_launch(pairs, add.bases));
        }
    });
}

}  // namespace cordage::backend
