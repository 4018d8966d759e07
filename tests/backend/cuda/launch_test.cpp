// SPDX-License-Identifier: MIT
#include "backend/cuda/launch_limits.hpp"
#include "cordage/backend/cuda/heads.hpp"

using namespace cordage;
using namespace cordage::backend;
using cordage_test::check_limits;

namespace {

launch_size launch_of(index_t rows, index_t tokens, index_t heads, index_t members, index_t each, index_t most) {
    const launch_size size = heads_launch(rows, tokens, heads, members, each, most, 132);
    check_limits(size);
    return size;
}
launch_size in_registers(index_t rows, index_t tokens, index_t heads, index_t members) {
    const launch_size size = registers_launch(rows, tokens, heads, members, 128, 132);
    check_limits(size);
    return size;
}
void check_covers(const launch_size& size, index_t tokens, index_t heads, index_t members, index_t most) {
    REQUIRE(size.threads.x == members);
    REQUIRE(index_t{size.threads.x} * size.threads.y * size.threads.z <= most);
    REQUIRE(index_t{size.blocks.x} * size.threads.z >= tokens);
    REQUIRE(index_t{size.blocks.x - 1} * size.threads.z < tokens);
    REQUIRE(index_t{size.blocks.y - 1} * size.threads.y < heads);
}

}  // namespace

TEST_CASE("backend/cuda/launch: sizes keep within every device's limits and cover the work") {
    for (const index_t rows : {1, 3, 100'000}) {
        for (const index_t tokens : {1, 3, 100, 16'384, 1 << 30}) {
            for (const index_t members : {1, 2, 5, 8, 16, 32}) {
                for (const index_t heads : {1, 3, 9, 40, 1024, 1 << 24}) {
                    for (const index_t most : {128, 256}) {
                        check_covers(launch_of(rows, tokens, heads, members, 2, most), tokens, heads, members, most);
                    }
                    if (std::has_single_bit(static_cast<unsigned>(members)))
                        check_covers(in_registers(rows, tokens, heads, members), tokens, heads, members, 128);
                }
            }
        }
    }
}

TEST_CASE("backend/cuda/launch: a head a thread where there are few, so that every processor has a block") {
    const launch_size decode = launch_of(1, 1, 40, 32, 2, 256);  // 32 + 8 heads of 128 lanes, 2 pairs a thread
    CHECK(decode.threads == index3{32, 4, 1});
    CHECK(decode.blocks == index3{1, 10, 1});
    CHECK(launch_of(1, 256, 40, 16, 2, 256).threads == index3{16, 8, 1});
    CHECK(launch_of(1, 256, 40, 16, 2, 256).blocks == index3{256, 5, 1});
    for (index_t tokens = 1; tokens * 40 <= several_heads * 132; ++tokens) {
        const launch_size size = launch_of(1, tokens, 40, 16, 2, 256);
        REQUIRE(index_t{size.threads.y} * size.blocks.y == 40);
    }
}

TEST_CASE("backend/cuda/launch: many tokens share a thread's cos and sin over the heads, in blocks of whole tokens") {
    const launch_size prefill = launch_of(1, 16'384, 40, 8, 2, 256);
    CHECK(prefill.threads == index3{8, 20, 1});
    CHECK(prefill.blocks == index3{16'384, 1, 1});
    CHECK(launch_of(1, 16'384, 40, 16, 2, 256).threads == index3{16, 8, 2});
    CHECK(launch_of(3, 4096, 1, 1, 2, 256).threads == index3{1, 1, 64});
}

TEST_CASE("backend/cuda/launch: with sums of a head, a thread has as many heads as leave every processor its threads") {
    CHECK(in_registers(1, 1, 48, 8).blocks == index3{1, 12, 1});
    CHECK(in_registers(1, 256, 48, 8).threads == index3{8, 8, 1});
    CHECK(in_registers(1, 256, 48, 8).blocks == index3{256, 6, 1});
    CHECK(in_registers(1, 512, 48, 8).blocks == index3{512, 3, 1});
    CHECK(in_registers(1, 16'384, 48, 8).threads == index3{8, 8, 2});
    CHECK(in_registers(1, 16'384, 48, 8).blocks == index3{8192, 1, 1});
    CHECK(in_registers(1, 65'536, 8, 8).threads == index3{8, 2, 8});
}

TEST_CASE("backend/cuda/launch: offsets past 2^31 and 2^32 elements") {
    // An address that is not read. NOLINTNEXTLINE(performance-no-int-to-ptr)
    const auto* const first = reinterpret_cast<const float*>(std::uintptr_t{1} << 40);
    const heads_view<const float> v{first, {8, 1 << 20, 40, 128}, index_t{5120} << 20, 5120, 128};
    CHECK(v.head(0, 500'000, 39) - first == 500'000 * index_t{5120} + index_t{39} * 128);
    CHECK(v.head(7, (1 << 20) - 1, 39) - first == 8 * (index_t{5120} << 20) - 128);
    const head_grid<const float> grid(v, 2);
    CHECK(grid.at(0, 500'000, 39) == v.head(0, 500'000, 39) + 2);
    CHECK(grid.at(7, (1 << 20) - 1, 39) == v.head(7, (1 << 20) - 1, 39) + 2);
    CHECK(is_small(v));
    CHECK_FALSE(is_small(heads_view<const float>{first, {1, 2, 1, 128}, 0, index_t{1} << 31, 128}));
    CHECK_FALSE(is_small(heads_view<const float>{first, {1, 1, 2, 128}, 0, 256, index_t{1} << 31}));
}

TEST_CASE("backend/cuda/launch: heads are counted over all operands") {
    head_count heads;
    heads.add(0, 3);
    heads.add(1, 0);
    heads.add(2, 2);
    CHECK(heads.all == 5);
    const std::int32_t wanted[] = {0, 0, 0, 2, 2};
    for (std::int32_t head = 0; head < 5; ++head) CHECK(heads.operand_of(head) == wanted[head]);
    CHECK(heads.starts[2] == 3);
    head_count apart;
    apart.add(0, 3, 4);
    apart.add(1, 0, 4);
    apart.add(2, 2, 4);
    CHECK(apart.all == 6);
    for (std::int32_t head = 0; head < 6; ++head) CHECK(apart.operand_of(head) == (head < 4 ? 0 : 2));
}
