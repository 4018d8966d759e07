// SPDX-License-Identifier: MIT
// Partial sums of the blocks of a backward pass, each over a chunk of tokens, and the kernel that adds them up in a
// fixed order; serves the CUDA backward pass.
#pragma once

#include <algorithm>
#include <span>

#include "cordage/angles/angle_source.hpp"
#include "cordage/backend/cuda/thread_heads.hpp"
#include "cordage/core/token_chunks.hpp"

namespace cordage::backend {

inline constexpr index_t most_device_chunks = 1024, smallest_device_chunk = 8;

/// Doubles that a chunk writes to the workspace: dL/dinv_freq for each basis of a token, and the sum of grad_y . y.
template <class Source>
CORDAGE_HOST_DEVICE index_t sums_of_chunk(const Source& angles) noexcept {
    return angle_detail::bases_of_token(angles) * angles.pairs() + 1;
}

/// The chunks of a backward pass on a device, one for each block.
inline token_chunks device_chunks(index_t tokens, index_t bases) noexcept {
    return token_chunks::of(tokens, bases, most_device_chunks, smallest_device_chunk);
}

/// Steps of a block through its chunk, threads.z tokens each (fewer in the last one), and the thread's token in a step.
CORDAGE_HOST_DEVICE inline index_t steps_of(const token_chunks& chunks, const block_view& at) noexcept {
    const index_t length = chunks.end(at.block.x) - chunks.begin(at.block.x);
    return (length + at.threads.z - 1) / at.threads.z;
}
CORDAGE_HOST_DEVICE inline index_t token_of(const token_chunks& chunks, index_t step, const block_view& at) noexcept {
    return chunks.begin(at.block.x) + step * at.threads.z + at.thread.z;
}

/// Sizes of block_sums: pairs of a lane of threads, bases, and axes of positions.
struct sums_shape {
    std::int32_t pairs, bases, axes;

    template <class Source>
    CORDAGE_HOST_DEVICE static sums_shape of(const Source& angles, index_t pairs) noexcept {
        return {static_cast<std::int32_t>(pairs), static_cast<std::int32_t>(angle_detail::bases_of_token(angles)),
                static_cast<std::int32_t>(angle_detail::axes_of(angles))};
    }
};

/// Sums of a block in shared memory, which saves registers. In double: dL/dinv_freq for each basis, lane (y, z) of
/// threads and pair of the lane; grad_y . y for each thread; dL/dposition for each thread and axis. Then in float, if
/// requested: dL/dangle for each lane and pair.
class block_sums {
 public:
    static index_t count(const index3& threads, const sums_shape& shape) noexcept {
        const index_t lanes = index_t{threads.y} * threads.z;
        return lanes * (index_t{shape.bases} * shape.pairs + index_t{threads.x} * (1 + shape.axes));
    }

    CORDAGE_HOST_DEVICE block_sums(const block_view& at, const sums_shape& shape) noexcept : at_(at), shape_(shape) {}

    /// The entries of the calling thread: its lane's pairs, its sum of grad_y . y, its dL/dposition, its lane's
    /// dL/dangle.
    CORDAGE_HOST_DEVICE double* pairs(index_t basis = 0) const noexcept {
        return of_lane(index_t{at_.thread.z} * at_.threads.y + at_.thread.y) + basis * shape_.pairs;
    }
    CORDAGE_HOST_DEVICE float* angles() const noexcept { return angles_of(at_.thread.y); }
    CORDAGE_HOST_DEVICE double& dot() const noexcept { return dots()[at_.thread_number()]; }
    CORDAGE_HOST_DEVICE double& position(index_t axis) const noexcept { return positions(axis)[at_.thread_number()]; }

    /// Adds dL/dangle of a token's pairs [pair, pair + N), stored as the lane's pairs from `first` on.
    template <int N, class Source>
    CORDAGE_HOST_DEVICE void add(const Source& angles, const token_place& place, index_t pair, index_t first,
                                 const float (&grad_angle)[N], bool has_positions) const noexcept {
        if constexpr (differentiable_angle_source<Source>) {
            using namespace angle_detail;
            for (index_t which = 0; which < bases_of_token(angles); ++which) {  // several for summed axes, else one
                const auto axis = [&](int n) { return sums_axes<Source> ? which : axis_of(angles, pair + n); };
                double at_position[N];  // read once where neighbours share an axis
                for (int n = 0; n < N; ++n) {
                    const bool is_new = n == 0 || axis(n) != axis(n - 1);
                    at_position[n] = is_new ? angles.position(place.row, place.token, axis(n)) : at_position[n - 1];
                }
                for (int n = 0; n < N; ++n) {
                    pairs(which)[first + n] += at_position[n] * static_cast<double>(grad_angle[n]);
                }
                for (int n = 0; has_positions && n < N; ++n) {
                    const double* const inv_freq = angles.inv_freq(basis_of(angles, place.row, place.token) + which);
                    position(axis(n)) += inv_freq[pair + n] * static_cast<double>(grad_angle[n]);
                }
            }
        }
    }

