// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <numeric>

#include "cordage/rotate/backward.hpp"
#include "rotate/naive_rotation.hpp"

using namespace cordage;
using namespace cordage_test;

// The backward pass reads y, which is rounded in 16-bit tensors. docs/precision.md states the resulting error.
TEST_CASE_TEMPLATE(
    "rotate/rounded_output: the error of dL/dinv_freq by the rounding of y is within the documented bound", T, float16,
    bfloat16) {
    constexpr heads_shape shape{1, 256, 8, 32};
    constexpr double allowed = std::same_as<T, bfloat16> ? 2.5e-4 : 3.1e-5;  // 2^-12, 2^-15
    const basis model(frequencies(32));
    std::vector<std::int32_t> positions(256);
    std::iota(positions.begin(), positions.end(), 0);
    const exact_angles angles(model, positions);
    const auto grad_rounded = random_elements<T>(shape, 1);
    const std::vector<double> grad = values(grad_rounded);
    std::vector<double> y = values(random_elements<float>(shape, 2)), grad_x(y.size());
    std::vector<T> y_rounded, grad_x_rounded(y.size());
    rotate_forward<half_split>(angles, in_place(token_major(y.data(), shape)));
    for (const double one : y) y_rounded.push_back(stored<T>(one));

    std::vector<double> exact(16), found(16), size(16);
    rotate_backward<half_split>(
        angles, rotation_gradients{.inv_freq = exact},
        grad_through(token_major(grad.data(), shape), token_major(y.data(), shape), token_major(grad_x.data(), shape)));
    rotate_backward<half_split>(
        angles, rotation_gradients{.inv_freq = found},
        grad_through(token_major(grad_rounded.data(), shape), token_major(y_rounded.data(), shape),
                     token_major(grad_x_rounded.data(), shape)));
    const naive_rotation pairs(shape, frequencies(32), 1.0, positions, false);
    pairs.for_each_pair([&](std::size_t lane0, std::size_t lane1, std::size_t token, std::size_t pair) {
        size[pair] += static_cast<double>(token) * std::fabs(grad[lane1] * y[lane0] - grad[lane0] * y[lane1]);
    });
    double worst = 0.0;
    for (std::size_t pair = 0; pair < 16; ++pair) {
        worst = std::max(worst, std::fabs(found[pair] - exact[pair]) / size[pair]);
    }
    CHECK(worst < allowed);
    CHECK(worst > allowed / 16.0);  // the error measured is the rounding of y
}
