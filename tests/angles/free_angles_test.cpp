// SPDX-License-Identifier: MIT
// Rotations that depend on the input: angles and positions that a network makes for each head and token.
#include "cordage/angles/free_angles.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "cordage/kernels.hpp"

using namespace cordage;

namespace {

constexpr index_t heads = 2, tokens = 5, pairs = 3;
constexpr heads_shape shape{1, tokens, heads, 2 * pairs};
using numbers = std::vector<double>;

numbers draw(index_t count, unsigned seed) {
    std::mt19937_64 generator(seed);
    numbers all(static_cast<std::size_t>(count));
    for (double& x : all) x = std::uniform_real_distribution<>(-1.0, 1.0)(generator);
    return all;
}
double at(const numbers& x, index_t i) { return x[static_cast<std::size_t>(i)]; }

// q and the loss grad_q . y, where y is q rotated by angles [heads, tokens, pairs].
struct case_of_q {
    numbers q = draw(count(), 1), grad_q = draw(count(), 2);
    static constexpr index_t count() { return tokens * heads * 2 * pairs; }

    double loss(const std::function<double(index_t, index_t, index_t)>& angle) const {
        double sum = 0.0;
        for (index_t h = 0; h < heads; ++h) {
            for (index_t t = 0; t < tokens; ++t) {
                for (index_t i = 0; i < pairs; ++i) {
                    const index_t first = (t * heads + h) * 2 * pairs + i, second = first + pairs;
                    const double c = std::cos(angle(h, t, i)), s = std::sin(angle(h, t, i));
                    sum += at(grad_q, first) * (c * at(q, first) - s * at(q, second)) +
                           at(grad_q, second) * (c * at(q, second) + s * at(q, first));
                }
            }
        }
        return sum;
    }
};

void check_slopes(const numbers& found, numbers of, const std::function<double(const numbers&)>& loss) {
    REQUIRE(found.size() == of.size());
    for (std::size_t i = 0; i < of.size(); ++i) {
        constexpr double step = 1e-5;
        const double here = of[i];
        of[i] = here + step;
        const double above = loss(of);
        of[i] = here - step;
        CHECK(found[i] == doctest::Approx((above - loss(of)) / (2 * step)).epsilon(1e-6));
        of[i] = here;
    }
}

}  // namespace

TEST_CASE(
    "angles/free_angles: Selective RoPE rotates by the sum of a network's angles so far, and gives their gradient") {
    const case_of_q c;
    const numbers phi = draw(heads * tokens * pairs, 3);
    const auto loss = [&](const numbers& of) {
        return c.loss([&](index_t h, index_t t, index_t i) {
            double sum = 0.0;
            for (index_t before = 0; before <= t; ++before) sum += at(of, (h * tokens + before) * pairs + i);
            return sum;
        });
    };
    numbers rotated = c.q, of_grad = c.grad_q;
    const auto q = token_major(rotated.data(), shape), grad_q = token_major(of_grad.data(), shape);
    // [selective_rope]
    std::vector<double> angle = phi;  // [heads, tokens, pairs], as the network made them
    for (std::size_t i = pairs; i < angle.size(); ++i) {
        if (i % (tokens * pairs) >= pairs) angle[i] += angle[i - pairs];  // the sum over this and all earlier tokens
    }
    const cordage::free_angles angles(angle.data(), heads, tokens, pairs);
    cordage::rotate_forward<cordage::half_split>(angles, cordage::in_place(cordage::heads_as_rows(q)));
    std::vector<double> grad(angle.size());
    cordage::rotate_backward<cordage::half_split>(
        angles, cordage::rotation_gradients{.angles = grad},
        cordage::grad_through(cordage::heads_as_rows(grad_q), cordage::heads_as_rows(q),
                              cordage::heads_as_rows(grad_q)));
    for (std::size_t i = grad.size() - pairs; i-- > 0;) {
        if (i % (tokens * pairs) < (tokens - 1) * pairs) grad[i] += grad[i + pairs];  // dL/dphi, from the last token on
    }
    // [/selective_rope]
    CHECK(std::inner_product(rotated.begin(), rotated.end(), c.grad_q.begin(), 0.0) == doctest::Approx(loss(phi)));
    check_slopes(grad, phi, loss);
}

TEST_CASE("angles/free_angles: RePo's positions, of each head and token, and their gradient") {
    const case_of_q c;
    const basis b({1.0, 0.3, 0.1});
    const numbers z = draw(heads * tokens, 4);
    const auto loss = [&](const numbers& of) {
        return c.loss([&](index_t h, index_t t, index_t i) {
            return at(of, h * tokens + t) * b.inv_freq()[static_cast<std::size_t>(i)];
        });
    };
    numbers rotated = c.q, of_grad = c.grad_q;
    const auto q = token_major(rotated.data(), shape), grad_q = token_major(of_grad.data(), shape);
    // [repo]
    const cordage::position_view<double> positions(z.data(), heads, tokens, tokens);  // [heads, tokens]
    const cordage::exact_angles angles(b, positions);
    cordage::rotate_forward<cordage::half_split>(angles, cordage::in_place(cordage::heads_as_rows(q)));
    std::vector<double> grad_z(heads * tokens);
    cordage::rotate_backward<cordage::half_split>(
        angles, cordage::rotation_gradients{.position_ids = grad_z},
        cordage::grad_through(cordage::heads_as_rows(grad_q), cordage::heads_as_rows(q),
                              cordage::heads_as_rows(grad_q)));
    // [/repo]
    CHECK(std::inner_product(rotated.begin(), rotated.end(), c.grad_q.begin(), 0.0) == doctest::Approx(loss(z)));
    check_slopes(grad_z, z, loss);
}

namespace {

// A source of the user's own: a network's angles, twice as large.
struct doubled {
    const double* numbers;
    static constexpr bool are_free = true;

    index_t batch() const { return heads; }
    index_t tokens() const { return shape.tokens; }
    index_t pairs() const { return shape.head_dim / 2; }
    double attention_factor(index_t, index_t) const { return 1.0; }
    double angle(index_t row, index_t token, index_t pair) const {
        return 2.0 * numbers[(row * tokens() + token) * pairs() + pair];
    }
};

}  // namespace

TEST_CASE("angles/free_angles: dL/dangle of a source of one's own that says are_free") {
    const case_of_q c;
    const numbers phi = draw(heads * tokens * pairs, 5);
    const auto loss = [&](const numbers& of) {
        return c.loss([&](index_t h, index_t t, index_t i) { return 2.0 * at(of, (h * tokens + t) * pairs + i); });
    };
    numbers rotated = c.q, of_grad = c.grad_q, grad(phi.size());
    const auto q = heads_as_rows(token_major(rotated.data(), shape));
    const auto grad_q = heads_as_rows(token_major(of_grad.data(), shape));
    const doubled angles{phi.data()};
    rotate_forward<half_split>(angles, in_place(q));
    rotate_backward<half_split>(angles, rotation_gradients{.angles = grad}, grad_through(grad_q, q, grad_q));
    for (double& g : grad) g *= 2.0;  // dL/dphi
    check_slopes(grad, phi, loss);
}