    /// Adds up dL/dposition of the thread's token over all threads of the token; each thread handles one axis.
    CORDAGE_HOST_DEVICE void add_positions(double* of_token, index_t axis_stride) const noexcept {
        const index_t threads = index_t{at_.threads.x} * at_.threads.y;
        for (index_t axis = at_.thread_number() % threads; axis < shape_.axes; axis += threads) {
            const double* const of_threads = positions(axis) + at_.thread.z * threads;
            double sum = 0.0;
            for (index_t n = 0; n < threads; ++n) sum += of_threads[n];
            of_token[axis * axis_stride] += sum;
        }
    }
    /// Adds up dL/dangle of `count` pairs of the thread's token over the lanes; each thread handles one pair.
    CORDAGE_HOST_DEVICE void add_angles(double* of_token, index_t count) const noexcept {
        const auto threads = static_cast<std::int32_t>(at_.threads.x * at_.threads.y);
        for (auto pair = static_cast<std::int32_t>(at_.thread.y * at_.threads.x + at_.thread.x); pair < count;
             pair += threads) {
            double sum = 0.0;
            for (std::uint32_t y = 0; y < at_.threads.y; ++y) sum += static_cast<double>(angles_of(y)[pair]);
            of_token[pair] += sum;
        }
    }
    /// Adds up `count` pairs over all lanes into a row, in which consecutive bases are `stride` apart; each thread
    /// handles one pair. Also adds up grad_y . y over y and z into the first lane.
    CORDAGE_HOST_DEVICE void add_lanes(double* row, index_t count, index_t stride) const noexcept {
        const index_t lanes = index_t{at_.threads.y} * at_.threads.z;
        for (index_t basis = 0; basis < shape_.bases; ++basis) {
            for (index_t pair = at_.thread_number(); pair < count; pair += at_.thread_count()) {
                double sum = 0.0;
                for (index_t lane = 0; lane < lanes; ++lane) sum += of_lane(lane)[basis * shape_.pairs + pair];
                row[basis * stride + pair] = sum;
            }
        }
        if (at_.thread.y != 0 || at_.thread.z != 0) return;
        double* const of_thread = dots() + at_.thread.x;
        for (index_t lane = 1; lane < lanes; ++lane) of_thread[0] += of_thread[lane * at_.threads.x];
    }
    /// The sum of grad_y . y over x; call it after a barrier.
    CORDAGE_HOST_DEVICE double sum_of_dots() const noexcept {
        double sum = 0.0;
        for (index_t x = 0; x < at_.threads.x; ++x) sum += dots()[x];
        return sum;
    }

 private:
    CORDAGE_HOST_DEVICE double* of_lane(index_t lane) const noexcept {
        return static_cast<double*>(at_.shared) + lane * shape_.bases * shape_.pairs;
    }
    CORDAGE_HOST_DEVICE double* dots() const noexcept { return of_lane(index_t{at_.threads.y} * at_.threads.z); }
    CORDAGE_HOST_DEVICE double* positions(index_t axis) const noexcept {
        return dots() + (1 + axis) * at_.thread_count();
    }
    CORDAGE_HOST_DEVICE float* angles_of(index_t y) const noexcept {  // of the thread's z
        void* const first = positions(shape_.axes);
        return static_cast<float*>(first) + (index_t{at_.thread.z} * at_.threads.y + y) * shape_.pairs;
    }

    const block_view& at_;
    sums_shape shape_;
};

/// Adds rows of sums to gradients: x -> a column (a number, or the attention factor), y -> every threads.y-th row of a
/// basis, blocks.y -> bases.
struct gradient_sums_kernel {
    static constexpr int blocks_per_processor = 2;

    const double* sums;               // [bases, rows, row_size]
    index_t bases, rows, row_size;    // rows of a basis
    index_t numbers;                  // of a row: pairs of a basis, or weights of a norm; then the attention factor's
    double* gradient;                 // [bases, numbers], added to, or null
    double* attention_factor;         // [bases], factor_stride apart, added to, or null
    const double* attention_factors;  // [bases], factor_stride apart
    index_t factor_stride = 1;

