// SPDX-License-Identifier: MIT
// Rotations into formats of whole heads, out of them, and within them.
#include "cordage/tensors/ggml_blocks.hpp"
#include "cordage/tensors/group_formats.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "cordage/rotate/forward.hpp"
#include "cordage/tensors/block_scaled.hpp"
#include "rotate/dense.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

template <class T>
std::vector<std::uint8_t> bytes_of(const std::vector<T>& elements) {
    std::vector<std::uint8_t> bytes(elements.size() * sizeof(T));
    std::memcpy(bytes.data(), elements.data(), bytes.size());
    return bytes;
}

const std::vector<std::int32_t> positions{3, 17, 70'000};

// A rotation into a format, in one call and through floats: the same bytes and scales.
//
// room  allowed difference between values stored and read, relative to the head's largest magnitude
template <class Pairing, class Backend, class T, class Format>
void check_one_pass(Format once_format, Format twice_format, index_t head_dim, float room) {
    const heads_shape shape{1, 3, 11, head_dim}, cache_shape{2, 4, 11, head_dim};  // 11 heads: more than a stage holds
    const basis b(frequencies(head_dim / 2 * 2 - 4), 1.25);
    const exact_angles angles(b, positions);
    const auto x = random_elements<bfloat16>(shape, 5);
    const auto weights = random_elements<float>({1, 1, 1, head_dim}, 6);
    const rms_norm<float> norm{.weight = weights.data()};
    const std::vector<std::int32_t> slots{6, -1, 2};  // one place in two blocks
    const auto size = static_cast<std::size_t>(2 * 4 * 11 * elements_of_head<Format>(head_dim));
    std::vector<T> once(size), twice(size);
    const auto in_cache = [&](std::vector<T>& cache, const Format& format) {
        return in_slots(token_major(cache.data(), cache_shape, format), slots.data(), 1, 3);
    };
    const auto k = token_major(x.data(), shape);
    std::vector<float> between(x.size());
    const auto floats_between = token_major(between.data(), shape);
    for (const bool is_normalized : {false, true}) {
        const auto to_once = from_to(k, in_cache(once, once_format), 2);
        const auto to_floats = from_to(k, floats_between, 2);
        if (is_normalized) {
            rotate_forward<Pairing, Backend>(angles, to_once.normalized(norm));
            rotate_forward<Pairing, Backend>(angles, to_floats.normalized(norm));
        } else {
            rotate_forward<Pairing, Backend>(angles, to_once);
            rotate_forward<Pairing, Backend>(angles, to_floats);
        }
        rotate_forward<Pairing, Backend>(
            angles, from_to(heads_view<const float>(floats_between), in_cache(twice, twice_format)).unrotated());
        CHECK(bytes_of(once) == bytes_of(twice));
    }
    // And back: read, and rotated in place.
    std::vector<float> read(x.size()), rotated(x.size());
    rotate_forward<Pairing, Backend>(angles,
                                     from_to(in_cache(once, once_format), token_major(read.data(), shape)).unrotated());
    for (std::size_t first = 0, lanes = static_cast<std::size_t>(head_dim); first < x.size(); first += lanes) {
        if (first / lanes / 11 == 1) continue;  // the token without a slot
        float largest = 0.0f;
        for (std::size_t i = first; i < first + lanes; ++i) largest = std::max(largest, std::fabs(between[i]));
        for (std::size_t i = first; i < first + lanes; ++i) {
            REQUIRE(std::fabs(read[i] - between[i]) <= room * largest);
        }
    }
    rotate_forward<Pairing, Backend>(angles, from_to(token_major(read.data(), shape), floats_between, 2));
    rotate_forward<Pairing, Backend>(angles, in_place(in_cache(once, once_format), 2));
    rotate_forward<Pairing, Backend>(
        angles, from_to(heads_view<const float>(floats_between), in_cache(twice, twice_format)).unrotated());
    CHECK(bytes_of(once) == bytes_of(twice));
}

}  // namespace

