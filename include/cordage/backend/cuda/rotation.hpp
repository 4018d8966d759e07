// SPDX-License-Identifier: MIT
// The launch of the CUDA rotation of heads of one type that are only rotated: no slots, no lanes to copy; serves stage
// rotation.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>

#include "cordage/backend/cuda/angles.hpp"
#include "cordage/backend/cuda/launch.hpp"
#include "cordage/core/pairing.hpp"
#include "cordage/tensors/operand.hpp"

namespace cordage::backend {

/// The rotated lanes of a tensor's heads.
template <class T>
struct rotated_heads {
    head_grid<const T> x;
    head_grid<T> y;
};

/// A team of pairs / N threads rotates a head:
///
///   x -> N pairs      y -> every (threads.y * blocks.y)-th head, counted over all operands
///   z -> a token; blocks.x -> threads.z tokens each; blocks.z -> every blocks.z-th row
///
///   cos, sin of the N pairs in registers, then head by head, with the loads of the next `ahead` heads in flight
///
/// No shared memory, no barrier, no division. Offsets are 64 bits wide.
template <class T, int N, pairing Pairing, class Angles>
struct rotation_kernel {
    static constexpr int ahead = N == 4 ? 2 : 1;
    static constexpr int block_threads = 256, wanted_threads = 640, heads_of_thread = 4;
    static constexpr bool has_whole_warps = false;
    // As many as leave the registers that a thread needs: a table takes more, and so does fp16.
    static constexpr int blocks_per_processor = has_cos_sin<Angles> || N == 2 || sizeof(T) == 4 ? 3
                                                : std::same_as<T, bfloat16>                     ? 5
                                                                                                : 4;

    Angles angles;
    direction_data direction;
    std::int32_t rows, tokens;  // tokens of a row
    std::int32_t pairs;
    head_count heads;
    rotated_heads<T> operands[most_operands];
};

/// Heads for each processor up to which blocks are small and threads have two pairs, so that every processor has one;
/// and up to which threads have four.
inline constexpr index_t few_heads = 16, several_heads = 90;

/// Threads and blocks of the kernels whose teams rotate heads. A thread has one or more heads of a token, for which it
/// computes cos and sin once: more where every processor has Kernel::wanted_threads all the same. With
/// Kernel::has_whole_warps, whose warps take every step together, y is a power of two, at a multiple of which the heads
/// of each operand begin.
///
/// @param of_operands  heads of a token of each
/// @param members      threads of a team
/// @param count        counts them
template <class Kernel>
launch_size heads_launch(index_t rows, index_t tokens, std::span<const index_t> of_operands, index_t members,
                         index_t processors, head_count& count) noexcept {
    const index_t heads = std::accumulate(of_operands.begin(), of_operands.end(), index_t{0});
    constexpr index_t most = Kernel::block_threads;
    const index_t all = saturated_product(rows, saturated_product(tokens, heads));
    const index_t wanted = Kernel::wanted_threads * processors;
    index_t y = std::min<index_t>(all <= few_heads * processors ? 4 : 8, most / members), z = 1;
    while (y > heads) y /= 2;
    const auto threads = [&] { return saturated_product(rows * members * y, tokens); };
    while (y > 1 && y * Kernel::heads_of_thread > heads && threads() / 2 >= wanted) y /= 2;
    for (std::size_t i = 0; i < of_operands.size(); ++i) count.add(i, of_operands[i], Kernel::has_whole_warps ? y : 1);
    const index_t rounds = rounded_up_quotient(index_t{count.all}, y);
    const index_t apart = std::min({rounded_up_quotient(wanted, threads()), rounds, most_blocks_yz});
    if (const index_t half = rounded_up_quotient(heads, 2), size = members * half;
        !Kernel::has_whole_warps && apart == 1 && size >= 128 && size <= std::min<index_t>(192, most)) {
        return {sizes(members, half),
                sizes(tokens, 1, std::min(rows, most_blocks_yz))};  // a token: memory in one piece
    }
    while (apart == 1 && 2 * members * y * z <= most && z < tokens && 2 * z <= most_threads_z) z *= 2;
    return {sizes(members, y, z), sizes(rounded_up_quotient(tokens, z), apart, std::min(rows, most_blocks_yz))};
}

/// Pairs of a thread: 2 where heads are few, 4 where they are some, and where they are many at most 16 bytes of a run.
template <class T, pairing Pairing>
inline constexpr int many_pairs = (std::same_as<Pairing, half_split> ? 16 : 8) / static_cast<int>(sizeof(T));

/// Whether an operand's heads are those of rotation_kernel, and begin at multiples of 16 bytes.
template <class T>
bool is_only_rotated(const operand<T, T>& o, index_t pairs) noexcept {
    constexpr index_t size = 16 / static_cast<index_t>(sizeof(T));
    const auto fits = [&](const auto& v) {
        return v.slots.entries == nullptr && is_small(v) && has_heads_of_pieces(v, size, 16);
    };
    return o.is_rotated() && (o.is_in_place() || o.shape().head_dim == 2 * pairs) && o.first_lane % size == 0 &&
           fits(o.x) && fits(o.y);
}

/// Launches operands that are only rotated, at most most_operands of one type. Returns false, and launches nothing, if
/// one of them is not.
template <pairing Pairing, class Source, class List, kernel_launcher Launcher>
bool launch_rotation(const char*, const Launcher&, const Source&, const direction_data&, const List&) {
    return false;
}
template <pairing Pairing, class Source, piece_element T, kernel_launcher Launcher>
    requires(!std::is_void_v<typename smallest_angles<Source>::type>)
bool launch_rotation(const char* function, const Launcher& where, const Source& angles, const direction_data& direction,
                     std::span<const operand<T, T>* const> operands) {
    constexpr int many = many_pairs<T, Pairing>;
    const index_t pairs = angles.pairs();
    if (!smallest_angles<Source>::fits(angles)) return false;
    index_t heads = 0, of_operands[most_operands];
    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (!is_only_rotated(*operands[i], pairs)) return false;
        heads += of_operands[i] = operands[i]->shape().heads;
    }
    const heads_shape& shape = operands[0]->shape();
    const index_t all = saturated_product(shape.batch, saturated_product(shape.tokens, heads));
    const index_t processors = where.processors(function);
    const auto launch = [&]<int N>(std::integral_constant<int, N>) {
        using kernel_type = rotation_kernel<T, N, Pairing, typename smallest_angles<Source>::type>;
        static_assert(device_kernel<kernel_type>);
        kernel_type kernel{smallest_angles<Source>::of(angles),
                           direction,
                           small(shape.batch),
                           small(shape.tokens),
                           small(pairs),
                           {},
                           {}};
        for (std::size_t i = 0; i < operands.size(); ++i) {
            const operand<T, T>& o = *operands[i];
            kernel.operands[i] = {{o.x, o.first_lane}, {o.y, o.first_lane}};
        }
        const launch_size size = heads_launch<kernel_type>(shape.batch, shape.tokens, {of_operands, operands.size()},
                                                           pairs / N, processors, kernel.heads);
        where.launch(function, kernel, size);
    };
    const int wanted = all <= few_heads * processors ? 2 : all <= several_heads * processors ? 4 : many;
    for (const int n : {wanted, 4, many, 2}) {
        if (pairs % n != 0 || pairs / n > 32) continue;
        if (n == 2) launch(std::integral_constant<int, 2>{});
        if (n == 4) launch(std::integral_constant<int, 4>{});
        if constexpr (many > 4) {
            if (n == many) launch(std::integral_constant<int, many>{});
        }
        return true;
    }
    return false;
}

}  // namespace cordage::backend
