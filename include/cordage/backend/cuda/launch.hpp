// SPDX-License-Identifier: MIT
// Sizes of a launch, and what a kernel and its launcher are; serves the CUDA backend and its tests.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "cordage/core/index.hpp"

namespace cordage::backend {

/// Sizes along x, y and z.
struct index3 {
    std::uint32_t x = 1;
    std::uint32_t y = 1;
    std::uint32_t z = 1;

    friend bool operator==(const index3&, const index3&) = default;
};

/// Sizes of a launch.
struct launch_size {
    index3 threads;  ///< of a block
    index3 blocks;
    index_t shared_bytes = 0;
};

/// Limits of these kernels, which every CUDA device since compute capability 7.5 allows.
inline constexpr index_t most_threads = 256;  // in a block; devices allow 1024
inline constexpr index_t most_threads_z = 64;
inline constexpr index_t most_blocks_x = (index_t{1} << 31) - 1;
inline constexpr index_t most_blocks_yz = 65535;
inline constexpr index_t most_shared_bytes = 49'152;  // 48 KB, available without opting in
inline constexpr std::size_t most_kernel_bytes = 4096;

/// Sizes as those of a launch, each at most 2^31 - 1.
constexpr index3 sizes(index_t x, index_t y = 1, index_t z = 1) noexcept {
    const auto narrow = [](index_t n) { return static_cast<std::uint32_t>(n); };
    return {narrow(x), narrow(y), narrow(z)};
}

/// A kernel is the value that a launch copies to the device; its code is a function `run(kernel)` beside it, in a .cuh.
/// Its blocks have at most block_threads threads, with so few registers that blocks_per_processor fit on a
/// multiprocessor of compute capability 9.0, and at most 4 on others.
template <class K>
concept device_kernel = std::is_trivially_copyable_v<K> && sizeof(K) <= most_kernel_bytes && requires {
    { K::block_threads } -> std::convertible_to<int>;
    { K::blocks_per_processor } -> std::convertible_to<int>;
};

struct empty_kernel {
    static constexpr int block_threads = 1024;
    static constexpr int blocks_per_processor = 1;
};
static_assert(device_kernel<empty_kernel>);

/// Runs kernels in order: on_stream (backend/cuda/launch.cuh), or the interpreter of the tests. Both functions may
/// throw, with `function` as the name in the message.
template <class L>
concept kernel_launcher =
    requires(const L& where, const char* function, const empty_kernel& kernel, const launch_size& size) {
        where.launch(function, kernel, size);
        { where.processors(function) } -> std::same_as<index_t>;  // of the device
    };

}  // namespace cordage::backend
