// SPDX-License-Identifier: MIT
#include "cordage/models/positions/latent_positions.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <numbers>

#include "cordage/basis/axial.hpp"
#include "cordage/kernels.hpp"
#include "cordage/scaling/power_laws.hpp"

using namespace cordage;

namespace {

// One axis of a view.
template <class P>
std::vector<P> axis(const position_view<P>& view, index_t axis_at) {
    std::vector<P> all;
    for (index_t token = 0; token < view.tokens; ++token) all.push_back(view.at(0, token, axis_at));
    return all;
}
using numbers = std::vector<double>;
using ids = std::vector<std::int32_t>;

// Whether two lanes that were 1 and 0 are rotated by an angle.
bool is_rotated(const std::vector<float>& x, std::size_t lane0, std::size_t lane1, double angle) {
    return std::abs(x[lane0] - std::cos(angle)) < 1e-6 && std::abs(x[lane1] - std::sin(angle)) < 1e-6;
}
// x whose pairs are (1, 0): the first of two neighbours, or the first half of each head.
std::vector<float> ones(index_t tokens, index_t lanes, index_t distance) {
    std::vector<float> x(static_cast<std::size_t>(tokens * lanes));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<index_t>(i) / distance % 2 == 0 ? 1.0f : 0.0f;
    return x;
}

}  // namespace

TEST_CASE("models/positions/latent_positions: text is along a line, and a grid has its last axis fastest") {
    latent_positions<> positions(3);
    positions.text(2, {1, 0, 0}, {1, 0, 0});
    positions.grid({spaced(1, 3), spaced(2), spaced(3, -1.5, 0.5)});
    positions.text(2, {0, 0, 7});
    CHECK(positions.tokens() == 10);
    CHECK(axis(positions.view(), 0) == numbers{1, 2, 3, 3, 3, 3, 3, 3, 0, 0});
    CHECK(axis(positions.view(), 1) == numbers{0, 0, 0, 0, 0, 1, 1, 1, 0, 0});
    CHECK(axis(positions.view(), 2) == numbers{0, 0, -1.5, -1, -0.5, -1.5, -1, -0.5, 7, 7});
    // text and image apart
    CHECK(axis(positions.view(2, 6), 2) == numbers{-1.5, -1, -0.5, -1.5, -1, -0.5});
    CHECK(positions.view(2, 0).tokens == 0);
    CHECK(positions.view().axes == 3);
}

TEST_CASE("models/positions/latent_positions: appending token by token moves the positions rarely, not each time") {
    latent_positions<std::int32_t> positions(2);
    positions.text(10000, {0, 0}, {1, 0});
    const auto* data = positions.view().data;
    int moves = 0;
    for (int i = 0; i < 1000; ++i) {
        positions.text(1, {i, 0});
        moves += positions.view().data != data;
        data = positions.view().data;
    }
    CHECK(moves <= 1);
}

TEST_CASE("models/positions/latent_positions: integers stay integers") {
    latent_positions<std::int32_t> positions(2);
    positions.grid({spaced<std::int32_t>(2), spaced<std::int32_t>(3, -2)});
    CHECK(axis(positions.view(), 0) == ids{0, 0, 0, 1, 1, 1});
    CHECK(axis(positions.view(), 1) == ids{-2, -1, 0, -2, -1, 0});
    CHECK(spaced<std::int32_t>(3, 4, 8) == ids{4, 12, 20});
    CHECK(spaced<std::int32_t>(0).empty());
}

TEST_CASE("models/positions/latent_positions: integers up to the limits of their type") {
    const std::vector<int> wide{-2147483647, -1073741823, 1, 1073741825};
    CHECK(spaced<int>(4, -2147483647, 1073741824) == wide);
    latent_positions<int> positions(1);
    positions.text(4, {-2147483647}, {1073741824});
    for (index_t i = 0; i < 4; ++i) CHECK(positions.view().at(0, i) == wide[static_cast<std::size_t>(i)]);
}

TEST_CASE("models/positions/latent_positions: nothing at all is a piece as well") {
    latent_positions<> positions(2);
    positions.grid({spaced(0), spaced(5)});
    positions.text(0, {1, 2});
    CHECK(positions.tokens() == 0);
    CHECK(positions.view().tokens == 0);
}

