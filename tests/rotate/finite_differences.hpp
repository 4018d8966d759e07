// SPDX-License-Identifier: MIT
// The gradients to frequencies, positions and factor against finite differences, for any source of angles.
#pragma once

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

#include "cordage/rotate/backward.hpp"
#include "rotate/naive_rotation.hpp"
#include "scaling/derivatives.hpp"

namespace cordage_test {

/// Differentiates <weight, y> by every frequency, every position and the attention factor of 0.8.
///
/// @param positions  for source_of, all axes of all tokens
/// @param seed       of x; the next one is weight's
/// @param source_of  (basis, positions) -> angles that refer to both
template <class Pairing, class Backend, class SourceOf>
void check_by_differences(const heads_shape& shape, const std::vector<double>& theta,
                          const std::vector<double>& positions, unsigned seed, const SourceOf& source_of) {
    using namespace cordage;
    const double m = 0.8;
    const auto x = random_elements<double>(shape, seed), weight = random_elements<double>(shape, seed + 1);
    const auto forward = [&](const std::vector<double>& inv_freq, const std::vector<double>& at, double factor) {
        const basis b(inv_freq, factor);
        std::vector<double> y = x;
        rotate_forward<Pairing, Backend>(source_of(b, at), in_place(token_major(y.data(), shape)));
        return y;
    };
    const auto loss = [&](const auto&... inputs) {
        const auto y = forward(inputs...);
        return std::inner_product(y.begin(), y.end(), weight.begin(), 0.0);
    };
    const auto moved = [](std::vector<double> all, std::size_t i, double to) {
        all[i] = to;
        return all;
    };

    const auto y = forward(theta, positions, m);
    std::vector<double> grad_x(x.size()), to_theta(theta.size(), 0.0), to_positions(positions.size(), 0.0);
    double to_factor = 0.0;
    const basis b(theta, m);
    rotate_backward<Pairing, Backend>(
        source_of(b, positions),
        rotation_gradients{.inv_freq = to_theta, .position_ids = to_positions, .attention_factor = {&to_factor, 1}},
        grad_through(token_major(weight.data(), shape), token_major(y.data(), shape),
                     token_major(grad_x.data(), shape)));
    for (std::size_t i = 0; i < theta.size(); ++i) {
        const auto f = [&](double to) { return loss(moved(theta, i, to), positions, m); };
        REQUIRE(close(to_theta[i], difference(f, theta[i]), 1e-8));  // the fifth derivative holds 11.5^5
    }
    for (std::size_t i = 0; i < positions.size(); ++i) {
        const auto f = [&](double to) { return loss(theta, moved(positions, i, to), m); };
        REQUIRE(close(to_positions[i], difference(f, positions[i]), 1e-8));
    }
    REQUIRE(close(to_factor, difference([&](double to) { return loss(theta, positions, to); }, m), first_difference));
}

}  // namespace cordage_test
