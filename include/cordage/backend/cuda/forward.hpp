// SPDX-License-Identifier: MIT
// The CUDA rotation of q and k as a plain function of a thread's place: forward, adjoint, inverse and rebase; serves
// stage rotation.
#pragma once

#include <algorithm>
#include <span>

#include "cordage/backend/cuda/angles.hpp"
#include "cordage/backend/cuda/block_view.hpp"
#include "cordage/backend/cuda/walk.hpp"
#include "cordage/core/operand.hpp"

namespace cordage::backend {

/// A thread turns one unit of pairs of some heads of some tokens:
///
///   x -> unit (neighbouring threads, neighbouring memory; past 256 in blocks.z)
///   y -> every (threads.y * blocks.y)-th head, counted through all operands
///   z -> every (threads.z * blocks.x)-th token
///
///   for each token:  cos, sin of the unit's pairs    once, in registers
///     for each head: (y0, y1) = (c x0 - s x1, s x0 + c x1), each rounded once on store
///
/// One phase, no shared memory. Offsets are 64 bits wide.
template <device_element T, pairing Pairing, bool ByPieces, class Angles>
struct rotation_kernel {
    using unit_type = unit<T, Pairing, ByPieces>;
    struct thread_state {};
    static constexpr int blocks_per_processor = Angles::rotation_blocks;

    Angles angles;
    index_t rows;
    index_t tokens;                   // of a row
    const std::int32_t* block_table;  // null, or the operands' row for each row of the angles
    index_t cache_blocks;             // rows of the operands
    int operand_count;
    operand<T> operands[most_operands];

    CORDAGE_HOST_DEVICE index_t phases(const block_view&) const noexcept { return 1; }
    CORDAGE_HOST_DEVICE void run(index_t, const block_view& at, thread_state&) const noexcept {
        const index_t number = index_t{at.block.z} * at.threads.x + at.thread.x;
        if (number >= angles.pairs / unit_type::pairs) return;
        const index_t step = index_t{at.blocks.x} * at.threads.z;
        for (index_t i = index_t{at.block.x} * at.threads.z + at.thread.z; i < rows * tokens; i += step) {
            const token_place place = place_of(i, tokens);
            const index_t row = block_table == nullptr ? place.row : block_table[place.row];
            if (row < 0 || row >= cache_blocks) continue;
            turn_token(angles.template turn<unit_type::pairs>(place.row, place.token, number * unit_type::pairs), row,
                       place.token, number, at);
            copy_token(row, place.token, number, at);
        }
    }

 private:
    CORDAGE_HOST_DEVICE void turn_token(const pair_values<unit_type::pairs>& turn, index_t row, index_t token,
                                        index_t number, const block_view& at) const noexcept {
        for_each_head(at, operands, operand_count, [&](const operand<T>& o, index_t head) {
            const auto v = unit_type::load(o.x.head(row, token, head) + o.first_lane, number, angles.pairs);
            unit_type::store(turned(turn, v), o.y.head(row, token, head) + o.first_lane, number, angles.pairs);
        });
    }

    // The lanes that do not turn, after those that do, when cos and sin need no registers any more.
    CORDAGE_HOST_DEVICE void copy_token(index_t row, index_t token, index_t number,
                                        const block_view& at) const noexcept {
        for_each_head(at, operands, operand_count, [&](const operand<T>& o, index_t head) {
            if (o.x.data == o.y.data) return;
            unit_type::copy_others(o.x.head(row, token, head), o.y.head(row, token, head), o.x.shape.head_dim,
                                   o.first_lane, 2 * angles.pairs, number, angles.pairs / unit_type::pairs);
        });
    }
};

/// Threads that fill any GPU of today: with so many, a thread may turn several heads.
inline constexpr index_t enough_threads = index_t{1} << 18;

/// Threads and blocks for tokens * units * heads units of work, each at least 1: whole warps; then heads side by side
/// until there are enough threads; then tokens side by side in what a block has left.
inline launch_size rotation_launch(index_t tokens, index_t units, index_t heads) noexcept {
    const index_t x = std::min<index_t>(units, most_threads);
    index_t y = 1;
    const auto may_double = [&] { return 2 * x * y <= most_threads && y < heads; };
    while (x * y < 32 && may_double()) y *= 2;
    const auto has_enough = [&](index_t beside) { return tokens * beside >= enough_threads / units; };
    while (!has_enough(y) && may_double()) y *= 2;
    const index_t z = std::clamp<index_t>(most_threads / (x * y), 1, std::min<index_t>(tokens, most_threads_z));
    const index_t groups = has_enough(y) ? 1 : std::min(rounded_up_quotient(heads, y), most_blocks_yz);
    const auto narrow = [](index_t n) { return static_cast<std::uint32_t>(n); };
    return {.threads = {narrow(x), narrow(y), narrow(z)},
            .blocks = {narrow(std::min(rounded_up_quotient(tokens, z), most_blocks_x)), narrow(groups),
                       narrow(rounded_up_quotient(units, x))}};
}

/// Which rows of the operands a launch turns: all, or those of a block table on the device.
struct turned_rows {
    index_t count;
    const std::int32_t* block_table = nullptr;
};

/// Launches the rotation of up to most_operands checked operands.
template <pairing Pairing, device_element T, class Angles, kernel_launcher Launcher>
void launch_rotation(const char* who, const Launcher& where, const Angles& angles, std::span<const operand<T>> operands,
                     const turned_rows& rows) {
    const heads_shape& shape = operands[0].x.shape;
    index_t heads = 0;
    bool by_pieces = true;
    for (const operand<T>& o : operands) {
        heads += o.x.shape.heads;
        by_pieces = by_pieces && fits_pieces(o.x) && fits_pieces(o.y) &&
                    lanes_fit_pieces<T, Pairing>(o.first_lane, angles.pairs);
    }
    const index_t tokens = rows.count * shape.tokens;
    if (tokens == 0 || heads == 0) return;
    const auto launch = [&]<bool ByPieces>(std::bool_constant<ByPieces>) {
        using kernel_type = rotation_kernel<T, Pairing, ByPieces, Angles>;
        static_assert(device_kernel<kernel_type>);
        kernel_type kernel{
            angles, rows.count, shape.tokens, rows.block_table, shape.batch, static_cast<int>(operands.size()), {}};
        std::copy(operands.begin(), operands.end(), kernel.operands);
        where.launch(who, kernel, rotation_launch(tokens, angles.pairs / kernel_type::unit_type::pairs, heads));
    };
    by_pieces ? launch(std::true_type{}) : launch(std::false_type{});
}

}  // namespace cordage::backend
