// SPDX-License-Identifier: MIT
// The launch of the CUDA backward pass of operands of any type, strides and sizes; serves stage rotation.
#pragma once

#include "cordage/backend/cuda/gradient_sums.hpp"
#include "cordage/core/pairing.hpp"
#include "cordage/tensors/operand.hpp"

namespace cordage::backend {

/// grad_x and all other gradients of one operand:
///
///   block -> a chunk of tokens of one basis      y -> every threads.y-th head, a warp a head
///   x -> every 32nd pair and every 32nd lane that is not rotated
///
///   for each token     cos, sin of its pairs, in shared memory; one mean for all heads: its sums
///     a head           sums of its norm, grad_x; dL/dangle summed in floats of the warp, dL/dweight in doubles
///     then             dL/dangle summed over the warps, to the chunk's row, dL/dposition and dL/dangle
///
/// Operands without a norm may have more than most_pairs pairs, which are processed one after the other. Every sum has
/// a fixed order. Both lanes of a pair are read before they are written, by the same thread.
template <class Operand, class Source>
struct general_backward_kernel {
    static constexpr int block_threads = 256, blocks_per_processor = 2;
    static constexpr index_t most_pairs = most_lanes_of_head / 2;  // in shared memory

    Source angles;
    Operand of;
    pairing_value pairing;
    index_t tokens;  // of a row
    token_chunks chunks;
    pass_sums to;
    std::int32_t heads, head_dim, first_lane;
    std::int32_t pairs;          // 0 for an operand that is not rotated
    std::int32_t pairs_at_once;  // in shared memory
};

/// Shared memory of a block: weight sums of each warp, two sums of each warp; cos, sin, and dL/dangle of each warp.
inline index_t general_backward_bytes(index_t warps, index_t pairs, index_t weights) noexcept {
    return index_t{sizeof(double)} * warps * (weights + 2) + index_t{sizeof(float)} * pairs * (2 + warps);
}

/// Launches one checked operand.
template <pairing Pairing, class Source, class O, kernel_launcher Launcher>
void launch_general_backward(const char* function, const Launcher& where, const Source& angles, const O& o,
                             const device_gradients& grads) {
    using kernel_type = general_backward_kernel<O, Source>;
    static_assert(device_kernel<kernel_type>);
    const heads_shape& shape = o.shape();
    const index_t tokens = shape.batch * shape.tokens;
    const bool is_rotated = o.is_rotated();
    const std::span<double> weight = o.grad_weight;
    index_t weights = 0;  // of a warp in shared memory
    if constexpr (O::is_normalized) weights = weight.empty() || o.norm.is_over_all_heads ? 0 : shape.head_dim;
    summed_pass sums(angles, tokens, grads);
    const index_t bases = sums.bases_of_chunks(), share = tokens / bases;
    const token_chunks chunks =
        chunks_of_length(tokens, bases, std::max<index_t>(rounded_up_quotient(share, sums.most_rows() / bases), 1));
    sums.add(chunks, is_rotated, weight);
    const index_t pairs = is_rotated ? angles.pairs() : 0, at_once = std::min(pairs, kernel_type::most_pairs);
    index_t warps = std::min<index_t>(shape.heads, kernel_type::block_threads / 32);
    while (general_backward_bytes(warps, at_once, weights) > most_shared_bytes) --warps;
    kernel_type kernel{angles,
                       o,
                       pairing_value::of<Pairing>(),
                       shape.tokens,
                       chunks,
                       {},
                       small(shape.heads),
                       small(shape.head_dim),
                       small(o.first_lane),
                       small(pairs),
                       small(at_once)};
    sums.launch(function, where, kernel,
                {sizes(32, warps), sizes(chunks.count), general_backward_bytes(warps, at_once, weights)});
}

}  // namespace cordage::backend
