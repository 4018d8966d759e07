// SPDX-License-Identifier: MIT
// An emulated device: runs every thread of every block on the host, phase by phase.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "cordage/backend/cuda/block_view.hpp"

namespace cordage_test {

using cordage::index_t;

/// Every device since compute capability 7.5 can launch this.
inline void check_limits(const cordage::backend::launch_size& size) {
    using namespace cordage::backend;
    const index3 &t = size.threads, &b = size.blocks;
    REQUIRE(std::min({t.x, t.y, t.z, b.x, b.y, b.z}) >= 1);
    REQUIRE(index_t{t.x} * t.y * t.z <= most_threads);
    REQUIRE(t.z <= most_threads_z);
    REQUIRE(b.x <= most_blocks_x);
    REQUIRE(std::max(b.y, b.z) <= most_blocks_yz);
    REQUIRE(size.shared_bytes >= 0);
    REQUIRE(size.shared_bytes <= most_shared_bytes);
}

/// A launcher. Within a phase threads run in ascending or descending order, alternately, so that missing barriers show;
/// shared memory is initialised with NaNs.
struct emulated_device {
    std::vector<cordage::backend::launch_size>* launches = nullptr;  // records them, if given
    index_t processor_count = 132;

    index_t processors(const char*) const noexcept { return processor_count; }

    template <cordage::backend::device_kernel Kernel>
    void launch(const char*, const Kernel& kernel, const cordage::backend::launch_size& size) const {
        using namespace cordage::backend;
        check_limits(size);
        if (launches != nullptr) launches->push_back(size);
        for_each(size.blocks, false, [&](const index3& block) { run_block(kernel, size, block); });
    }

 private:
    template <class F>
    static void for_each(const cordage::backend::index3& sizes, bool backwards, const F& f) {
        const std::uint32_t count = sizes.x * sizes.y * sizes.z;
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::uint32_t n = backwards ? count - 1 - i : i;
            f(cordage::backend::index3{n % sizes.x, n / sizes.x % sizes.y, n / sizes.x / sizes.y});
        }
    }

    template <class Kernel>
    static void run_block(const Kernel& kernel, const cordage::backend::launch_size& size,
                          const cordage::backend::index3& block) {
        struct alignas(16) quad {
            std::uint64_t words[2] = {~std::uint64_t{0}, ~std::uint64_t{0}};
        };
        std::vector<quad> shared(static_cast<std::size_t>(size.shared_bytes + 15) / 16);
        cordage::backend::block_view at{{}, size.threads, block, size.blocks, shared.data()};
        for (index_t phase = 0; phase < kernel.phases(at); ++phase) {
            for_each(size.threads, phase % 2 == 1, [&](const cordage::backend::index3& thread) {
                at.thread = thread;
                kernel.run(phase, at);
            });
        }
    }
};
static_assert(cordage::backend::kernel_launcher<emulated_device>);

}  // namespace cordage_test
