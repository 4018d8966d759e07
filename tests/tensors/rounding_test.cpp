// SPDX-License-Identifier: MIT
// What codes are computed from is rounded as written, at -O3 too, where compilers contract products and sums, and under
// fast-math.
#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "cordage/backend/simd/lane_memory.hpp"
#include "cordage/tensors/ggml_blocks.hpp"

using namespace cordage;

namespace {

constexpr std::size_t count = 1 << 16;

std::vector<float> random_numbers(unsigned seed, float below) {
    std::mt19937 random(seed);
    std::vector<float> all(count);
    for (float& x : all) x = static_cast<float>(random() >> 8) * 0x1p-24f * below + 0.001f;
    return all;
}

}  // namespace

TEST_CASE("tensors/rounding: a quotient is rounded once") {
    const std::vector<float> a = random_numbers(1, 1.0f), b = random_numbers(2, 100.0f);
    std::vector<float> found(count), by_one(count);
    for (std::size_t i = 0; i < count; ++i) found[i] = tensors_detail::quotient(a[i], b[i]);
    for (std::size_t i = 0; i < count; ++i) by_one[i] = tensors_detail::quotient(a[i], b[7]);
    int wrong = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const volatile double exact = static_cast<double>(a[i]) / static_cast<double>(b[i]);
        const volatile double exact_by_one = static_cast<double>(a[i]) / static_cast<double>(b[7]);
        wrong += found[i] != static_cast<float>(exact) || by_one[i] != static_cast<float>(exact_by_one) ? 1 : 0;
    }
    CHECK(wrong == 0);
}

TEST_CASE("tensors/rounding: q4_0 rounds a product before the sum, as ggml does") {
    using lane = xsimd::batch<float>;
    constexpr std::size_t size = lane::size;
    std::vector<float> x = random_numbers(3, 8.0f), inverse = random_numbers(4, 1.0f);
    // A product and 8.5 are 1.9999999 if the sum is rounded alone, and 2 if the product is before.
    for (std::size_t i = 0; i < 64; ++i) {
        x[i] = 0x1.960ee4p+2f;
        inverse[i] = tensors_detail::quotient(1.0f, -0x1.f3c38cp-1f);
    }
    std::vector<std::uint32_t> single(count), together(count);
    for (std::size_t i = 0; i < count; ++i) single[i] = tensors_detail::q4_0_code(x[i], inverse[i]);
    for (std::size_t i = 0; i < count; i += size) {
        const std::size_t of = i < 64 ? i : i - i % 64;  // of a block
        tensors_detail::q4_0_code(lane::load_unaligned(x.data() + i), inverse[of]).store_unaligned(together.data() + i);
    }
    int wrong = 0;
    const auto wanted = [&](std::size_t i, std::size_t of) {
        const volatile float product = x[i] * inverse[of];
        const volatile float sum = product + 8.5f;
        return static_cast<std::uint32_t>(sum > 15.0f ? 15.0f : sum);
    };
    for (std::size_t i = 0; i < count; ++i) {
        wrong += single[i] != wanted(i, i) || together[i] != wanted(i, i < 64 ? i : i - i % 64) ? 1 : 0;
    }
    CHECK(wrong == 0);
    CHECK(single[0] == 2);
    CHECK(together[0] == 2);
}
