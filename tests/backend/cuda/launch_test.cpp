// SPDX-License-Identifier: MIT
#include "backend/cuda/launch_limits.hpp"
#include "cordage/backend/cuda/forward.hpp"

using namespace cordage;
using namespace cordage::backend;
using cordage_test::check_limits;

namespace {

constexpr device_capacity h100{132, 3}, l4{58, 3};

index_t thread_count(const launch_size& size) {
    return index_t{size.threads.x} * size.threads.y * size.threads.z * size.blocks.x * size.blocks.y * size.blocks.z;
}

}  // namespace

TEST_CASE("backend/cuda/launch: sizes keep within every device's limits and cover the work") {
    for (const index_t tokens : {index_t{1}, index_t{3}, index_t{100}, index_t{16'384}, index_t{1} << 33}) {
        for (const index_t units : {1, 2, 5, 8, 16, 31, 64, 256, 257, 4096}) {
            for (const index_t heads : {1, 3, 40, 1024, 100'000, 1 << 24}) {
                const launch_size size = rotation_launch(tokens, units, heads, h100);
                check_limits(size);
                CHECK(index_t{size.threads.x} * size.blocks.z >= units);
                CHECK(index_t{size.threads.x} * (size.blocks.z - 1) < units);
            }
        }
    }
}

TEST_CASE("backend/cuda/launch: one token of 32 + 8 heads is a unit a thread, a warp a block") {
    const launch_size decode = rotation_launch(1, 8, 40, h100);  // of 128 lanes in 16 bits, half_split
    CHECK(decode.threads == index3{8, 4, 1});
    CHECK(decode.blocks == index3{1, 10, 1});
}

// For any number of tokens: no idle thread while others have several units, and no second wave.
TEST_CASE("backend/cuda/launch: 1 to 4096 tokens are one wave of threads with equal work") {
    for (const device_capacity& device : {h100, l4}) {
        for (const index_t units : {4, 8, 16}) {
            for (const index_t heads : {1, 5, 40, 144}) {
                for (index_t tokens = 1; tokens <= 4096; ++tokens) {
                    const launch_size size = rotation_launch(tokens, units, heads, device);
                    const index_t lanes = index_t{size.threads.y} * size.blocks.y;
                    const index_t rounds = rounded_up_quotient(tokens, index_t{size.blocks.x} * size.threads.z);
                    const index_t most = rounds * rounded_up_quotient(heads, lanes), work = tokens * units * heads;
                    CAPTURE(tokens);
                    CAPTURE(units);
                    CAPTURE(heads);
                    REQUIRE(thread_count(size) <= device.threads());
                    if (work <= device.threads() / 2) REQUIRE(most == 1);
                    if (work <= device.processors * 32) REQUIRE(index_t{size.threads.z} * size.threads.y * units <= 64);
                    // At most a third of the threads are idle, besides those of a token's last warp and of the last
                    // tokens.
                    if (tokens >= 64 && heads % size.threads.y == 0) REQUIRE(2 * thread_count(size) * most <= 3 * work);
                }
            }
        }
    }
}

TEST_CASE("backend/cuda/launch: many tokens share a block's cos and sin over the heads") {
    const launch_size prefill = rotation_launch(16'384, 8, 40, h100);
    CHECK(prefill.threads == index3{8, 4, 8});
    CHECK(prefill.blocks == index3{2048, 1, 1});
    const launch_size half = rotation_launch(8192, 8, 40, h100);  // in one wave, each block three times 8 tokens
    CHECK(half.blocks == index3{342, 1, 1});
    CHECK(rotation_launch(1 << 20, 8, 40, h100).blocks == index3{1 << 17, 1, 1});
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
    // An address that is not read. NOLINTNEXTLINE(performance-no-int-to-ptr)
    const auto* const first = reinterpret_cast<const float*>(std::uintptr_t{1} << 40);
    const heads_view<const float> v{first, {8, 1 << 20, 40, 128}, index_t{5120} << 20, 5120, 128};
    CHECK(v.head(0, 500'000, 39) - first == 500'000 * index_t{5120} + index_t{39} * 128);
    CHECK(v.head(7, (1 << 20) - 1, 39) - first == 8 * (index_t{5120} << 20) - 128);
}
