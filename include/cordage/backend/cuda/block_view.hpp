// SPDX-License-Identifier: MIT
// The thread and block indices that a kernel body reads, and the launchers of kernels; serves the CUDA backend and its
// emulation on the host.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "cordage/core/index.hpp"
#include "cordage/core/macros.hpp"

namespace cordage::backend {

/// Sizes or indices along x, y and z.
struct index3 {
    std::uint32_t x = 1;
    std::uint32_t y = 1;
    std::uint32_t z = 1;

    friend bool operator==(const index3&, const index3&) = default;
};

/// One thread's place in a launch. The threads of a block share `shared` and no other memory.
struct block_view {
    index3 thread;   ///< index in its block
    index3 threads;  ///< size of a block
    index3 block;    ///< index in the grid
    index3 blocks;   ///< size of the grid
    void* shared;    ///< shared memory of the launch's size, aligned to 16 bytes, uninitialised

    CORDAGE_HOST_DEVICE index_t thread_number() const noexcept {
        return (index_t{thread.z} * threads.y + thread.y) * threads.x + thread.x;
    }
    CORDAGE_HOST_DEVICE index_t thread_count() const noexcept { return index_t{threads.z} * threads.y * threads.x; }
};

/// Sizes of a launch.
struct launch_size {
    index3 threads;
    index3 blocks;
    index_t shared_bytes = 0;
};

/// Limits of these kernels, which every CUDA device since compute capability 7.5 allows.
inline constexpr std::uint32_t most_threads = 256;  // in a block; devices allow 1024
inline constexpr std::uint32_t most_threads_z = 64;
inline constexpr index_t most_blocks_x = (index_t{1} << 31) - 1;
inline constexpr index_t most_blocks_yz = 65535;
inline constexpr index_t most_shared_bytes = 49'152;  // 48 KB, available without opting in
inline constexpr std::size_t most_kernel_bytes = 4096;

/// A kernel is a value that is copied to the device. Each thread runs phase 0, 1, ...; all threads of a block are
/// synchronised between two phases. phases() is equal for all threads of a block. Registers are limited so that
/// blocks_per_processor blocks of most_threads fit on a multiprocessor.
template <class K>
concept device_kernel = std::is_trivially_copyable_v<K> &&
                        sizeof(K) <= most_kernel_bytes&& requires(const K& kernel, const block_view& at,
                                                                  index_t phase) {
    { K::blocks_per_processor } -> std::convertible_to<int>;
    { kernel.phases(at) }
    noexcept->std::same_as<index_t>;
    { kernel.run(phase, at) }
    noexcept;
};

struct empty_kernel {
    static constexpr int blocks_per_processor = 1;
    CORDAGE_HOST_DEVICE index_t phases(const block_view&) const noexcept { return 0; }
    CORDAGE_HOST_DEVICE void run(index_t, const block_view&) const noexcept {}
};
static_assert(device_kernel<empty_kernel>);

/// Runs kernels in order: on_stream (backend/cuda/launch.cuh), or an emulation on the host. Both functions may throw,
/// with `function` as the name in the message.
template <class L>
concept kernel_launcher = requires(const L& where, const char* function, const empty_kernel& kernel,
                                   const launch_size& size) {
    where.launch(function, kernel, size);
    { where.processors(function) } -> std::same_as<index_t>;  // of the device
};

}  // namespace cordage::backend
