// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "cordage/rotate/backward.hpp"
#include "rotate/naive_rotation.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

constexpr heads_shape shape{2, 3, 2, 86};  // 5 lanes, then 70 rotated ones, then 11
constexpr index_t first_lane = 5, rotary_dim = 70;

const basis model(frequencies(rotary_dim), 1.25);
const std::vector<std::int32_t> positions{3, 17, 4095};

// The rotated lanes as a separate tensor.
template <class T>
heads_view<T> rotated_lanes(T* data) {
    heads_view<T> v = token_major(data, shape);
    v.data += first_lane;
    v.shape.head_dim = rotary_dim;
    return v;
}

}  // namespace

TEST_CASE_TEMPLATE("rotate/first_lane: it rotates as a view of these lanes does, and copies the other lanes", T, double,
                   float, float16, bfloat16) {
    for_each_kernel_and_avx2([]<class Pairing, class Backend>(Pairing, Backend) {
        const auto x = random_elements<T>(shape, 1);
        const exact_angles angles(model, positions);
        auto expected = x, in_its_place = x;
        auto elsewhere = std::vector<T>(x.size(), stored<T>(9.0));
        rotate_forward<Pairing, Backend>(angles, in_place(rotated_lanes(expected.data())));
        rotate_forward<Pairing, Backend>(angles, in_place(token_major(in_its_place.data(), shape), first_lane));
        rotate_forward<Pairing, Backend>(
            angles, from_to(token_major(x.data(), shape), token_major(elsewhere.data(), shape), first_lane));
        CHECK(same_bits(in_its_place, expected));
        CHECK(same_bits(elsewhere, expected));
    });
}

TEST_CASE_TEMPLATE("rotate/first_lane: the backward pass rotates and sums these lanes", T, double, float, float16,
                   bfloat16) {
    for_each_kernel_and_avx2([]<class Pairing, class Backend>(Pairing, Backend) {
        const auto g = random_elements<T>(shape, 2), y = random_elements<T>(shape, 3);
        const exact_angles angles(model, positions);
        auto expected = g;
        auto elsewhere = std::vector<T>(g.size(), stored<T>(9.0));
        std::vector<double> expected_grad(rotary_dim / 2), grad(rotary_dim / 2);
        double expected_factor = 0.0, factor = 0.0;
        rotate_backward<Pairing, Backend>(
            angles, rotation_gradients{.inv_freq = expected_grad, .attention_factor = {&expected_factor, 1}},
            grad_through(rotated_lanes(g.data()), rotated_lanes(y.data()), rotated_lanes(expected.data())));
        rotate_backward<Pairing, Backend>(angles,
                                          rotation_gradients{.inv_freq = grad, .attention_factor = {&factor, 1}},
                                          grad_through(token_major(g.data(), shape), token_major(y.data(), shape),
                                                       token_major(elsewhere.data(), shape), first_lane));
        CHECK(same_bits(elsewhere, expected));
        CHECK(same_bits(grad, expected_grad));
        CHECK(factor == expected_factor);
    });
}

TEST_CASE("rotate/first_lane: lanes past the end of a head are refused by name") {
    auto x = random_elements<float>(shape, 1);
    const auto before = x;
    const auto view = token_major(x.data(), shape);
    for (const index_t wrong : {index_t{-1}, index_t{17}}) {
        CHECK_THROWS_WITH_AS(
            rotate_forward<half_split>(exact_angles(model, positions), in_place(view, wrong)),
            doctest::Contains(
                ("first_lane " + std::to_string(wrong) + " must be 0 to head_dim - rotary_dim = 16").c_str()),
            shape_error);
    }
    CHECK(same_bits(x, before));
}
