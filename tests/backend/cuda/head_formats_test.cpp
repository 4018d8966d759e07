// SPDX-License-Identifier: MIT
// Bytes of quantised heads that depend on one rounding, on a device and by the scalar backend.
#include <algorithm>
#include <limits>
#include <span>

#include "backend/cuda/device_backend.hpp"
#include "rotate/dense.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

// One head of 64 lanes, not rotated.
template <class Block, class Format>
void check_same_bytes(const std::vector<float>& lanes, std::size_t blocks, const Format& format) {
    const basis b(frequencies(64));
    const std::vector<std::int32_t> ids{3};
    const exact_angles angles(b, ids);
    const heads_shape shape{1, 1, 1, 64};
    std::vector<Block> found(blocks), wanted(blocks);
    const auto store = [&](std::vector<Block>& to, float& scale_of_head) {
        Format f = format;
        if constexpr (requires { f.scales; }) f.scales = {&scale_of_head, 0, 0, 0};
        return from_to(token_major(lanes.data(), shape), token_major(to.data(), shape, f)).unrotated();
    };
    std::vector<float> scales(2);
    rotate_forward<half_split, backend::scalar>(angles, store(wanted, scales[0]));
    with_device_angles(angles, [&](const auto& on_device) {
        rotate_forward<half_split>(test_device{}, on_device, store(found, scales[1]));
    });
    CHECK(std::ranges::equal(std::as_bytes(std::span(found)), std::as_bytes(std::span(wanted))));
    CHECK(scales[0] == scales[1]);
}

}  // namespace

// A device computed x / d + 0.5 with one rounding: 76 for the first lane below, where the host has 77.
TEST_CASE("backend/cuda/head_formats: q8_0 rounds a lane's quotient before the half is added") {
    std::vector<float> lanes(64);
    const float of_blocks[2][2] = {{0x1.25e3aap+0f, 0x1.620e3cp-1f}, {0x1.12735p+0f, -0x1.e1e8b8p-1f}};
    for (std::size_t block = 0; block < 2; ++block) {
        lanes[32 * block + 5] = of_blocks[block][0];  // the largest gives the scale
        lanes[32 * block + 9] = of_blocks[block][1];
    }
    check_same_bytes<q8_0_block>(lanes, 2, q8_0{});
}

// An infinite lane times the inverse scale 0 is NaN, whose sign processors choose.
TEST_CASE("backend/cuda/head_formats: fp8 codes of NaN and of an infinite scale have no sign") {
    std::vector<float> lanes(64, -1.0f);
    lanes[7] = -std::numeric_limits<float>::infinity();
    check_same_bytes<fp8_e4m3>(lanes, 64, scaled_bytes<fp8_e4m3>{});
    check_same_bytes<fp8_e5m2>(lanes, 64, scaled_bytes<fp8_e5m2>{});
    lanes[7] = -std::numeric_limits<float>::quiet_NaN();
    check_same_bytes<fp8_e4m3>(lanes, 64, scaled_bytes<fp8_e4m3>{});
}