TEST_CASE("rotate/head_formats: norm, rotation and quantised store in one call have the bytes of three") {
    for_each_kernel_and_avx2([]<class Pairing, class Backend>(Pairing, Backend) {
        check_one_pass<Pairing, Backend, q8_0_block>(q8_0{}, q8_0{}, 128, 0.0045f);
        check_one_pass<Pairing, Backend, q4_0_block>(q4_0{}, q4_0{}, 64, 0.126f);
        constexpr index_t heads = 11, slots = 4;
        std::vector<float> one(264), two = one;
        const scale_table first{one.data(), slots * heads, heads, 1}, second{two.data(), slots * heads, heads, 1};
        check_one_pass<Pairing, Backend, std::int8_t>(scaled_bytes<std::int8_t>{first},
                                                      scaled_bytes<std::int8_t>{second}, 90, 0.004f);
        CHECK(one == two);
        check_one_pass<Pairing, Backend, fp8_e4m3>(scaled_bytes<fp8_e4m3>{first}, scaled_bytes<fp8_e4m3>{second}, 128,
                                                   0.063f);
        CHECK(one == two);
        const scale_table by_group{one.data(), slots * heads * 3, heads * 3, 3},
            also_by_group{two.data(), slots * heads * 3, heads * 3, 3};
        check_one_pass<Pairing, Backend, fp8_e5m2>(scaled_bytes<fp8_e5m2>{by_group, 32},
                                                   scaled_bytes<fp8_e5m2>{also_by_group, 32}, 96, 0.126f);
        CHECK(one == two);
        // Scales of one byte, one format for each pairing: four groups, and eight in nvfp4.
        if constexpr (std::same_as<Pairing, half_split>) {
            std::vector<e8m0> powers(264 * 4), also_powers = powers;
            const scale_table_of<e8m0> of_groups{powers.data(), slots * heads * 4, heads * 4, 4},
                also_of_groups{also_powers.data(), slots * heads * 4, heads * 4, 4};
            check_one_pass<Pairing, Backend, fp8_e4m3>(mxfp8_e4m3{of_groups}, mxfp8_e4m3{also_of_groups}, 128, 0.126f);
            CHECK(powers == also_powers);
        } else {
            std::vector<fp8_e4m3> small(264 * 8), also_small = small;
            const scale_table_of<fp8_e4m3> of_sixteen{small.data(), slots * heads * 8, heads * 8, 8},
                also_of_sixteen{also_small.data(), slots * heads * 8, heads * 8, 8};
            check_one_pass<Pairing, Backend, fp4_e2m1_x2>(nvfp4{of_sixteen, 0.002f}, nvfp4{also_of_sixteen, 0.002f},
                                                          128, 0.18f);
            CHECK(small == also_small);
        }
    });
}

