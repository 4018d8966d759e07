// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "allocations.hpp"
#include "cordage/core/threads.hpp"
#include "cordage/rotate/backward.hpp"
#include "cordage/rotate/cos_sin_table.hpp"
#include "cordage/rotate/forward.hpp"
#include "rotate/naive_rotation.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

const basis model(frequencies(128)), longer(std::vector<double>(64, 1e-3));
constexpr heads_shape q_shape{1, 1, 32, 128}, k_shape{1, 1, 8, 128};
const std::vector<std::int32_t> position{70'001};

}  // namespace

TEST_CASE("rotate/allocation: the counter counts" * doctest::skip(cannot_count)) {
    CHECK(allocations_of([] { keep(std::vector<int>(3).data()); }) == 1);
    CHECK(allocations_of([] {}) == 0);
}

TEST_CASE_TEMPLATE("rotate/allocation: a decode step allocates nothing, whoever would run it" *
                       doctest::skip(cannot_count),
                   T, float, float16, bfloat16, double) {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        auto q = random_elements<T>(q_shape, 1), k = random_elements<T>(k_shape, 2);
        const auto q_view = token_major(q.data(), q_shape), k_view = token_major(k.data(), k_shape);
        const cos_sin_table<compute_of<T>> table(exact_angles(model, position));
        CHECK(allocations_of([&] {
                  rotate_forward<Pairing, Backend>(exact_angles(model, position), in_place(q_view), in_place(k_view));
                  rotate_forward<Pairing, Backend>(table.view(), in_place(q_view), in_place(k_view));
                  rotate_forward<Pairing, Backend>(threads{8}, exact_angles(model, position), in_place(q_view));
                  rotate_inverse<Pairing, Backend>(exact_angles(model, position), in_place(q_view));
                  rotate_backward<Pairing, Backend>(exact_angles(model, position), in_place(q_view));
              }) == 0);
    });
}

TEST_CASE("rotate/allocation: gradients allocate the partial sums they say, once a call" *
          doctest::skip(cannot_count)) {
    auto g = random_elements<float>(q_shape, 1), y = g;
    std::vector<double> grad(64);
    CHECK(allocations_of([&] {
              rotate_backward<half_split>(exact_angles(model, position), rotation_gradients{.inv_freq = grad},
                                          grad_through(token_major(g.data(), q_shape), token_major(y.data(), q_shape),
                                                       token_major(g.data(), q_shape)));
          }) == 1);
}
