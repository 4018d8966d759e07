// SPDX-License-Identifier: MIT
// The backward pass of norm and rotation by any kernel, against the reference in double.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <vector>

#include "cordage/rotate/backward.hpp"
#include "rotate/naive_rotation.hpp"

namespace cordage_test::norms {

using namespace cordage;

struct head_case {
    index_t heads, head_dim, pairs, first_lane;
};

// The settings of a norm without its weights, and whether its heads are rotated.
struct kind {
    bool adds_one = false, is_over_all_heads = false, is_after_rotation = false, rotates = true, is_weighted = true;

    template <class W>
    rms_norm<W> with(const std::vector<W>& weight, double epsilon = 0.01) const {
        return {.weight = is_weighted ? weight.data() : nullptr,
                .epsilon = epsilon,
                .adds_one = adds_one,
                .is_over_all_heads = is_over_all_heads,
                .is_after_rotation = is_after_rotation};
    }
    index_t weights(const head_case& c) const {
        return is_weighted ? (is_over_all_heads ? c.heads : 1) * c.head_dim : 0;
    }
};
inline const kind kinds[] = {{},
                             {.is_after_rotation = true},
                             {.adds_one = true},
                             {.is_over_all_heads = true},
                             {.adds_one = true, .is_over_all_heads = true, .is_after_rotation = true},
                             {.is_over_all_heads = true, .is_after_rotation = true, .is_weighted = false},
                             {.is_weighted = false},
                             {.rotates = false},
                             {.is_over_all_heads = true, .is_after_rotation = true, .rotates = false}};

inline const std::vector<double> positions{0.25, -3.0, 11.5};
inline constexpr double factor = 0.8;

// All inputs of a loss <g, y>, and the gradients to them.
struct inputs {
    std::vector<double> x, weight, inv_freq, position, attention_factor{factor};

    auto all() { return std::array{&x, &weight, &inv_freq, &position, &attention_factor}; }
};

// The gradients by one kernel, as numbers in double.
template <class Pairing, class Backend, class T, class W = T>
inputs gradients(const head_case& c, const kind& k, const std::vector<T>& x, const std::vector<W>& weight,
                 const std::vector<double>& inv_freq, const std::vector<double>& position, const std::vector<T>& g) {
    const heads_shape shape{1, std::ssize(position), c.heads, c.head_dim};
    const basis b(inv_freq, factor);
    std::vector<T> gx(x.size());
    inputs out;
    out.weight.resize(static_cast<std::size_t>(k.weights(c)));
    out.inv_freq.resize(inv_freq.size());
    out.position.resize(position.size());
    out.attention_factor[0] = 0.0;
    const auto o = grad_through(token_major(g.data(), shape), token_major(x.data(), shape),
                                token_major(gx.data(), shape), c.first_lane)
                       .normalized(k.with(weight), out.weight);
    rotate_backward<Pairing, Backend>(
        exact_angles(b, position),
        rotation_gradients{
            .inv_freq = out.inv_freq, .position_ids = out.position, .attention_factor = out.attention_factor},
        k.rotates ? o : o.unrotated());
    out.x = values(gx);
    return out;
}

// Different counts of heads: fewer than a group, several groups, more than are processed at once; whole and partial
// vectors, more pairs than a row of angles has, lanes around the rotated ones.
inline const head_case cases[] = {{3, 128, 64, 0}, {9, 86, 35, 5},    {2, 300, 130, 20}, {1, 10, 3, 2},
                                  {150, 16, 8, 0}, {131, 132, 66, 0}, {2, 200, 16, 100}, {5, 96, 16, 32}};

template <class Pairing, class Backend, class T, class W = T>
void check_against_oracle(const head_case& c, const kind& k) {
    const heads_shape shape{1, 3, c.heads, c.head_dim};
    const std::vector<double> theta = frequencies(2 * c.pairs);
    const auto x = random_elements<T>(shape, 60), g = random_elements<T>(shape, 61);
    const auto w = random_elements<W>({1, 1, c.heads, c.head_dim}, 62);
    inputs found = gradients<Pairing, Backend>(c, k, x, w, theta, positions, g);
    inputs expected = gradients<Pairing, backend::scalar>(c, k, values(x), values(w), theta, positions, values(g));
    // For numbers below 40: roundings of cos, sin, the weight, r, the mean and five operations.
    const double each = std::same_as<T, double> ? 1e-12 : 2e-5;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double rounding = sizeof(T) == 2 ? unit_in_last_place<T>(expected.x[i]) : 0.0;
        REQUIRE(std::fabs(found.x[i] - expected.x[i]) <= each + rounding);
    }
    const double terms = 3.0 * static_cast<double>(c.heads * c.head_dim);
    const auto near = [&](const std::vector<double>& a, const std::vector<double>& b, double room) {
        REQUIRE(a.size() == b.size());
        for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(std::fabs(a[i] - b[i]) <= room);
    };
    const double one = gradient_sum<T>;  // of terms below 8, at positions below 12
    near(found.weight, expected.weight, one * 8.0 * 3.0 * static_cast<double>(c.heads));
    near(found.inv_freq, expected.inv_freq, one * 100.0 * 3.0 * static_cast<double>(c.heads));
    near(found.position, expected.position, one * 8.0 * terms);
    near(found.attention_factor, expected.attention_factor, one * 8.0 * terms);
}

}  // namespace cordage_test::norms
