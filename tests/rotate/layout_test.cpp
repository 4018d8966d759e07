// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <numeric>

#include "cordage/core/threads.hpp"
#include "cordage/rotate/backward.hpp"
#include "rotate/dense.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

const basis model(frequencies(20), 1.25);
const std::vector<std::int32_t> positions{0, 17, 4095, 5, 6, 7};
const position_view<std::int32_t> rows(positions.data(), 2, 3, 3);

template <class Pairing, class T>
std::vector<T> rotated_densely(std::vector<T> x, const heads_shape& shape) {
    rotate_forward<Pairing, backend::scalar>(exact_angles(model, rows), in_place(token_major(x.data(), shape)));
    return x;
}

// The dense result, computed by `Backend` from one view into another.
template <class Pairing, class Backend, class T>
void check_views(const heads_shape& shape, const heads_view<T>& x, const heads_view<T>& y) {
    const auto dense = random_elements<T>(shape, 7);
    scatter(dense, x);
    rotate_forward<Pairing, Backend>(exact_angles(model, rows), from_to(x, y));
    const naive_rotation naive(shape, frequencies(20), 1.25, positions, is_interleaved<Pairing>);
    naive.check(values(dense), gather(y), naive.rotated(values(dense)));
}

}  // namespace

TEST_CASE("rotate/layout: token major, head major and padded views, and from one layout into another") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const auto with_type = []<class T>(T) {
            const heads_shape shape{2, 3, 4, 24};
            std::vector<T> a(2 * 3 * 4 * 24), b(a.size()), wide(3000);
            const auto tokens = token_major(a.data(), shape);
            const auto heads = head_major(b.data(), shape);
            const heads_view<T> padded{wide.data() + 3, shape, 1300, 131, 31};
            check_views<Pairing, Backend>(shape, heads, heads);
            check_views<Pairing, Backend>(shape, tokens, heads);
            check_views<Pairing, Backend>(shape, heads, padded);
            check_views<Pairing, Backend>(shape, padded, padded);
        };
        with_type(float{});
        with_type(bfloat16{});
    });
}

// q has 4 heads, k and v have 2, all in one buffer [tokens, q heads + k heads + v heads, head_dim].
TEST_CASE("rotate/layout: q and k of one fused buffer are rotated in one call, v and gaps do not change") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const heads_shape whole{2, 3, 8, 24}, q_shape{2, 3, 4, 24}, k_shape{2, 3, 2, 24};
        const auto before = random_elements<float>(whole, 8);
        std::vector<float> fused = before, untouched = before;
        const auto part = [&](std::vector<float>& buffer, const heads_shape& shape, index_t head) {
            return heads_view<float>{buffer.data() + head * 24, shape, 3 * 8 * 24, 8 * 24, 24};
        };
        const auto q = part(fused, q_shape, 0), k = part(fused, k_shape, 4), v = part(fused, k_shape, 6);
        rotate_forward<Pairing, Backend>(exact_angles(model, rows), in_place(q), in_place(k));
        const naive_rotation for_q(q_shape, frequencies(20), 1.25, positions, is_interleaved<Pairing>);
        const naive_rotation for_k(k_shape, frequencies(20), 1.25, positions, is_interleaved<Pairing>);
        const auto q_before = values(gather(part(untouched, q_shape, 0)));
        const auto k_before = values(gather(part(untouched, k_shape, 4)));
        for_q.check(q_before, gather(q), for_q.rotated(q_before));
        for_k.check(k_before, gather(k), for_k.rotated(k_before));
        CHECK(same_bits(gather(v), gather(part(untouched, k_shape, 6))));
    });
}

TEST_CASE("rotate/layout: operands in one call have the bits of separate calls") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const heads_shape q_shape{2, 3, 5, 20}, k_shape{2, 3, 1, 32};
        auto q = random_elements<float>(q_shape, 9), k = random_elements<float>(k_shape, 10);
        auto q_alone = q, k_alone = k;
        const exact_angles angles(model, rows);
        rotate_forward<Pairing, Backend>(angles, in_place(token_major(q.data(), q_shape)),
                                         in_place(token_major(k.data(), k_shape)));
        rotate_forward<Pairing, Backend>(angles, in_place(token_major(q_alone.data(), q_shape)));
        rotate_forward<Pairing, Backend>(angles, in_place(token_major(k_alone.data(), k_shape)));
        CHECK(same_bits(q, q_alone));
        CHECK(same_bits(k, k_alone));
    });
}

