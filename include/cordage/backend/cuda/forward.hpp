// SPDX-License-Identifier: MIT
// The CUDA rotation of q and k as a function of a thread's indices: forward, adjoint, inverse and rebase; serves stage
// rotation.
#pragma once

#include <algorithm>
#include <span>

#include "cordage/backend/cuda/angles.hpp"
#include "cordage/backend/cuda/block_view.hpp"
#include "cordage/backend/cuda/thread_heads.hpp"
#include "cordage/tensors/operand.hpp"

namespace cordage::backend {

/// A thread rotates one unit of pairs of some heads of some tokens:
///
///   x -> unit (neighbouring threads read neighbouring memory; units past 256 in blocks.z)
///   y -> every (threads.y * blocks.y)-th head, counted over all operands
///   z -> every (threads.z * blocks.x)-th token
///
///   for each token:  cos, sin of the unit's pairs    once, in registers
///     for each head: (y0, y1) = (c x0 - s x1, s x0 + c x1), each rounded once on store
///
/// One phase, no shared memory. Offsets are 64 bits wide.
template <class Operand, pairing Pairing, class Direction, bool ByPieces, class Source>
struct rotation_kernel;
template <class X, class Y, class XFormat, class YFormat, pairing Pairing, class Direction, bool ByPieces, class Source>
struct rotation_kernel<operand<X, Y, XFormat, YFormat>, Pairing, Direction, ByPieces, Source> {
    using operand_type = operand<X, Y, XFormat, YFormat>;
    static constexpr int pairs_of_unit =
        std::max(pairs_in_pieces<X, Pairing, ByPieces>, pairs_in_pieces<Y, Pairing, ByPieces>);
    using in = unit<X, XFormat, Pairing, ByPieces, pairs_of_unit>;
    using out = unit<Y, YFormat, Pairing, ByPieces, pairs_of_unit>;
    // At most 80 registers; 128 if two units of x, which is wider than y then, take 32 of them.
    static constexpr int blocks_per_processor = sizeof(typename in::stored) > 2 * sizeof(piece) ? 2 : 3;

    Source angles;
    index_t rows;
    index_t tokens;  // of a row
    int operand_count;
    operand_type operands[most_operands];

    CORDAGE_HOST_DEVICE index_t phases(const block_view&) const noexcept { return 1; }
    CORDAGE_HOST_DEVICE void run(index_t, const block_view& at) const noexcept {
        const index_t number = index_t{at.block.z} * at.threads.x + at.thread.x;
        if (number >= angles.pairs() / pairs_of_unit) return;
        const index_t step = index_t{at.blocks.x} * at.threads.z;
        for (index_t i = index_t{at.block.x} * at.threads.z + at.thread.z; i < rows * tokens; i += step) {
            const token_place place = place_of(i, tokens);
            rotate_token(place, number, at);
            copy_token(place, number, at);
        }
    }

 private:
    // A head of a token: its first rotated lanes; null for a token without a slot.
    CORDAGE_HOST_DEVICE static typename operand_type::token_lanes lanes_of(const thread_heads<operand_type>& heads,
                                                                           const token_place& place) noexcept {
        const operand_type& o = heads.operand();
        const auto lanes = o.lanes_of(place.row, place.token);
        if (lanes.x == nullptr) return lanes;
        return {lanes.x + heads.head() * o.x.head_stride, lanes.y + heads.head() * o.y.head_stride};
    }

