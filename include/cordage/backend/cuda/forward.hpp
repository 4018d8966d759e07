// SPDX-License-Identifier: MIT
// The CUDA rotation of q and k as a plain function of a thread's place: forward, adjoint, inverse and rebase; serves
// stage rotation.
#pragma once

#include <algorithm>
#include <span>

#include "cordage/backend/cuda/angles.hpp"
#include "cordage/backend/cuda/block_view.hpp"
#include "cordage/backend/cuda/walk.hpp"
#include "cordage/tensors/operand.hpp"

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
    static constexpr int blocks_per_processor = 3;  // 80 registers

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
            turn_token(place, row, number, at);
            copy_token(row, place.token, number, at);
        }
    }

 private:
    // A head's pairs are under way while the angles are made, and the next one's while a head turns.
    CORDAGE_HOST_DEVICE void turn_token(const token_place& place, index_t row, index_t number,
                                        const block_view& at) const noexcept {
        head_walk heads(at, operands, operand_count);
        if (!heads.is_at_head()) return;
        const auto angle = angles.template fetch<unit_type::pairs>(place.row, place.token, number * unit_type::pairs);
        const auto fetched = [&] {
            const operand<T>& o = heads.operand();
            return unit_type::fetch(o.x.head(row, place.token, heads.head()) + o.first_lane, number, angles.pairs);
        };
        typename unit_type::stored x = fetched();
        const auto turn = angles.turn(angle);
        while (true) {
            const operand<T>& o = heads.operand();
            T* const y = o.y.head(row, place.token, heads.head()) + o.first_lane;
            const auto here = x;
            heads.go_on();
            if (heads.is_at_head()) x = fetched();
            unit_type::store(turned(turn, unit_type::read(here)), y, number, angles.pairs);
            if (!heads.is_at_head()) return;
        }
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

/// What a device takes at once of the rotation.
struct device_capacity {
    index_t processors;
    index_t blocks_per_processor;  // of most_threads

    index_t threads() const noexcept { return processors * blocks_per_processor * most_threads; }
};

/// Threads and blocks for tokens * units * heads units of work, each at least 1.
///
///   few (decode)   a unit a thread; the smallest blocks of whole warps, until there is one for every processor
///   more           as many threads as the device takes at once, each turning several heads of a token
///   most           of a few waves, one, whose blocks walk as many tokens each; else a block for its tokens, and the
///                  device balances
inline launch_size rotation_launch(index_t tokens, index_t units, index_t heads,
                                   const device_capacity& device) noexcept {
    constexpr index_t few_waves = 4;
    const index_t heads_of_thread = std::clamp<index_t>(
        rounded_up_quotient(tokens * units, std::max<index_t>(device.threads() / heads, 1)), 1, heads);
    const index_t x = std::min<index_t>(units, most_threads);
    index_t y = 1;
    while (x * y < 32 && y < heads) y *= 2;
    const index_t groups =
        std::min(rounded_up_quotient(rounded_up_quotient(heads, heads_of_thread), y), most_blocks_yz);
    const index_t unit_blocks = rounded_up_quotient(units, x);
    const auto blocks_of = [&](index_t tokens_of_block) {
        return rounded_up_quotient(tokens, tokens_of_block) * groups * unit_blocks;
    };
    index_t z = 1;
    while (2 * x * y * z <= most_threads && z < tokens && 2 * z <= most_threads_z &&
           blocks_of(2 * z) >= device.processors) {
        z *= 2;
    }
    const index_t waves = rounded_up_quotient(blocks_of(z) * x * y * z, device.threads());
    const index_t walk = waves <= few_waves ? waves : 1;
    const auto narrow = [](index_t n) { return static_cast<std::uint32_t>(n); };
    return {.threads = {narrow(x), narrow(y), narrow(z)},
            .blocks = {narrow(std::min(rounded_up_quotient(tokens, z * walk), most_blocks_x)), narrow(groups),
                       narrow(unit_blocks)}};
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
        where.launch(who, kernel,
                     rotation_launch(tokens, angles.pairs / kernel_type::unit_type::pairs, heads,
                                     {where.processors(who), kernel_type::blocks_per_processor}));
    };
    by_pieces ? launch(std::true_type{}) : launch(std::false_type{});
}

}  // namespace cordage::backend