TEST_CASE("models/positions/latent_positions: invalid arguments are named, and append nothing") {
    CHECK_THROWS_WITH_AS(latent_positions<>(0), "latent_positions: axes 0 must be 1 to 256", value_error);
    CHECK_THROWS_AS(latent_positions<>(257), value_error);
    latent_positions<std::int32_t> positions(3);
    positions.text(2, {0, 0, 0});
    CHECK_THROWS_WITH_AS(positions.text(1, {0, 0}),
                         "latent_positions::text: first has 2 entries, must have one for each of 3 axes", shape_error);
    CHECK_THROWS_WITH_AS(positions.text(1, {0, 0, 0}, {1}),
                         "latent_positions::text: step has 1 entries, must have one for each of 3 axes", shape_error);
    CHECK_THROWS_WITH_AS(positions.grid({{1}, {2}}),
                         "latent_positions::grid: coordinates has 2 entries, must have one for each of 3 axes",
                         shape_error);
    CHECK_THROWS_WITH_AS(positions.text(-1, {0, 0, 0}), "latent_positions::text: count -1 must be 0 to 2^31",
                         value_error);
    CHECK_THROWS_WITH_AS(spaced(-1), "spaced: count -1 must be 0 to 2^31", value_error);
    CHECK_THROWS_WITH_AS(spaced<std::int8_t>(129),
                         "spaced: position 128 of token 128 must be below 2^7 in magnitude, the limit of its type",
                         value_error);
    CHECK(spaced<std::int8_t>(128).back() == 127);
    CHECK_THROWS_AS(positions.text(2, {0, 0, -2147483647}, {0, 0, -2147483647}), value_error);
    const ids side(1 << 11);
    CHECK_THROWS_WITH_AS(positions.grid({side, side, side}),
                         "latent_positions::grid: 8589934592 tokens after 2 must be at most 2^31 in total",
                         value_error);
    CHECK_THROWS_WITH_AS(positions.view(1, 2),
                         "latent_positions::view: first 1 and count 2 must lie within the 2 tokens appended so far",
                         value_error);
    CHECK_THROWS_AS(positions.view(-1, 1), value_error);
    CHECK_THROWS_AS(positions.view(0, -1), value_error);
    CHECK(positions.tokens() == 2);
}

TEST_CASE("models/positions/latent_positions: as the page on other libraries has it, axes in blocks") {
    std::vector<float> of_q = ones(31, 128, 1);
    const auto q = token_major(of_q.data(), {1, 31, 1, 128});
    // [blocks]
    const std::vector<cordage::index_t> sections{16, 24, 24};  // pairs: widths of 32, 48 and 48 lanes
    const cordage::basis basis = cordage::axial_basis(sections, 256.0);
    const auto axis_of_pair = cordage::contiguous_axes(sections);
    cordage::latent_positions<> positions(3);
    positions.text(7, {1, 0, 0}, {1, 0, 0});
    positions.grid({{8}, cordage::spaced(4), cordage::spaced(6)});
    const cordage::axis_angles angles(basis, axis_of_pair, positions.view());
    cordage::rotate_forward<cordage::interleaved>(angles, cordage::in_place(q));
    // [/blocks]
    const std::size_t last = std::size_t{30} * 128;  // at 8, 3, 5
    CHECK(is_rotated(of_q, last, last + 1, 8.0));
    CHECK(is_rotated(of_q, last + 2, last + 3, 8.0 * std::pow(256.0, -2.0 / 32)));
    CHECK(is_rotated(of_q, last + 34, last + 35, 3.0 * std::pow(256.0, -2.0 / 48)));
    CHECK(is_rotated(of_q, last + 126, last + 127, 5.0 * std::pow(256.0, -46.0 / 48)));
    CHECK(is_rotated(of_q, 128, 129, 2.0));
    CHECK(is_rotated(of_q, 128 + 40, 128 + 41, 0.0));
}

TEST_CASE("models/positions/latent_positions: as the page on other libraries has it, a policy for each axis") {
    std::vector<float> of_q = ones(24, 128, 64);
    const auto q = token_major(of_q.data(), {1, 24, 1, 128});
    // [policies]
    const cordage::rope_config frames{.head_dim = 44, .rotary_dim = 44, .original_length = 128};
    const cordage::rope_config sides{.head_dim = 42, .rotary_dim = 42, .original_length = 120};
    const cordage::basis of_frames = cordage::make_basis(frames, cordage::ntk_aware{}, 2.0);
    const cordage::basis of_sides = cordage::make_basis(sides, cordage::ntk_aware{}, 1.0);
    const cordage::basis basis = cordage::axial_basis({&of_frames, &of_sides, &of_sides});
    const auto axis_of_pair = cordage::contiguous_axes({22, 21, 21});
    cordage::latent_positions<> positions(3);
    positions.grid({cordage::spaced(2, 0, 24.0 / 30), cordage::spaced(3), cordage::spaced(4)});  // 30 frames a second
    const cordage::axis_angles angles(basis, axis_of_pair, positions.view());
    cordage::rotate_forward<cordage::half_split>(angles, cordage::in_place(q));
    // [/policies]
    const std::size_t last = std::size_t{23} * 128;  // at 0.8, 2, 3
    CHECK(is_rotated(of_q, last, last + 64, 0.8));
    CHECK(is_rotated(of_q, last + 21, last + 85, 0.4 * std::pow(10000.0, -42.0 / 44)));
    CHECK(is_rotated(of_q, last + 22 + 20, last + 106, 2.0 * std::pow(10000.0, -40.0 / 42)));
    CHECK(is_rotated(of_q, last + 43, last + 107, 3.0));
}

