// SPDX-License-Identifier: MIT
// Operands of several types in one call: each is rotated as in a call of its own, bit for bit, whatever shares its
// angles.
#include "cordage/angles/angle_difference.hpp"
#include "cordage/angles/axis_angles.hpp"
#include "cordage/core/threads.hpp"
#include "cordage/rotate/backward.hpp"

#include <doctest/doctest.h>
#include <cmath>
#include <vector>

using namespace cordage;

namespace {

basis basis_of(index_t pairs) {
    std::vector<double> inv_freq;
    for (index_t i = 0; i < pairs; ++i) inv_freq.push_back(std::pow(1e-4, static_cast<double>(i) / 70.0));
    return basis(std::move(inv_freq), 1.25);
}

template <class T>
std::vector<T> numbers(const heads_shape& s, double begin) {
    std::vector<T> all(static_cast<std::size_t>(s.batch * s.tokens * s.heads * s.head_dim));
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] = element_traits<T>::store(
            static_cast<typename element_traits<T>::compute>(std::sin(begin + 0.7 * static_cast<double>(i))));
    }
    return all;
}

template <class T>
bool is_equal(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Calls rotate(operands...) once with float, bfloat16, normalized float and a second float operand, and once with
/// each.
template <class Rotate>
void check_alone_and_together(const heads_shape& shape, const Rotate& rotate) {
    struct tensors {
        std::vector<float> q, k, w;
        std::vector<bfloat16> v;
        std::vector<float16> out;
        explicit tensors(const heads_shape& s)
            : q(numbers<float>(s, 1.0)),
              k(numbers<float>(s, 2.0)),
              w(numbers<float>(s, 3.0)),
              v(numbers<bfloat16>(s, 4.0)),
              out(numbers<float16>(s, 5.0)) {}
    };
    tensors together(shape), alone(shape);
    const auto of = [&](auto& x) { return token_major(x.data(), shape); };
    rotate(in_place(of(together.q)), in_place(of(together.v)), from_to(of(together.w), of(together.out)),
           in_place(of(together.k)));
    rotate(in_place(of(alone.q)));
    rotate(in_place(of(alone.v)));
    rotate(from_to(of(alone.w), of(alone.out)));
    rotate(in_place(of(alone.k)));
    CHECK(is_equal(together.q, alone.q));
    CHECK(is_equal(together.k, alone.k));
    CHECK(is_equal(together.v, alone.v));
    CHECK(is_equal(together.out, alone.out));
}

}  // namespace

TEST_CASE("rotate/several_types: a call gives the bits of one call for each operand") {
    for (const index_t pairs : {3, 64, 70}) {
        for (const index_t tokens : {1, 16, 17, 40}) {
            for (const index_t batch : {1, 2}) {
                CAPTURE(pairs);
                CAPTURE(tokens);
                CAPTURE(batch);
                const basis b = basis_of(pairs);
                std::vector<int> ids;
                for (index_t i = 0; i < batch * tokens; ++i) ids.push_back(static_cast<int>(i * i - 9));
                const exact_angles angles(b, position_view<int>(ids.data(), batch, tokens, tokens));
                const heads_shape shape{batch, tokens, 2, 2 * pairs + 3};
                check_alone_and_together(
                    shape, [&](const auto&... operands) { rotate_forward<half_split>(angles, operands...); });
                check_alone_and_together(shape, [&](const auto&... operands) {
                    rotate_inverse<interleaved>(threads(3), angles, operands...);
                });
            }
        }
    }
}

TEST_CASE("rotate/several_types: keys that all move by one distance share a row of angles across blocks of tokens") {
    const basis b = basis_of(8);
    std::vector<int> from, to;
    for (int i = 0; i < 40; ++i) from.push_back(i), to.push_back(i < 20 ? i + 7 : i - 3);
    const heads_shape shape{2, 20, 2, 16};  // the rows move by different distances
    const auto in_rows = [](const std::vector<int>& ids) { return position_view<int>(ids.data(), 2, 20, 20); };
    check_alone_and_together(shape, [&](const auto&... operands) {
        rebase<half_split>(exact_angles(b, in_rows(to)) - exact_angles(b, in_rows(from)), operands...);
    });
}

TEST_CASE("rotate/several_types: rows of several axes and of a table") {
    const basis b = basis_of(6);
    std::vector<double> ids;
    for (int i = 0; i < 2 * 21; ++i) ids.push_back(0.5 * i - 3.0);
    const std::vector<std::uint8_t> axes{0, 1, 0, 1, 1, 0};
    const axis_angles angles(b, axes, axis_major(ids.data(), 2, 1, 21));
    const heads_shape shape{1, 21, 2, 12};
    check_alone_and_together(shape, [&](const auto&... operands) { rotate_forward<half_split>(angles, operands...); });
}

TEST_CASE("rotate/several_types: gradients of operands with and without a norm add up as those of two calls") {
    const basis b = basis_of(4);
    const std::vector<int> ids{3, 900, -5};
    const exact_angles angles(b, ids);
    const heads_shape shape{1, 3, 2, 8};
    std::vector<double> g = numbers<double>(shape, 1.0), y = numbers<double>(shape, 2.0), gx(g.size()), other(g.size());
    const std::vector<double> w{1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3};
    const auto of = [&](auto& x) { return token_major(x.data(), shape); };
    const rms_norm<double> norm{.weight = w.data()};
    std::vector<double> together(4), alone(4), grad_w(8), second_grad_w(8), grad_w_alone(8);
    const auto plain = [&](auto& to) { return grad_through(of(g), of(y), of(to)); };
    const auto normalized = [&](auto& to, std::vector<double>& grad) { return plain(to).normalized(norm, grad); };
    std::vector<double> third(g.size());
    rotate_backward<half_split>(angles, rotation_gradients{.inv_freq = together}, normalized(gx, grad_w), plain(other),
                                normalized(third, second_grad_w));
    rotate_backward<half_split>(angles, rotation_gradients{.inv_freq = alone}, normalized(gx, grad_w_alone));
    rotate_backward<half_split>(angles, rotation_gradients{.inv_freq = alone}, plain(other));
    std::vector<double> unused(8);
    rotate_backward<half_split>(angles, rotation_gradients{.inv_freq = alone}, normalized(third, unused));
    for (std::size_t i = 0; i < 4; ++i) CHECK(together[i] == doctest::Approx(alone[i]).epsilon(1e-12));
    CHECK(grad_w == grad_w_alone);
    CHECK(second_grad_w == grad_w_alone);
}