TEST_CASE("rotate/head_formats: keys that a rebase does not change keep their bytes") {
    for_each_kernel_and_avx2([]<class Pairing, class Backend>(Pairing, Backend) {
        const heads_shape shape{1, 3, 2, 64};
        const basis b(frequencies(64), 1.25);
        const auto x = random_elements<float>(shape, 9);
        std::vector<q4_0_block> blocks(12);
        const auto keys = token_major(blocks.data(), shape, q4_0{});
        rotate_forward<Pairing, Backend>(exact_angles(b, positions), from_to(token_major(x.data(), shape), keys));
        for (const std::size_t i : {0u, 11u}) {  // from another program: reading and storing would change its bytes
            blocks[i].d = to_float16(0.5f);
            blocks[i].codes.fill(0x9a);
        }
        const auto before = bytes_of(blocks);
        const std::vector<std::int32_t> moved{3, 18, 70'000};
        rebase<Pairing, Backend>(exact_angles(b, positions) - exact_angles(b, positions), in_place(keys));
        CHECK(bytes_of(blocks) == before);
        rebase<Pairing, Backend>(exact_angles(b, moved) - exact_angles(b, positions), in_place(keys));
        const auto after = bytes_of(blocks);
        const std::size_t token = before.size() / 3;
        CHECK(std::equal(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(token), after.begin()));
        CHECK_FALSE(std::equal(before.begin() + static_cast<std::ptrdiff_t>(token),
                               before.begin() + static_cast<std::ptrdiff_t>(2 * token),
                               after.begin() + static_cast<std::ptrdiff_t>(token)));
        CHECK(std::equal(before.begin() + static_cast<std::ptrdiff_t>(2 * token), before.end(),
                         after.begin() + static_cast<std::ptrdiff_t>(2 * token)));
    });
}

TEST_CASE("rotate/head_formats: arguments that do not fit a format are named before anything is written") {
    const heads_shape shape{1, 3, 2, 40};
    const basis b(frequencies(40));
    const exact_angles angles(b, positions);
    const auto x = random_elements<float>(shape, 1);
    std::vector<q8_0_block> blocks(12);
    std::vector<std::int8_t> codes(240, std::int8_t{7});
    float scale = 1.0f;
    const auto into = [&](auto to) { rotate_forward<half_split>(angles, from_to(token_major(x.data(), shape), to)); };
    CHECK_THROWS_WITH_AS(into(token_major(blocks.data(), shape, q8_0{})),
                         "rotate_forward: y's head_dim 40 must be a multiple of 32 and at most 2048 in this format",
                         shape_error);
    const heads_shape large{1, 3, 1, 2080};
    const std::vector<float> floats(6240);
    std::vector<q8_0_block> blocks_of_large(195);
    CHECK_THROWS_WITH_AS(
        rotate_forward<half_split>(
            angles, from_to(token_major(floats.data(), large), token_major(blocks_of_large.data(), large, q8_0{}))),
        "rotate_forward: y's head_dim 2080 must be a multiple of 32 and at most 2048 in this format", shape_error);
    CHECK_THROWS_WITH_AS(
        rotate_forward<half_split>(
            angles, from_to(token_major(x.data(), shape),
                            token_major(codes.data(), shape, scaled_bytes<std::int8_t>{{&scale, 0, 0, 0}}))
                        .normalized(rms_norm<>{.is_over_all_heads = true})),
        "rotate_forward: rms_norm's is_over_all_heads must be false where x or y is in a format of whole heads; "
        "normalize in a separate call first",
        shape_error);
    CHECK_THROWS_WITH_AS(into(token_major(codes.data(), shape, scaled_bytes<std::int8_t>{})),
                         "rotate_forward: y's scales.data nullptr must point to the scales", shape_error);
    const heads_shape none{1, 0, shape.heads, shape.head_dim};
    const exact_angles no_angles(b, std::span(positions.data(), 0));
    CHECK_NOTHROW(rotate_forward<half_split>(
        no_angles, from_to(token_major(x.data(), none), token_major(codes.data(), none, scaled_bytes<std::int8_t>{}))));
    CHECK_THROWS_WITH_AS(into(token_major(codes.data(), shape,
                                          scaled_bytes<std::int8_t>{.scales = {&scale, 0, 0, 0}, .lanes_of_scale = 7})),
                         "rotate_forward: y's lanes_of_scale 7 must divide head_dim 40, or be 0", shape_error);
    // The inverse of a scale below 2^-128 is infinite, and 0 times infinity a NaN.
    for (const float wrong :
         {0.0f, 0x1p-128f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        std::vector<float> scales{1.0f, 1.0f, 1.0f, wrong, 1.0f, 1.0f};
        const scaled_bytes<std::int8_t> given{.scales = {scales.data(), 0, 2, 1}, .makes_scales = false};
        CHECK_THROWS_WITH_AS(into(token_major(codes.data(), shape, given)),
                             doctest::Contains("rotate_forward: y's scale [0, 1, 1, 0] "), value_error);
    }
    CHECK(codes == std::vector<std::int8_t>(240, std::int8_t{7}));
}

TEST_CASE("rotate/head_formats: scales that are made have places of their own, apart from tensors and other scales") {
    using int8 = scaled_bytes<std::int8_t>;
    const heads_shape pair{1, 1, 2, 32};
    const std::vector<std::int32_t> ids{3};
    const basis b(frequencies(32));
    std::vector<float> x(64, 1.0f), scales(4);
    std::vector<std::int8_t> codes(128), both(72);
    const auto to = [&](float* made, index_t token, index_t head, bool makes = true) {
        return from_to(
            token_major(x.data(), pair),
            token_major(codes.data(), pair, int8{.scales = {made, token, token, head}, .makes_scales = makes}));
    };
    const auto rotate = [&](const auto&... operands) { rotate_forward<half_split>(exact_angles(b, ids), operands...); };
    CHECK_THROWS_WITH_AS(rotate(to(scales.data(), 0, 0)),
                         "rotate_forward: y's scales [1, 1, 2, 1] with strides [0, 0, 0, 1] must not overlap each "
                         "other: give their strides, or, to read "
                         "one given scale, set makes_scales = false",
                         shape_error);
    CHECK_THROWS_WITH_AS(rotate(to(x.data() + 62, 2, 1)),
                         "rotate_forward: y's scales [1, 1, 2, 1] must not overlap x [1, 1, 2, 32], as one of them is "
                         "written",
                         shape_error);
    CHECK_THROWS_AS(rotate(to(scales.data(), 2, 1), to(scales.data() + 1, 2, 1)), shape_error);
    CHECK_THROWS_WITH_AS(
        rotate(to(scales.data(), 2, 1),
               from_to(token_major(x.data(), pair),
                       token_major(codes.data() + 64, pair, int8{.scales = {scales.data() + 1, 2, 2, 1}}))),
        "rotate_forward: y's scales [1, 1, 2, 1] must not overlap y's scales [1, 1, 2, 1], as one of them is written",
        shape_error);
    CHECK(codes == std::vector<std::int8_t>(128));
    scales = {1.0f, 1.0f, 1.0f, 1.0f};
    CHECK_NOTHROW(rotate(to(scales.data(), 0, 0, false)));
    CHECK_NOTHROW(rotate(to(scales.data(), 2, 1),
                         from_to(token_major(x.data(), pair),
                                 token_major(codes.data() + 64, pair, int8{.scales = {scales.data() + 2, 2, 2, 1}}))));
    CHECK_NOTHROW(rotate(in_place(token_major(codes.data(), pair, int8{.scales = {scales.data(), 2, 2, 1}}))));
    // After the codes of each head, and 4 bytes too early.
    const auto behind = [&](index_t bytes) {
        auto* const made = reinterpret_cast<float*>(both.data() + bytes);
        return heads_view<std::int8_t, int8>{both.data(), pair, 72, 72, 36, {}, int8{.scales = {made, 18, 18, 9}}};
    };
    CHECK_NOTHROW(rotate(from_to(token_major(x.data(), pair), behind(32))));
    CHECK_THROWS_AS(rotate(from_to(token_major(x.data(), pair), behind(28))), shape_error);
}
