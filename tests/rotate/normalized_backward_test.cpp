// SPDX-License-Identifier: MIT
// The backward pass of norm and rotation in one: the oracle in double against finite differences of the forward pass,
// every kernel and type against the oracle.
#include <doctest/doctest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "cordage/angles/cos_sin_view.hpp"
#include "cordage/basis/basis_list.hpp"
#include "cordage/core/threads.hpp"
#include "cordage/rotate/backward.hpp"
#include "cordage/rotate/cos_sin_table.hpp"
#include "rotate/naive_rotation.hpp"
#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

struct head_case {
    index_t heads, head_dim, pairs, first_lane;
};

// What a norm does, without its weights; and whether its heads are rotated.
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
const kind kinds[] = {{},
                      {.is_after_rotation = true},
                      {.adds_one = true},
                      {.is_over_all_heads = true},
                      {.adds_one = true, .is_over_all_heads = true, .is_after_rotation = true},
                      {.is_over_all_heads = true, .is_after_rotation = true, .is_weighted = false},
                      {.is_weighted = false},
                      {.rotates = false},
                      {.is_over_all_heads = true, .is_after_rotation = true, .rotates = false}};

const std::vector<double> positions{0.25, -3.0, 11.5};
constexpr double factor = 0.8;

// All that goes into a loss <g, y>, and the gradients to it.
struct inputs {
    std::vector<double> x, weight, inv_freq, position, attention_factor{factor};

    auto all() { return std::array{&x, &weight, &inv_freq, &position, &attention_factor}; }
};

template <class Pairing>
double loss(const head_case& c, const kind& k, const inputs& in, const std::vector<double>& g) {
    const heads_shape shape{1, std::ssize(in.position), c.heads, c.head_dim};
    const basis b(in.inv_freq, in.attention_factor[0]);
    std::vector<double> y = in.x;
    const auto o = in_place(token_major(y.data(), shape), c.first_lane).normalized(k.with(in.weight));
    rotate_forward<Pairing, backend::scalar>(exact_angles(b, in.position), k.rotates ? o : o.unrotated());
    return std::inner_product(y.begin(), y.end(), g.begin(), 0.0);
}

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

// One of every count of heads: fewer than a group, several groups, more than are at hand; whole vectors and parts, more
// pairs than a row of angles has, lanes around the rotated ones.
const head_case cases[] = {{3, 128, 64, 0}, {9, 86, 35, 5},    {2, 300, 130, 20}, {1, 10, 3, 2},
                           {150, 16, 8, 0}, {131, 132, 66, 0}, {2, 200, 16, 100}};

template <class Pairing, class Backend, class T, class W = T>
void check_against_oracle(const head_case& c, const kind& k) {
    const heads_shape shape{1, 3, c.heads, c.head_dim};
    const std::vector<double> theta = frequencies(2 * c.pairs);
    const auto x = random_elements<T>(shape, 60), g = random_elements<T>(shape, 61);
    const auto w = random_elements<W>({1, 1, c.heads, c.head_dim}, 62);
    inputs found = gradients<Pairing, Backend>(c, k, x, w, theta, positions, g);
    inputs expected = gradients<Pairing, backend::scalar>(c, k, values(x), values(w), theta, positions, values(g));
    // Of numbers below 40, roundings of cos, sin, the weight, r, the mean and five operations.
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

}  // namespace

TEST_CASE("rotate/normalized_backward: finite differences to x, weights, frequencies, positions and the factor") {
    for_each_kernel_and_avx2([]<class Pairing, class Backend>(Pairing, Backend) {
        const head_case c{2, 13, 5, 1};
        for (const kind& k : kinds) {
            inputs in;
            in.x = random_elements<double>({1, 3, 2, 13}, 63);
            in.weight = random_elements<double>({1, 1, 2, 13}, 64);
            in.inv_freq = {1.0, 0.3, -0.05, 7.0, 0.01};
            in.position = positions;
            const auto g = random_elements<double>({1, 3, 2, 13}, 65);
            inputs found = gradients<Pairing, Backend>(c, k, in.x, in.weight, in.inv_freq, positions, g);
            for (std::size_t part = 0; part < in.all().size(); ++part) {
                for (std::size_t i = 0; i < found.all()[part]->size(); ++i) {
                    const auto at = [&](double to) {
                        inputs moved = in;
                        (*moved.all()[part])[i] = to;
                        return loss<Pairing>(c, k, moved, g);
                    };
                    const double expected = difference(at, (*in.all()[part])[i]);
                    CAPTURE(part);
                    CAPTURE(i);
                    REQUIRE(close((*found.all()[part])[i], expected, 1e-8));  // the fifth derivative holds 11.5^5
                }
            }
        }
    });
}

TEST_CASE_TEMPLATE("rotate/normalized_backward: every kernel has the oracle's gradients", T, double, float, float16,
                   bfloat16) {
    for_each_kernel_and_avx2([]<class Pairing, class Backend>(Pairing, Backend) {
        for (const head_case& c : cases) {
            CAPTURE(c.head_dim);
            for (const kind& k : kinds) {
                CAPTURE(&k - kinds);
                check_against_oracle<Pairing, Backend, T>(c, k);
            }
        }
        check_against_oracle<Pairing, Backend, T, bfloat16>(cases[1], kinds[2]);
    });
}
