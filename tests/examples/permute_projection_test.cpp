// SPDX-License-Identifier: MIT
#include "../../examples/own_methods/permute_projection.hpp"

#include <numeric>
#include <string>

#include "cordage/rotate/forward.hpp"
#include "rotate/naive_rotation.hpp"

using namespace cordage;
using namespace own;
using namespace cordage_test;

namespace {

template <class T>
std::vector<T> counted(const projection_shape& s) {
    std::vector<T> all(static_cast<std::size_t>(s.heads * s.head_dim * s.row_length));
    std::iota(all.begin(), all.end(), T{});
    return all;
}

template <class From, class To, class T>
std::vector<T> permuted(const projection_shape& shape, const std::vector<T>& weight) {
    std::vector<T> out(weight.size());
    permute_projection<From, To>(shape, weight.data(), out.data());
    return out;
}

// y = weight x + bias for one token, [1, 1, heads, head_dim].
std::vector<double> projected(const projection_shape& s, const std::vector<double>& weight,
                              const std::vector<double>& bias, const std::vector<double>& x) {
    std::vector<double> y = bias;
    for (std::size_t row = 0; row < y.size(); ++row) {
        for (std::size_t i = 0; i < x.size(); ++i) y[row] += weight[row * x.size() + i] * x[i];
    }
    REQUIRE(y.size() == static_cast<std::size_t>(s.heads * s.head_dim));
    return y;
}

template <class From, class To>
void check_outputs(index_t rotary_dim, index_t first_lane) {
    const projection_shape shape{
        .heads = 3, .head_dim = 14, .rotary_dim = rotary_dim, .row_length = 5, .first_lane = first_lane};
    projection_shape of_bias = shape;
    of_bias.row_length = 1;
    const auto weight = random_elements<double>({1, 1, 42, 5}, 90), bias = random_elements<double>({1, 1, 3, 14}, 91);
    const auto x = random_elements<double>({1, 1, 1, 5}, 92);
    const basis b(frequencies(rotary_dim), 1.25);
    const std::vector<std::int32_t> position{77};
    const auto rotated = [&]<class Pairing>(Pairing, std::vector<double> y) {
        const heads_view<double> rotated_lanes{y.data() + first_lane, {1, 1, 3, 14 - first_lane}, 42, 42, 14};
        rotate_forward<Pairing>(exact_angles(b, position), in_place(rotated_lanes));
        return y;
    };
    const auto before = rotated(From{}, projected(shape, weight, bias, x));
    const auto after =
        rotated(To{}, projected(shape, permuted<From, To>(shape, weight), permuted<From, To>(of_bias, bias), x));
    const auto expected = permuted<From, To>(of_bias, before);  // the same numbers, in the new order of lanes
    for (std::size_t i = 0; i < after.size(); ++i) CHECK(std::fabs(after[i] - expected[i]) < 1e-13);
    CHECK((rotary_dim < 4 || after != before));
}

}  // namespace

TEST_CASE("examples/permute_projection: the rows of a head, in the order of the other layout") {
    const projection_shape shape{.heads = 2, .head_dim = 8, .rotary_dim = 6};
    const std::vector<int> half{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    CHECK(permuted<half_split, interleaved>(shape, half) ==
          std::vector<int>{0, 3, 1, 4, 2, 5, 6, 7, 8, 11, 9, 12, 10, 13, 14, 15});
    CHECK(permuted<interleaved, half_split>(shape, half) ==
          std::vector<int>{0, 2, 4, 1, 3, 5, 6, 7, 8, 10, 12, 9, 11, 13, 14, 15});
    CHECK(permuted<interleaved, interleaved>(shape, half) == half);
    const projection_shape tail{.heads = 1, .head_dim = 8, .rotary_dim = 4, .row_length = 2, .first_lane = 3};
    CHECK(permuted<half_split, interleaved>(tail, half) ==
          std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 8, 9, 12, 13, 14, 15});
}