    CORDAGE_HOST_DEVICE index_t phases(const block_view& at) const noexcept { return 2 * passes(at); }
    CORDAGE_HOST_DEVICE void run(index_t phase, const block_view& at) const noexcept {
        const index_t column = index_t{at.block.x} * at.threads.x + at.thread.x;
        const index_t b = phase / 2 * at.blocks.y + at.block.y;
        double* const to = column < numbers ? gradient : attention_factor;
        if (column > numbers || to == nullptr || b >= bases) return;
        double* strands = static_cast<double*>(at.shared) + at.thread.x;
        if (phase % 2 == 0) {
            double sum = 0.0;
            for (index_t row = at.thread.y; row < rows; row += at.threads.y) {
                sum += sums[(b * rows + row) * row_size + column];
            }
            strands[index_t{at.thread.y} * at.threads.x] = sum;
        } else if (at.thread.y == 0) {
            double sum = 0.0;
            for (index_t y = 0; y < at.threads.y; ++y) sum += strands[y * at.threads.x];
            if (column < numbers) {
                to[b * numbers + column] += sum;
            } else {
                to[b * factor_stride] += sum / attention_factors[b * factor_stride];
            }
        }
    }

 private:
    CORDAGE_HOST_DEVICE index_t passes(const block_view& at) const noexcept {
        return (bases + at.blocks.y - 1) / at.blocks.y;
    }
};
static_assert(device_kernel<gradient_sums_kernel>);

inline launch_size gradient_sums_launch(index_t numbers, index_t bases) noexcept {
    constexpr index3 threads{8, 32, 1};
    return {.threads = threads,
            .blocks = {static_cast<std::uint32_t>(rounded_up_quotient(numbers + 1, threads.x)),
                       static_cast<std::uint32_t>(std::min(bases, most_blocks_yz)), 1},
            .shared_bytes = index_t{threads.x} * threads.y * static_cast<index_t>(sizeof(double))};
}

/// Destinations of the gradients of a backward pass on a device, and its workspace. Null: not computed.
struct device_gradients {
    double* inv_freq = nullptr;                 // [bases, pairs]
    double* position = nullptr;                 // [axes, batch, tokens]
    double* angle = nullptr;                    // [batch, tokens, pairs]
    double* attention_factor = nullptr;         // [bases]
    double* workspace = nullptr;                // [chunks.count, sums_of_chunk], then [chunks.count, weights]
    const double* attention_factors = nullptr;  // of the bases, [bases]

    bool has_sums() const noexcept { return inv_freq != nullptr || attention_factor != nullptr; }
};

/// Calls pass(chunks, only_basis), which launches the pass over all tokens and writes its sums to grads.workspace, then
/// launches the kernel that adds them up. If each token has its own basis index and gradients to bases are computed,
/// does so once for each basis, with a pass over that basis's tokens only.
///
/// @param grad_weight  of the operand's norm, added to; empty: not computed
template <class Source, kernel_launcher Launcher, class Pass>
void launch_with_sums(const char* function, const Launcher& where, const Source& angles, index_t tokens,
                      bool has_basis_of_token, const device_gradients& grads, std::span<double> grad_weight,
                      const Pass& pass) {
    // The bases of summed axes, which rotate a token together, count as one here.
    const index_t together = angle_detail::bases_of_token(angles), numbers = together * angles.pairs();
    const index_t bases = angle_detail::bases_of(angles) / together;
    const bool by_token = has_basis_of_token && bases > 1 && grads.has_sums();
    const token_chunks chunks = device_chunks(tokens, has_basis_of_token ? 1 : bases);
    if (chunks.count == 0) return;
    const auto add = [&](const gradient_sums_kernel& sums) {
        where.launch(function, sums, gradient_sums_launch(sums.numbers, sums.bases));
    };
    for (index_t b = 0; b < (by_token ? bases : 1); ++b) {
        pass(chunks, by_token ? b : -1);
        if (grads.has_sums()) {
            add({grads.workspace, by_token ? 1 : bases, chunks.per_basis, numbers + 1, numbers,
                 grads.inv_freq == nullptr ? nullptr : grads.inv_freq + b * numbers,
                 grads.attention_factor == nullptr ? nullptr : grads.attention_factor + b, grads.attention_factors + b,
                 together});
        }
        if (!grad_weight.empty()) {
            const index_t weights = std::ssize(grad_weight);
            add({grads.workspace + chunks.count * (numbers + 1), 1, chunks.count, weights, weights, grad_weight.data(),
                 nullptr, nullptr});
        }
    }
}

}  // namespace cordage::backend
