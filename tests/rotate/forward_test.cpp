// SPDX-License-Identifier: MIT
#include "cordage/rotate/forward.hpp"

#include "rotate/naive_rotation.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

struct sizes {
    index_t head_dim, rotary_dim, tokens;
};
const std::vector<sizes> ragged{{6, 6, 5},   {8, 2, 3},   {8, 8, 1},     {20, 20, 3},   {64, 64, 67}, {80, 32, 4},
                                {96, 96, 2}, {96, 70, 2}, {128, 128, 3}, {128, 126, 1}, {256, 256, 1}};

template <class T>
void check_every_size() {
    for_each_kernel_and_avx2([]<class Pairing, class Backend>(Pairing, Backend) {
        for (const auto& [head_dim, rotary_dim, tokens] : ragged) {
            const heads_shape shape{1, tokens, 3, head_dim};
            const auto x = random_elements<T>(shape, 1);
            std::vector<T> y(x.size()), both = x;
            std::vector<std::int32_t> positions;
            for (index_t i = 0; i < tokens; ++i) positions.push_back(static_cast<std::int32_t>(i * 37));
            const basis b(frequencies(rotary_dim));
            const exact_angles angles(b, positions);
            rotate_forward<Pairing, Backend>(angles,
                                             from_to(token_major(x.data(), shape), token_major(y.data(), shape)));
            const naive_rotation naive(shape, frequencies(rotary_dim), 1.0, positions, is_interleaved<Pairing>);
            naive.check(values(x), y, naive.rotated(values(x)));
            rotate_forward<Pairing, Backend>(angles, in_place(token_major(both.data(), shape)));
            REQUIRE(same_bits(both, y));
            std::vector<T> keys(x.size()), same = x;
            rotate_forward<Pairing, Backend>(angles,
                                             from_to(token_major(x.data(), shape), token_major(keys.data(), shape)),
                                             in_place(token_major(same.data(), shape)).unrotated());
            REQUIRE(same_bits(keys, y));
            REQUIRE(same_bits(same, x));
        }
    });
}

}  // namespace

TEST_CASE("rotate/forward: double, both pairings, ragged sizes, out of place and in place") {
    check_every_size<double>();
}
TEST_CASE("rotate/forward: float, both pairings, ragged sizes, out of place and in place") {
    check_every_size<float>();
}
TEST_CASE("rotate/forward: float16, both pairings, ragged sizes, out of place and in place") {
    check_every_size<float16>();
}
TEST_CASE("rotate/forward: bfloat16, both pairings, ragged sizes, out of place and in place") {
    check_every_size<bfloat16>();
}