TEST_CASE("models/positions/latent_positions: as the page on other libraries has it, frequencies over all heads") {
    std::vector<float> of_x = ones(6, 256, 1), of_split = ones(6, 256, 32);
    // [vector]
    constexpr std::size_t lanes = 256, count = lanes / 6;  // of all heads; frequencies of each of 3 axes
    std::vector<double> inv_freq(lanes / 2 - 3 * count);   // remaining pairs come first and are not rotated
    std::vector<std::uint8_t> axis_of_pair(inv_freq.size());
    for (std::size_t i = 0; i < count; ++i) {
        for (std::uint8_t axis = 0; axis < 3; ++axis) {
            inv_freq.push_back(std::numbers::pi / 2 * std::pow(10000.0, double(i) / (count - 1)));
            axis_of_pair.push_back(axis);
        }
    }
    cordage::latent_positions<> positions(3);  // 2c/size - 1: seconds of 20, rows and columns of 2048 pixels
    positions.grid({{-1.0}, cordage::spaced(2, -1, 64.0 / 2048), cordage::spaced(3, -1, 64.0 / 2048)});
    const cordage::basis basis(inv_freq);
    const auto one_vector = cordage::token_major(of_x.data(), {.tokens = 6, .heads = 1, .head_dim = lanes});
    const cordage::axis_angles angles(basis, axis_of_pair, positions.view());
    cordage::rotate_forward<cordage::interleaved>(angles, cordage::in_place(one_vector));
    // [/vector]
    const std::size_t last = std::size_t{5} * 256;  // at -1, -1 + 64/2048, -1 + 128/2048
    const double second = std::numbers::pi / 2 * std::pow(10000.0, 1.0 / 41);
    CHECK(is_rotated(of_x, last, last + 1, 0.0));
    CHECK(is_rotated(of_x, last + 2, last + 3, 0.0));
    CHECK(is_rotated(of_x, last + 4, last + 5, -std::numbers::pi / 2));
    CHECK(is_rotated(of_x, last + 6 + 6, last + 6 + 7, second * (64.0 / 2048 - 1)));
    CHECK(is_rotated(of_x, last + 6 + 8, last + 6 + 9, second * (128.0 / 2048 - 1)));
    // [heads]
    constexpr std::size_t heads = 4, pairs = lanes / 2 / heads;  // half_split in each head; pairs of a head
    std::vector<cordage::basis> made;                            // [heads, axes]
    for (std::size_t head = 0; head < heads; ++head) {
        for (int axis = 0; axis < 3; ++axis) {
            std::vector<double> of_axis(pairs);  // 0 for pairs of another axis
            for (std::size_t i = 0, pair = head * pairs; i < pairs; ++i, ++pair) {
                if (axis_of_pair[pair] == axis) of_axis[i] = inv_freq[pair];
            }
            made.emplace_back(of_axis);
        }
    }
    std::vector<const cordage::basis*> bases;
    bases.reserve(made.size());
    for (const cordage::basis& b : made) bases.push_back(&b);
    const cordage::basis_list list(bases);
    const auto in_heads = cordage::token_major(of_split.data(), {.tokens = 6, .heads = heads, .head_dim = 2 * pairs});
    const cordage::summed_axes of_heads(list.of_rows(), positions.view());
    cordage::rotate_forward<cordage::half_split>(of_heads, cordage::in_place(cordage::heads_as_rows(in_heads)));
    // [/heads]
    for (std::size_t pair = 0; pair < 128; ++pair) {
        const std::size_t head = pair / 32, lane = last + head * 64 + pair % 32;
        CHECK(of_split[lane] == doctest::Approx(of_x[last + 2 * pair]).epsilon(1e-6));
        CHECK(of_split[lane + 32] == doctest::Approx(of_x[last + 2 * pair + 1]).epsilon(1e-6));
    }
}