TEST_CASE("rotate/layout: the same bits whoever runs the slices") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const heads_shape shape{2, 301, 2, 24};
        std::vector<std::int32_t> steps(301);
        std::iota(steps.begin(), steps.end(), 5);
        const auto x = random_elements<float>(shape, 11);
        const exact_angles angles(model, steps);
        const auto with = [&](const auto& how) {
            std::vector<float> y = x;
            rotate_forward<Pairing, Backend>(how, angles, in_place(token_major(y.data(), shape)));
            return y;
        };
        const auto alone = with(serial{});
        for (const index_t n : {1, 2, 3, 7}) CHECK(same_bits(with(threads{n, 1}), alone));
        const auto backwards = [](index_t n, const auto& body) {
            while (n-- > 0) body(n);
        };
        CHECK(same_bits(with(loop_executor{backwards, 5, 1}), alone));
    });
}

TEST_CASE("rotate/layout: elements between and beyond the heads of a view are not touched") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const heads_shape shape{2, 3, 2, 24};
        std::vector<float> memory(1000, -7.0f);
        const heads_view<float> y{memory.data() + 11, shape, 400, 100, 30};
        std::vector<bool> is_inside(memory.size(), false);
        for_each_head(shape, [&](index_t b, index_t t, index_t h) {
            for (index_t i = 0; i < 24; ++i)
                is_inside[static_cast<std::size_t>(y.head(b, t, h) + i - memory.data())] = true;
        });
        rotate_forward<Pairing, Backend>(exact_angles(model, rows), in_place(y));
        for (std::size_t i = 0; i < memory.size(); ++i) {
            if (!is_inside[i]) REQUIRE(memory[i] == -7.0f);
        }
    });
}

TEST_CASE("rotate/layout: no tokens, no heads or no batch is no work") {
    const std::vector<std::int32_t> none;
    std::vector<float> x(24, 1.0f);
    rotate_forward<half_split>(exact_angles(model, none), in_place(token_major(x.data(), {1, 0, 1, 24})));
    rotate_forward<half_split>(exact_angles(model, rows), in_place(token_major(x.data(), {2, 3, 0, 24})));
    rotate_forward<half_split>(exact_angles(model, none), in_place(token_major<float>(nullptr, {1, 0, 4, 24})));
    CHECK(x == std::vector<float>(24, 1.0f));
}

// A sanitizer detected pointer arithmetic on the null data of a tensor without heads.
TEST_CASE("rotate/layout: an operand without heads, which may have no memory, beside one that has some") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const heads_shape shape{2, 3, 2, 24}, nobody{2, 3, 0, 24};
        auto x = random_elements<float>(shape, 12), alone = x;
        const auto none = token_major<float>(nullptr, nobody);
        const exact_angles angles(model, rows);
        rotate_forward<Pairing, Backend>(angles, in_place(token_major(x.data(), shape)), in_place(none));
        rotate_forward<Pairing, Backend>(angles, in_place(token_major(alone.data(), shape)));
        CHECK(same_bits(x, alone));
        std::vector<double> grads(10), grads_alone(10);
        double factor = 0.0;
        const auto o =
            grad_through(token_major(x.data(), shape), token_major(alone.data(), shape), token_major(x.data(), shape));
        rotate_backward<Pairing, Backend>(angles,
                                          rotation_gradients{.inv_freq = grads, .attention_factor = {&factor, 1}}, o,
                                          grad_through(none, none, none));
        x = alone;
        rotate_backward<Pairing, Backend>(angles, rotation_gradients{.inv_freq = grads_alone}, o);
        CHECK(same_bits(grads, grads_alone));
    });
}
