// SPDX-License-Identifier: MIT
#include "cordage/angles/axis_angles.hpp"
#include "cordage/positions/sections.hpp"
#include "cordage/rotate/backward.hpp"
#include "rotate/finite_differences.hpp"
#include "rotate/naive_rotation.hpp"
#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

constexpr index_t axes = 3;

// [3 axes, 2 rows, 5 tokens] of a position type; the third axis is far away.
template <class P>
std::vector<P> some_positions() {
    std::vector<P> ids;
    for (int i = 0; i < 30; ++i) ids.push_back(static_cast<P>((i < 20 ? 3 : 100'001) * i) + static_cast<P>(i % 4) / 4);
    return ids;
}

// Angles of one axis alone, on all pairs.
template <class P>
exact_angles<P> of_axis(const basis& all, const std::vector<P>& ids, index_t axis) {
    return {all, position_view<P>(ids.data() + axis * 10, 2, 5, 5)};
}

// Calls f(index of an element in a dense tensor, pair) for the rotated lanes.
template <class Pairing>
void for_each_lane(const heads_shape& shape, const std::vector<double>& theta, const auto& f) {
    const naive_rotation lanes(shape, theta, 1.0, std::vector<double>{0.0}, is_interleaved<Pairing>);
    lanes.for_each_pair([&](std::size_t i0, std::size_t i1, std::size_t, std::size_t pair) {
        f(i0, pair);
        f(i1, pair);
    });
}

// Rotating by several axes equals, lane by lane, rotating by each of them, forward and backward.
template <class T, class P>
void check_against_single_axes(const std::vector<std::uint8_t>& axis_of_pair) {
    const std::size_t pairs = axis_of_pair.size();
    const index_t rotary_dim = 2 * std::ssize(axis_of_pair);
    const heads_shape shape{2, 5, 3, rotary_dim + 4};
    const std::vector<double> theta = frequencies(rotary_dim);
    const basis b(theta, 1.25);
    for_each_kernel([&]<class Pairing, class Backend>(Pairing, Backend) {
        const auto ids = some_positions<P>();
        const axis_angles angles(b, axis_of_pair, axis_major(ids.data(), axes, 2, 5));
        const auto x = random_elements<T>(shape, 60), g = random_elements<T>(shape, 61);
        const auto view = [&](auto& buffer) { return token_major(buffer.data(), shape); };
        std::vector<T> y = x, back(x.size()), undone(x.size());
        rotate_forward<Pairing, Backend>(angles, in_place(view(y)));
        rotate_inverse<Pairing, Backend>(angles, from_to(view(y), view(undone)));
        std::vector<double> to_theta(pairs, 0.0), to_positions(30, 0.0);
        double to_factor = 0.0;
        rotate_backward<Pairing, Backend>(
            angles,
            rotation_gradients{.inv_freq = to_theta, .position_ids = to_positions, .attention_factor = {&to_factor, 1}},
            grad_through(view(g), view(y), view(back)));

        for (index_t axis = 0; axis < axes; ++axis) {
            const auto mine = [&](std::size_t pair) { return axis_of_pair[pair] == axis; };
            std::vector<double> others_still(theta);  // so that only this axis' pairs give dL/dposition
            for (std::size_t pair = 0; pair < pairs; ++pair) others_still[pair] *= mine(pair) ? 1.0 : 0.0;
            const basis of_this_axis(others_still, b.attention_factor());
            std::vector<T> one_y = x, one_back(x.size()), one_undone(x.size()), scratch(x.size());
            const auto one = of_axis(b, ids, axis);
            rotate_forward<Pairing, Backend>(one, in_place(view(one_y)));
            rotate_inverse<Pairing, Backend>(one, from_to(view(y), view(one_undone)));
            std::vector<double> one_theta(pairs, 0.0), one_positions(10, 0.0);
            double one_factor = 0.0;
            rotate_backward<Pairing, Backend>(
                one, rotation_gradients{.inv_freq = one_theta, .attention_factor = {&one_factor, 1}},
                grad_through(view(g), view(y), view(one_back)));
            rotate_backward<Pairing, Backend>(of_axis(of_this_axis, ids, axis),
                                              rotation_gradients{.position_ids = one_positions},
                                              grad_through(view(g), view(y), view(scratch)));
            std::size_t differ = 0;
            for_each_lane<Pairing>(shape, theta, [&](std::size_t i, std::size_t pair) {
                const bool same = nearly_same(y[i], one_y[i]) && nearly_same(back[i], one_back[i]) &&
                                  nearly_same(undone[i], one_undone[i]);
                if (mine(pair) && !same) ++differ;
            });
            CHECK(differ == 0);
            for (std::size_t pair = 0; pair < pairs; ++pair) {
                if (mine(pair)) CHECK(close(to_theta[pair], one_theta[pair], 10.0 * gradient_sum<T>));
            }
            for (std::size_t i = 0; i < 10; ++i) {
                CHECK(close(to_positions[static_cast<std::size_t>(axis) * 10 + i], one_positions[i],
                            10.0 * gradient_sum<T>));
            }
            CHECK(close(to_factor, one_factor, 10.0 * gradient_sum<T>));
        }
        for (std::size_t i = 0; i < x.size(); ++i) {  // lanes past rotary_dim
            const auto lane = static_cast<index_t>(i) % shape.head_dim;
            if (lane >= rotary_dim) REQUIRE((value(y[i]) == value(x[i]) && value(back[i]) == value(g[i])));
        }
    });
}

}  // namespace

TEST_CASE("rotate/axes: contiguous and interleaved sections rotate each pair by its own axis, forward and backward") {
    for (const auto& axis_of_pair :
         {contiguous_axes({6, 7, 7}), interleaved_axes({8, 6, 6}), contiguous_axes({0, 20, 0})}) {
        check_against_single_axes<float, std::int32_t>(axis_of_pair);
        check_against_single_axes<float, double>(axis_of_pair);
        check_against_single_axes<double, std::int64_t>(axis_of_pair);
    }
    check_against_single_axes<bfloat16, std::int32_t>(interleaved_axes({8, 6, 6}));
}

TEST_CASE("rotate/axes: more pairs than a block of cos and sin holds") {
    check_against_single_axes<float, std::int32_t>(interleaved_axes({45, 43, 42}));
}

TEST_CASE("rotate/axes: finite differences to every frequency, every axis of every position and the factor") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const auto axis_of_pair = interleaved_axes({2, 2, 1});
        check_by_differences<Pairing, Backend>(
            {1, 2, 2, 12}, {1.0, 0.3, -0.05, 7.0, 0.5}, {0.25, -3.0, 11.5, 2.0, 0.0, 1.75}, 63,
            [&](const basis& own, const std::vector<double>& positions) {
                return axis_angles(own, axis_of_pair, axis_major(positions.data(), 3, 1, 2));
            });
    });
}

TEST_CASE("rotate/axes: gradients of a size that forgets the axes are refused before anything is written") {
    const auto ids = some_positions<std::int32_t>();
    const auto axis_of_pair = contiguous_axes({6, 7, 7});
    const heads_shape shape{2, 5, 3, 44};
    const basis b(frequencies(40));
    const axis_angles angles(b, axis_of_pair, axis_major(ids.data(), axes, 2, 5));
    const auto y = random_elements<float>(shape, 65);
    std::vector<float> g = y;
    std::vector<double> ten(10, 0.0);
    CHECK_THROWS_WITH_AS(
        rotate_backward<half_split>(
            angles, rotation_gradients{.position_ids = ten},
            grad_through(token_major(g.data(), shape), token_major(y.data(), shape), token_major(g.data(), shape))),
        "rotate_backward: grads.position_ids has 10 entries, must have axes*batch*tokens = 30", shape_error);
    CHECK(same_bits(g, y));
}