    // Loads of a head's pairs are issued before its angles are computed, and those of the next head before its
    // rotation.
    CORDAGE_HOST_DEVICE void rotate_token(const token_place& place, index_t number,
                                          const block_view& at) const noexcept {
        thread_heads heads(at, operands, operand_count);
        if (!heads.is_at_head()) return;
        const auto fetched = [&](const auto& lanes) {
            return lanes.x == nullptr ? typename in::stored{} : in::fetch(lanes.x, number, angles.pairs());
        };
        const auto rotated_lanes = [&] {  // 0 for an unrotated operand
            const auto lanes = lanes_of(heads, place);
            return heads.operand().is_rotated() ? lanes : typename operand_type::token_lanes{nullptr, nullptr};
        };
        auto next_lanes = rotated_lanes();
        typename in::stored next = fetched(next_lanes);
        const auto of_pairs =
            angles_of<Direction, pairs_of_unit>(angles, place.row, place.token, number * pairs_of_unit);
        while (true) {
            const operand_type& o = heads.operand();
            const auto lanes = next_lanes;
            const auto x = next;
            heads.go_on();
            if (heads.is_at_head()) {
                next_lanes = rotated_lanes();
                next = fetched(next_lanes);
            }
            if (lanes.x != nullptr) {
                out::store(o.y.format, rotated(of_pairs, in::read(o.x.format, x)), lanes.y, number, angles.pairs());
            }
            if (!heads.is_at_head()) return;
        }
    }

    // The lanes that are not rotated, after the rotated ones, when cos and sin no longer occupy registers.
    CORDAGE_HOST_DEVICE void copy_token(const token_place& place, index_t number, const block_view& at) const noexcept {
        for (thread_heads heads(at, operands, operand_count); heads.is_at_head(); heads.go_on()) {
            const operand_type& o = heads.operand();
            const index_t rotary_dim = o.is_rotated() ? 2 * angles.pairs() : 0;
            if (o.x.shape.head_dim == rotary_dim) continue;
            const auto lanes = lanes_of(heads, place);
            if (lanes.x == nullptr) continue;
            const bool is_one = static_cast<const void*>(lanes.x) == static_cast<const void*>(lanes.y);
            if (std::same_as<X, Y> && is_one && is_same_format(o.x.format, o.y.format)) continue;
            copy_others<ByPieces>(o.x, lanes.x, o.y, lanes.y, o.first_lane, rotary_dim, number,
                                  angles.pairs() / pairs_of_unit);
        }
    }
};

/// Number of threads that a device runs at once.
struct device_capacity {
    index_t processors;
    index_t blocks_per_processor;  // of most_threads

    index_t threads() const noexcept { return processors * blocks_per_processor * most_threads; }
};

/// Threads and blocks for tokens * units * heads units of work, each at least 1.
///
///   few tokens (decode)  one unit for each thread; the smallest blocks of whole warps, until every processor has one
///   more                 as many threads as the device runs at once, each rotating several heads of a token
///   many                 if a few waves: one wave, whose blocks process equally many tokens; else a block for its
///                        tokens, balanced by the device
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
    const index_t rounds = waves <= few_waves ? waves : 1;
    const auto narrow = [](index_t n) { return static_cast<std::uint32_t>(n); };
    return {.threads = {narrow(x), narrow(y), narrow(z)},
            .blocks = {narrow(std::min(rounded_up_quotient(tokens, z * rounds), most_blocks_x)), narrow(groups),
                       narrow(unit_blocks)}};
}

/// Launches the rotation of up to most_operands checked operands of one type.
template <pairing Pairing, class Direction, class Source, class Operand, kernel_launcher Launcher>
void launch_rotation(const char* function, const Launcher& where, const Source& angles,
                     std::span<const Operand* const> operands) {
    const heads_shape& shape = operands[0]->shape();
    const index_t tokens = shape.batch * shape.tokens;
    if (tokens == 0) return;
    with_pieces<Pairing>(operands, angles.pairs(), [&]<bool ByPieces>(std::bool_constant<ByPieces>, index_t heads) {
        using kernel_type = rotation_kernel<Operand, Pairing, Direction, ByPieces, Source>;
        static_assert(device_kernel<kernel_type>);
        kernel_type kernel{angles, shape.batch, shape.tokens, static_cast<int>(operands.size()), {}};
        for (std::size_t i = 0; i < operands.size(); ++i) kernel.operands[i] = *operands[i];
        where.launch(function, kernel,
                     rotation_launch(tokens, angles.pairs() / kernel_type::pairs_of_unit, heads,
                                     {where.processors(function), kernel_type::blocks_per_processor}));
    });
}

}  // namespace cordage::backend
