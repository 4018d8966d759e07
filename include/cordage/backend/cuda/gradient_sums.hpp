// SPDX-License-Identifier: MIT
// Chunks of tokens, and the kernel that adds up what each left, in a fixed order; serves the CUDA backward pass.
#pragma once

#include <algorithm>

#include "cordage/backend/cuda/angles.hpp"
#include "cordage/backend/cuda/walk.hpp"

namespace cordage::backend {

/// The tokens of a batch in chunks, none across two bases. How many there are depends on nothing but sizes, so the sums
/// have the same bits on every device.
struct token_chunks {
    static constexpr index_t most = 1024;  // or one a basis, where those are more
    static constexpr index_t smallest = 8;

    index_t share;      // tokens of a basis
    index_t length;     // of a chunk; the last one of a share may be shorter
    index_t per_basis;  // chunks
    index_t count;

    static token_chunks of(index_t tokens, index_t bases) noexcept {
        const index_t share = tokens / bases;
        const index_t length = std::max(smallest, rounded_up_quotient(share, std::max<index_t>(most / bases, 1)));
        const index_t per_basis = rounded_up_quotient(share, length);
        return {share, length, per_basis, per_basis * bases};
    }
    CORDAGE_HOST_DEVICE index_t begin(index_t chunk) const noexcept {
        return chunk / per_basis * share + chunk % per_basis * length;
    }
    CORDAGE_HOST_DEVICE index_t end(index_t chunk) const noexcept {
        const index_t end_of_share = (chunk / per_basis + 1) * share, end = begin(chunk) + length;
        return end < end_of_share ? end : end_of_share;
    }
};

/// Adds the rows of `sums` to the gradients: thread x takes a column (a pair, or the attention factor), thread y every
/// threads.y-th chunk of a basis; blocks.y are the bases.
struct gradient_sums_kernel {
    struct thread_state {};
    static constexpr int blocks_per_processor = 2;

    phase_angles angles;
    token_chunks chunks;
    const double* sums;        // [chunks.count, pairs + 1]
    double* inv_freq;          // [bases, pairs], added to, or null
    double* attention_factor;  // [bases], added to, or null

    CORDAGE_HOST_DEVICE index_t phases(const block_view& at) const noexcept { return 2 * passes(at); }
    CORDAGE_HOST_DEVICE void run(index_t phase, const block_view& at, thread_state&) const noexcept {
        const index_t column = index_t{at.block.x} * at.threads.x + at.thread.x;
        const index_t basis = phase / 2 * at.blocks.y + at.block.y;
        if (column > angles.pairs || basis >= angles.bases) return;
        double* strands = static_cast<double*>(at.shared) + at.thread.x;
        if (phase % 2 == 0) {
            double sum = 0.0;
            for (index_t c = at.thread.y; c < chunks.per_basis; c += at.threads.y) {
                sum += sums[(basis * chunks.per_basis + c) * (angles.pairs + 1) + column];
            }
            strands[index_t{at.thread.y} * at.threads.x] = sum;
        } else if (at.thread.y == 0) {
            double sum = 0.0;
            for (index_t y = 0; y < at.threads.y; ++y) sum += strands[y * at.threads.x];
            if (column < angles.pairs) {
                if (inv_freq != nullptr) inv_freq[basis * angles.pairs + column] += sum;
            } else if (attention_factor != nullptr) {
                attention_factor[basis] += sum * angles.inverse_factor(basis);
            }
        }
    }

 private:
    CORDAGE_HOST_DEVICE index_t passes(const block_view& at) const noexcept {
        return (angles.bases + at.blocks.y - 1) / at.blocks.y;
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