TEST_CASE("examples/permute_projection: permuted weights and biases with the other pairing give the permuted output") {
    for (const index_t rotary_dim : {14, 10, 2}) {
        check_outputs<half_split, interleaved>(rotary_dim, 0);
        check_outputs<interleaved, half_split>(rotary_dim, 0);
    }
    check_outputs<interleaved, half_split>(6, 8);  // rotated lanes come last
    check_outputs<half_split, interleaved>(6, 3);
}

TEST_CASE("examples/permute_projection: there and back gives the same bits, in place or out of place, of any type") {
    const auto with_type = []<class T>(const std::vector<T>& weight, const projection_shape& shape) {
        const auto other = permuted<half_split, interleaved>(shape, weight);
        CHECK(permuted<interleaved, half_split>(shape, other) == weight);
        auto in_place_weight = weight;
        permute_projection<half_split, interleaved>(shape, in_place_weight.data(), in_place_weight.data());
        CHECK(in_place_weight == other);
        permute_projection<interleaved, half_split>(shape, in_place_weight.data(), in_place_weight.data());
        CHECK(in_place_weight == weight);
    };
    for (const index_t rotary_dim : {0, 2, 6, 8}) {
        const projection_shape shape{.heads = 3, .head_dim = 9, .rotary_dim = rotary_dim, .row_length = 4};
        with_type(counted<float>(shape), shape);
        with_type(counted<std::int8_t>(shape), shape);
        with_type(counted<std::int64_t>(shape), shape);
        std::vector<std::string> names;
        for (const int i : counted<int>(shape)) names.push_back(std::to_string(i));
        with_type(names, shape);
    }
    // NaN bits are preserved too.
    const projection_shape shape{.heads = 1, .head_dim = 4, .rotary_dim = 4};
    std::vector<bfloat16> weight;
    for (const int bits : {0x7fc1, 0xff80, 0x8000, 0x0001})
        weight.push_back(bfloat16::from_bits(static_cast<std::uint16_t>(bits)));
    const auto back = permuted<interleaved, half_split>(shape, permuted<half_split, interleaved>(shape, weight));
    CHECK(same_bits(back, weight));
}

TEST_CASE("examples/permute_projection: shapes and views that cannot be are refused before anything is written") {
    std::vector<float> weight(40, 1.0f);
    const auto before = weight;
    const auto refused = [&](const projection_shape& shape) {
        return [&, shape] { permute_projection<half_split, interleaved>(shape, weight.data(), weight.data()); };
    };
    CHECK_THROWS_WITH_AS(refused({2, 8, 5})(), "permute_projection: rotary_dim 5 must be even, >= 0 and <= head_dim 8",
                         shape_error);
    CHECK_THROWS_WITH_AS(refused({2, 8, 10})(),
                         "permute_projection: rotary_dim 10 must be even, >= 0 and <= head_dim 8", shape_error);
    CHECK_THROWS_WITH_AS(refused({2, 8, 6, 1, 3})(),
                         "permute_projection: first_lane 3 must be 0 to head_dim - rotary_dim = 2", shape_error);
    CHECK_THROWS_WITH_AS(refused({-2, 8, 6})(),
                         "permute_projection: heads -2, head_dim 8 and row_length 1 must be >= 0 and <= 2^31, "
                         "head_dim >= 2, and their product <= 2^62",
                         shape_error);
    CHECK_THROWS_AS(refused({2, 8, 6, -1})(), shape_error);
    CHECK_THROWS_AS(refused({index_t{1} << 31, index_t{1} << 31, 6, 2})(), shape_error);
    const projection_shape shape{2, 8, 6, 2};
    CHECK_THROWS_WITH_AS((permute_projection<half_split, interleaved>(shape, weight.data(), weight.data() + 1)),
                         "permute_projection: permuted must be weight itself or not overlap it; it overlaps it "
                         "partly",
                         shape_error);
    CHECK_THROWS_WITH_AS((permute_projection<half_split, interleaved, float>(shape, nullptr, weight.data())),
                         "permute_projection: weight nullptr must point to 32 elements", shape_error);
    CHECK(weight == before);
    CHECK_NOTHROW(refused({0, 8, 6})());
}
