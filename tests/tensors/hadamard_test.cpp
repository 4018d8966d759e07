// SPDX-License-Identifier: MIT
#include "cordage/tensors/hadamard.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "cordage/rotate/forward.hpp"
#include "cordage/tensors/lane_groups.hpp"
#include "pair/lanes.hpp"
#include "rotate/dense.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

// The matrix by definition: entry (i, j) is negative if i and j share an odd number of bits.
std::vector<double> by_matrix(const float* x, index_t size) {
    std::vector<double> y;
    for (index_t i = 0; i < size; ++i) {
        double sum = 0.0;
        for (index_t j = 0; j < size; ++j) {
            sum += (std::popcount(static_cast<std::uint64_t>(i & j)) % 2 == 0 ? 1.0 : -1.0) * static_cast<double>(x[j]);
        }
        y.push_back(sum / std::sqrt(static_cast<double>(size)));
    }
    return y;
}

const heads_shape shape{1, 3, 11, 128};  // more heads than a stage holds
const std::vector<std::int32_t> position_ids{3, 17, 70'000};
const basis b(frequencies(100), 1.25), basis_of_small(frequencies(96));

}  // namespace

TEST_CASE("tensors/hadamard: the transform is Sylvester's matrix, and its own inverse") {
    for (index_t size = 1; size <= 512; size *= 2) {
        const auto x = random_elements<float>({1, 1, 1, size}, 3);
        std::vector<float> y = x;
        hadamard_transform(y.data(), size);
        const auto expected = by_matrix(x.data(), size);
        double largest = 0.0;
        for (const double e : expected) largest = std::max(largest, std::fabs(e));
        for (std::size_t i = 0; i < y.size(); ++i) {
            REQUIRE(std::fabs(static_cast<double>(y[i]) - expected[i]) <= 1e-6 * largest);
        }
#if defined(CORDAGE_HAS_SIMD)
        for_each_arch([&]<class Arch>(Arch) {
            std::vector<float> in_vectors = x;
            hadamard_transform<xsimd::batch<float, Arch>>(in_vectors.data(), size);
            REQUIRE(same_bits(in_vectors, y));
        });
#endif
        hadamard_transform(y.data(), size);
        for (std::size_t i = 0; i < y.size(); ++i) REQUIRE(std::fabs(y[i] - x[i]) <= 4e-6f);
    }
}

TEST_CASE("tensors/hadamard: the transform of each group of the rotated lanes is stored, in any format") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const exact_angles angles(b, position_ids);
        const auto k = random_elements<float>(shape, 4);
        std::vector<float> rotated(k.size());
        rotate_forward<Pairing, Backend>(angles,
                                         from_to(token_major(k.data(), shape), token_major(rotated.data(), shape), 20));
        for (const index_t size : {index_t{64}, index_t{128}, index_t{1}}) {
            std::vector<float> transformed = rotated;
            for (index_t first = 0; first < std::ssize(transformed); first += size) {
                hadamard_transform(transformed.data() + first, size);
            }
            std::vector<q8_0_block> found(k.size() / 32), expected(found.size());
            const auto view = token_major(found.data(), shape, hadamard<q8_0>{.size = size});
            rotate_forward<Pairing, Backend>(angles, from_to(token_major(k.data(), shape), view, 20));
            for (std::size_t i = 0; i < expected.size(); i += 4) {
                q8_0{}.store_head<float>(transformed.data() + 32 * i, 128, expected.data() + i, {});
            }
            REQUIRE(std::memcmp(found.data(), expected.data(), found.size() * sizeof(q8_0_block)) == 0);
            // A rebase rotates the lanes themselves; heads that are not rotated keep their bytes.
            std::vector<float> read(k.size());
            rotate_inverse<Pairing, Backend>(angles, from_to(view, token_major(read.data(), shape), 20));
            for (std::size_t i = 0; i < k.size(); ++i) REQUIRE(std::fabs(read[i] - k[i]) <= 0.1f);
            const auto same = exact_angles(b, position_ids) - exact_angles(b, position_ids);
            std::vector<q8_0_block> copied(found.size());
            rebase<Pairing, Backend>(
                same, from_to(view, token_major(copied.data(), shape, hadamard<q8_0>{.size = size}), 20));
            REQUIRE(std::memcmp(found.data(), copied.data(), found.size() * sizeof(q8_0_block)) == 0);
        }
        // Elements, and blocks in groups.
        std::vector<bfloat16> elements(k.size());
        rotate_forward<Pairing, Backend>(
            angles, from_to(token_major(rotated.data(), shape),
                            token_major(elements.data(), shape, hadamard<element_traits<bfloat16>>{}))
                        .unrotated());
        hadamard_transform(rotated.data(), 64);
        for (std::size_t i = 0; i < 64; ++i) REQUIRE(elements[i].bits == to_bfloat16(rotated[i]).bits);
        std::vector<q4_0_block> packed(k.size() / 32), plain(packed.size());
        const auto store = [&](const auto& view) {
            rotate_forward<Pairing, Backend>(angles, from_to(token_major(k.data(), shape), view));
        };
        store(token_major(plain.data(), shape, hadamard<q4_0>{}));
        store(group_major(packed.data(), shape, 2, hadamard<q4_0>{}));
        CHECK(std::memcmp(&packed[0], &plain[0], 2 * sizeof(q4_0_block)) == 0);
        CHECK(std::memcmp(&packed[6], &plain[2], 2 * sizeof(q4_0_block)) == 0);
    });
}

