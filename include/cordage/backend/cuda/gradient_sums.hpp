// SPDX-License-Identifier: MIT
// The chunks of tokens of a device, and the kernel that adds up what each left, in a fixed order; serves the CUDA
// backward pass.
#pragma once

#include <algorithm>

#include "cordage/backend/cuda/walk.hpp"
#include "cordage/core/token_chunks.hpp"

namespace cordage::backend {

inline constexpr index_t most_device_chunks = 1024, smallest_device_chunk = 8;

/// The chunks of a backward pass on a device, a block each.
inline token_chunks device_chunks(index_t tokens, index_t bases) noexcept {
    return token_chunks::of(tokens, bases, most_device_chunks, smallest_device_chunk);
}

/// Adds the rows of `sums` to the gradients: thread x takes a column (a pair, or the attention factor), thread y every
/// threads.y-th chunk of a basis; blocks.y are the bases.
struct gradient_sums_kernel {
    static constexpr int blocks_per_processor = 2;

    const double* attention_factors;  // [bases]
    index_t pairs;
    index_t bases;
    token_chunks chunks;
    const double* sums;        // [chunks.count, pairs + 1]
    double* inv_freq;          // [bases, pairs], added to, or null
    double* attention_factor;  // [bases], added to, or null

    CORDAGE_HOST_DEVICE index_t phases(const block_view& at) const noexcept { return 2 * passes(at); }
    CORDAGE_HOST_DEVICE void run(index_t phase, const block_view& at) const noexcept {
        const index_t column = index_t{at.block.x} * at.threads.x + at.thread.x;
        const index_t b = phase / 2 * at.blocks.y + at.block.y;
        if (column > pairs || b >= bases) return;
        double* strands = static_cast<double*>(at.shared) + at.thread.x;
        if (phase % 2 == 0) {
            double sum = 0.0;
            for (index_t c = at.thread.y; c < chunks.per_basis; c += at.threads.y) {
                sum += sums[(b * chunks.per_basis + c) * (pairs + 1) + column];
            }
            strands[index_t{at.thread.y} * at.threads.x] = sum;
        } else if (at.thread.y == 0) {
            double sum = 0.0;
            for (index_t y = 0; y < at.threads.y; ++y) sum += strands[y * at.threads.x];
            if (column < pairs) {
                if (inv_freq != nullptr) inv_freq[b * pairs + column] += sum;
            } else if (attention_factor != nullptr) {
                attention_factor[b] += sum / attention_factors[b];
            }
        }
    }

 private:
    CORDAGE_HOST_DEVICE index_t passes(const block_view& at) const noexcept {
        return (bases + at.blocks.y - 1) / at.blocks.y;
    }
};
static_assert(device_kernel<gradient_sums_kernel>);

inline launch_size gradient_sums_launch(index_t pairs, index_t bases) noexcept {
    constexpr index3 threads{8, 32, 1};
    return {.threads = threads,
            .blocks = {static_cast<std::uint32_t>(rounded_up_quotient(pairs + 1, threads.x)),
                       static_cast<std::uint32_t>(std::min(bases, most_blocks_yz)), 1},
            .shared_bytes = index_t{threads.x} * threads.y * static_cast<index_t>(sizeof(double))};
}

}  // namespace cordage::backend
