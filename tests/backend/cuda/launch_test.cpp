// SPDX-License-Identifier: MIT
#include "backend/cuda/launch_limits.hpp"
#include "cordage/backend/cuda/heads.hpp"

using namespace cordage;
using namespace cordage::backend;
using cordage_test::check_limits;

namespace {

template <int Threads, int Wanted, int Heads, bool WholeWarps>
struct sized_kernel {
    static constexpr int block_threads = Threads, wanted_threads = Wanted, heads_of_thread = Heads;
    static constexpr bool has_whole_warps = WholeWarps;
};
using one_step = sized_kernel<256, 640, 4, false>;
using several_steps = sized_kernel<128, 320, 8, true>;

template <class Kernel>
launch_size launch_of(index_t rows, index_t tokens, index_t heads, index_t members, index_t processors = 132) {
    head_count count;
    const launch_size size = heads_launch<Kernel>(rows, tokens, {&heads, 1}, members, processors, count);
    REQUIRE(count.all == heads);
    check_limits(size);
    REQUIRE(size.threads.x == members);
    REQUIRE(index_t{size.threads.x} * size.threads.y * size.threads.z <= Kernel::block_threads);
    REQUIRE(index_t{size.blocks.x} * size.threads.z >= tokens);
    REQUIRE(index_t{size.blocks.x - 1} * size.threads.z < tokens);
    REQUIRE(index_t{size.blocks.y - 1} * size.threads.y < heads);
    return size;
}

}  // namespace

TEST_CASE("backend/cuda/launch: sizes keep within every device's limits and cover the work") {
    for (const index_t rows : {1, 3, 100'000}) {
        for (const index_t tokens : {1, 3, 100, 16'384, 1 << 30}) {
            for (const index_t members : {1, 2, 5, 8, 16, 32}) {
                for (const index_t heads : {1, 3, 9, 40, 1024, 1 << 24}) {
                    launch_of<one_step>(rows, tokens, heads, members);
                    launch_of<several_steps>(rows, tokens, heads, members);
                    launch_of<one_step>(rows, tokens, heads, members, 10'000);
                    launch_of<sized_kernel<128, 640, 4, false>>(rows, tokens, heads, members);
                }
            }
        }
    }
}

TEST_CASE("backend/cuda/launch: a head a thread where there are few, so that every processor has a block") {
    const launch_size decode = launch_of<one_step>(1, 1, 40, 32);  // 32 + 8 heads of 128 lanes, 2 pairs a thread
    CHECK(decode.threads == index3{32, 4, 1});
    CHECK(decode.blocks == index3{1, 10, 1});
    CHECK(launch_of<one_step>(1, 256, 40, 16).threads == index3{16, 8, 1});
    CHECK(launch_of<one_step>(1, 256, 40, 16).blocks == index3{256, 3, 1});
    CHECK(launch_of<several_steps>(1, 1, 48, 8).blocks == index3{1, 12, 1});
}

TEST_CASE("backend/cuda/launch: the more tokens, the more heads share a thread's cos and sin") {
    CHECK(launch_of<one_step>(1, 16'384, 40, 8).threads == index3{8, 20, 1});
    CHECK(launch_of<one_step>(1, 16'384, 40, 8).blocks == index3{16'384, 1, 1});
    CHECK(launch_of<one_step>(1, 16'384, 40, 16).threads == index3{16, 8, 2});
    CHECK(launch_of<one_step>(1, 16'384, 1, 4).threads == index3{4, 1, 64});
    CHECK(launch_of<one_step>(1, 65'536, 8, 8).threads == index3{8, 2, 16});
    CHECK(launch_of<several_steps>(3, 4096, 1, 1).threads == index3{1, 1, 64});
    CHECK(launch_of<several_steps>(1, 256, 48, 8).threads == index3{8, 8, 1});
    CHECK(launch_of<several_steps>(1, 256, 48, 8).blocks == index3{256, 3, 1});
    CHECK(launch_of<several_steps>(1, 16'384, 48, 8).threads == index3{8, 4, 4});
    CHECK(launch_of<several_steps>(1, 65'536, 8, 8).threads == index3{8, 1, 16});
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
