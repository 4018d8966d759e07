// SPDX-License-Identifier: MIT
// What a kernel body knows of where it runs, and what runs it; serves the CUDA backend and its emulation.
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

/// One thread's place in a launch. The threads of a block share `shared` and nothing else.
struct block_view {
    index3 thread;   ///< in its block
    index3 threads;  ///< of a block
    index3 block;    ///< in the grid
    index3 blocks;   ///< of the grid
    void* shared;    ///< of the launch's size, aligned to 16 bytes, filled with nothing in particular

    CORDAGE_HOST_DEVICE index_t thread_number() const noexcept {
        return (index_t{thread.z} * threads.y + thread.y) * threads.x + thread.x;
    }
    CORDAGE_HOST_DEVICE index_t thread_count() const noexcept { return index_t{threads.z} * threads.y * threads.x; }
};

/// How a kernel is launched.
struct launch_size {
    index3 threads;
    index3 blocks;
    index_t shared_bytes = 0;
};

/// What every CUDA device since compute capability 7.5 allows, and what these kernels take of it.
inline constexpr std::uint32_t most_threads = 256;  // of a block; devices allow 1024
inline constexpr std::uint32_t most_threads_z = 64;
inline constexpr index_t most_blocks_x = (index_t{1} << 31) - 1;
inline constexpr index_t most_blocks_yz = 65535;
inline constexpr index_t most_shared_bytes = 49'152;  // 48 KB, without asking for more
inline constexpr std::size_t most_kernel_bytes = 4096;

/// A kernel is a value that is copied to the device. Each thread runs phase 0, 1, ...; between two phases the block
/// waits for all its threads. phases() is the same for all threads of a block. Registers are shared out for
/// blocks_per_processor blocks of most_threads.
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

/// Runs kernels one after the other: on_stream (backend/cuda/launch.cuh), or an emulation on the host. Both calls may
/// throw in the name of `function`.
template <class L>
concept kernel_launcher = requires(const L& where, const char* function, const empty_kernel& kernel,
                                   const launch_size& size) {
    where.launch(function, kernel, size);
    { where.processors(function) } -> std::same_as<index_t>;  // of the device
};

}  // namespace cordage::backend