TEST_CASE("tensors/hadamard: outliers cost less where they are spread") {
    auto k = random_elements<float>({1, 1, 1, 128}, 8);
    k[17] = 60.0f;
    const auto error_of = [&](const auto& format) {
        std::vector<q4_0_block> blocks(4);
        std::vector<float> back(128);
        format.template store_head<float>(k.data(), 128, blocks.data(), {});
        format.template load_head<float>(blocks.data(), {}, back.data(), 128);
        double sum = 0.0;
        for (std::size_t i = 0; i < 128; ++i) sum += std::pow(static_cast<double>(back[i] - k[i]), 2);
        return std::sqrt(sum);
    };
    CHECK(error_of(hadamard<q4_0>{.size = 128}) < 0.8 * error_of(q4_0{}));
}

TEST_CASE("tensors/hadamard: transforms of two sizes are two formats") {
    const heads_shape one{1, 1, 1, 128};
    const std::vector<std::int32_t> id{3};
    std::vector<q8_0_block> x(4), same(4), other(4);
    for (auto& block : x) block.d = to_float16(0.5f), block.codes.fill(3);  // from another program
    const auto view = [&](std::vector<q8_0_block>& blocks, index_t size) {
        return token_major(blocks.data(), one, hadamard<q8_0>{.size = size});
    };
    const auto copy = [&](const auto& from, const auto& to) {
        rotate_forward<half_split>(exact_angles(b, id), from_to(from, to).unrotated());
    };
    copy(view(x, 64), view(same, 64));
    CHECK(std::memcmp(x.data(), same.data(), sizeof(q8_0_block) * 4) == 0);
    copy(view(x, 64), view(other, 128));
    copy(view(same, 64), view(same, 128));
    CHECK(std::memcmp(x.data(), other.data(), sizeof(q8_0_block) * 4) != 0);
    CHECK(std::memcmp(same.data(), other.data(), sizeof(q8_0_block) * 4) == 0);
}

TEST_CASE("tensors/hadamard: sizes that are no power of two or do not divide a head are refused") {
    std::vector<bfloat16> x(4224);
    const exact_angles angles(b, position_ids);
    for (const index_t size : {index_t{0}, index_t{-64}, index_t{96}, index_t{256}, index_t{48}}) {
        CAPTURE(size);
        CHECK_THROWS_AS(
            rotate_forward<half_split>(
                angles, in_place(token_major(x.data(), shape, hadamard<element_traits<bfloat16>>{.size = size}))),
            shape_error);
    }
    std::vector<bfloat16> y(288);
    const heads_shape small{1, 3, 1, 96};
    const exact_angles few(basis_of_small, position_ids);
    CHECK_THROWS_AS(
        rotate_forward<half_split>(few, in_place(token_major(y.data(), small, hadamard<element_traits<bfloat16>>{48}))),
        shape_error);
    CHECK_NOTHROW(rotate_forward<half_split>(
        few, in_place(token_major(y.data(), small, hadamard<element_traits<bfloat16>>{32}))));
    CHECK_THROWS_WITH_AS(
        rotate_forward<half_split>(
            angles, in_place(token_major(x.data(), shape, hadamard<element_traits<bfloat16>>{.size = 256}))),
        "rotate_forward: x's hadamard size 256 must be a power of two that divides head_dim 128", shape_error);
}
