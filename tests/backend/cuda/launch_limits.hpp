// SPDX-License-Identifier: MIT
// Sizes that every device since compute capability 7.5 can launch.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>

#include "cordage/backend/cuda/launch.hpp"

namespace cordage_test {

using cordage::index_t;

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

}  // namespace cordage_test
