// SPDX-License-Identifier: MIT
#include "cordage/backend/cuda/piece.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace cordage;
using namespace cordage::backend;

TEST_CASE("backend/cuda/piece: floats are converted to 16 bits, one by one and in pieces, as on the host") {
    std::mt19937 random(7);
    for (int i = 0; i < 20'000; ++i) {
        float x[8];
        for (float& value : x) value = lane_traits<float>::from_bits(static_cast<std::uint32_t>(random()));
        const piece halves = packed<float16>(x), brains = packed<bfloat16>(x);
        for (int lane = 0; lane < 8; ++lane) {
            const auto bits = [lane](const piece& p) {
                return static_cast<std::uint16_t>(p.word[lane / 2] >> (16 * (lane % 2)));
            };
            REQUIRE(bits(halves) == to_float16(x[lane]).bits);
            REQUIRE(bits(brains) == to_bfloat16(x[lane]).bits);
        }
    }
}

TEST_CASE("backend/cuda/piece: a piece holds the elements in their order") {
    alignas(16) const bfloat16 brains[8] = {{0x3f80}, {0x4000}, {0x4040}, {0xbf80}, {0}, {0x3f00}, {0x7f80}, {0x4080}};
    float wide[8];
    unpack<bfloat16>(load_piece(brains), wide);
    for (int i = 0; i < 8; ++i) CHECK(wide[i] == to_float(brains[i]));
    bfloat16 stored[8];
    store_piece(packed<bfloat16>(wide), stored);
    for (int i = 0; i < 8; ++i) CHECK(stored[i].bits == brains[i].bits);

    alignas(16) const float floats[4] = {1.0f, -2.0f, 0.5f, 3.0f};
    float same[4];
    unpack<float>(load_piece(floats), same);
    for (int i = 0; i < 4; ++i) CHECK(same[i] == floats[i]);
}
