// SPDX-License-Identifier: MIT
#include "backend/cuda/emulation.hpp"
#include "cordage/backend/cuda/forward.hpp"

using namespace cordage;
using namespace cordage::backend;
using cordage_test::check_limits;

TEST_CASE("backend/cuda/launch: sizes keep within every device's limits and cover the work") {
    for (const index_t tokens : {index_t{1}, index_t{3}, index_t{100}, index_t{16'384}, index_t{1} << 33}) {
        for (const index_t units : {1, 2, 5, 8, 16, 31, 64, 256, 257, 4096}) {
            for (const index_t heads : {1, 3, 40, 1024, 100'000}) {
                const launch_size size = rotation_launch(tokens, units, heads);
                check_limits(size);
                CHECK(index_t{size.threads.x} * size.blocks.z >= units);
                CHECK(index_t{size.threads.x} * (size.blocks.z - 1) < units);
                CHECK(index_t{size.threads.z} * size.blocks.x >= std::min(tokens, most_blocks_x));
            }
        }
    }
}

TEST_CASE("backend/cuda/launch: many tokens share a block's cos and sin over the heads, one token spreads its heads") {
    const launch_size prefill = rotation_launch(16'384, 8, 40);  // 32 + 8 heads of 128 in 16 bits, half_split
    CHECK(prefill.threads == index3{8, 4, 8});
    CHECK(prefill.blocks == index3{2048, 1, 1});
    const launch_size decode = rotation_launch(1, 8, 40);
    CHECK(decode.threads == index3{8, 32, 1});
    CHECK(decode.blocks == index3{1, 2, 1});
}

TEST_CASE("backend/cuda/launch: tokens past 2^32 have their row and place") {
    const index_t tokens = (index_t{1} << 31) + 11;
    for (const index_t row : {0, 1, 5}) {
        for (const index_t token : {index_t{0}, index_t{12}, tokens - 1}) {
            const token_place place = place_of(row * tokens + token, tokens);
            CHECK(place.row == row);
            CHECK(place.token == token);
        }
    }
    CHECK(place_of(4'294'967'295, 4'294'967'295).row == 1);
    CHECK(place_of(4'294'967'295, 65'536).token == 65'535);
}

TEST_CASE("backend/cuda/launch: offsets past 2^31 and 2^32 elements") {
    const heads_view<const float> v{nullptr, {8, 1 << 20, 40, 128}, index_t{5120} << 20, 5120, 128};
    CHECK(v.offset(0, 500'000, 39) == 500'000 * index_t{5120} + index_t{39} * 128);
    CHECK(v.offset(7, (1 << 20) - 1, 39) == 8 * (index_t{5120} << 20) - 128);
}
