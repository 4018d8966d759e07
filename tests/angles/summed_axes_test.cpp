// SPDX-License-Identifier: MIT
// Axes that rotate every pair together, free angles, and heads with a basis each: values and gradients.
#include "cordage/angles/summed_axes.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "cordage/angles/free_angles.hpp"
#include "cordage/kernels.hpp"

using namespace cordage;

namespace {

constexpr index_t tokens = 7, heads = 3, pairs = 5, head_dim = 12;
using numbers = std::vector<double>;

numbers draw(std::size_t count, unsigned seed, double scale = 1.0) {
    std::mt19937_64 generator(seed);
    numbers all(count);
    for (double& x : all) x = std::uniform_real_distribution<>(-scale, scale)(generator);
    return all;
}
heads_view<double> view_of(numbers& x) { return token_major(x.data(), {1, tokens, heads, head_dim}); }

// y of half_split heads, given angles [tokens, heads, pairs].
numbers rotated_by(const numbers& x, const std::function<double(index_t, index_t, index_t)>& angle) {
    numbers y = x;
    for (index_t t = 0; t < tokens; ++t) {
        for (index_t h = 0; h < heads; ++h) {
            for (index_t i = 0; i < pairs; ++i) {
                const auto at = static_cast<std::size_t>((t * heads + h) * head_dim + i), to = at + pairs;
                const double c = std::cos(angle(t, h, i)), s = std::sin(angle(t, h, i));
                y[at] = c * x[at] - s * x[to];
                y[to] = c * x[to] + s * x[at];
            }
        }
    }
    return y;
}
double difference(const numbers& a, const numbers& b) {
    REQUIRE(a.size() == b.size());
    double largest = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(a[i] - b[i]));
    return largest;
}
double at(const numbers& x, index_t i) { return x[static_cast<std::size_t>(i)]; }

// The bases of three axes.
struct three_axes {
    numbers inv_freq = draw(3 * pairs, 1);
    std::vector<basis> bases;
    basis_list list = make();

    basis_list make() {
        std::vector<const basis*> chosen;
        bases.reserve(3);
        for (index_t a = 0; a < 3; ++a) {
            chosen.push_back(
                &bases.emplace_back(numbers(inv_freq.begin() + a * pairs, inv_freq.begin() + (a + 1) * pairs)));
        }
        return basis_list(chosen);
    }
};

}  // namespace

TEST_CASE_TEMPLATE("angles/summed_axes: a pair is rotated by the sum over all axes", P, std::int32_t, double) {
    const three_axes axes;
    std::vector<P> ids;
    for (const double p : draw(3 * tokens, 2, 40.0)) ids.push_back(static_cast<P>(p));
    const auto angle = [&](index_t t, index_t, index_t i) {
        double sum = 0.0;
        for (index_t a = 0; a < 3; ++a) {
            sum +=
                static_cast<double>(ids[static_cast<std::size_t>(a * tokens + t)]) * at(axes.inv_freq, a * pairs + i);
        }
        return sum;
    };
    numbers x = draw(tokens * heads * head_dim, 3);
    const numbers wanted = rotated_by(x, angle);
    const summed_axes angles(axes.list.of_rows(), axis_major(ids.data(), 3, 1, tokens));
    for (const bool is_scalar : {true, false}) {
        numbers y = x;
        if (is_scalar) {
            rotate_forward<half_split, backend::scalar>(angles, in_place(view_of(y)));
        } else {
            rotate_forward<half_split>(angles, in_place(view_of(y)));
        }
        CHECK(difference(y, wanted) < 1e-13);
        std::vector<float> narrow(x.begin(), x.end());
        rotate_forward<half_split>(angles, in_place(token_major(narrow.data(), {1, tokens, heads, head_dim})));
        CHECK(difference(numbers(narrow.begin(), narrow.end()), wanted) < 1e-6);
    }
}

TEST_CASE("angles/summed_axes: gradients to the frequencies and positions of every axis, and to angles of their own") {
    const three_axes axes;
    numbers ids = draw(3 * tokens, 2, 3.0), phi = draw(tokens * pairs, 7), x = draw(tokens * heads * head_dim, 3);
    const numbers g = draw(tokens * heads * head_dim, 4);
    const auto loss = [&](const numbers& inv_freq, const numbers& positions, const numbers& own) {
        const numbers y = rotated_by(x, [&](index_t t, index_t, index_t i) {
            double sum = at(own, t * pairs + i);
            for (index_t a = 0; a < 3; ++a) sum += at(positions, a * tokens + t) * at(inv_freq, a * pairs + i);
            return sum;
        });
        double sum = 0.0;
        for (std::size_t i = 0; i < y.size(); ++i) sum += g[i] * y[i];
        return sum;
    };
    const auto slope = [&](numbers values, std::size_t i, const auto& of) {
        constexpr double step = 1e-5;
        values[i] += step;
        const double above = of(values);
        values[i] -= 2 * step;
        return (above - of(values)) / (2 * step);
    };
    const auto angles = summed_axes(axes.list.of_rows(), axis_major(ids.data(), 3, 1, tokens)) +
                        free_angles(phi.data(), 1, tokens, pairs);
    for (const bool is_scalar : {true, false}) {
        numbers y = x, gx(x.size()), grad_y = g, to_inv_freq(3 * pairs), to_ids(3 * tokens), to_phi(tokens * pairs);
        rotate_forward<half_split>(angles, in_place(view_of(y)));
        const rotation_gradients grads{.inv_freq = to_inv_freq, .position_ids = to_ids, .angles = to_phi};
        const auto operand = grad_through(view_of(grad_y), view_of(y), view_of(gx));
        if (is_scalar) {
            rotate_backward<half_split, backend::scalar>(angles, grads, operand);
        } else {
            rotate_backward<half_split>(angles, grads, operand);
        }
        for (std::size_t i = 0; i < to_inv_freq.size(); ++i) {
            CHECK(to_inv_freq[i] == doctest::Approx(slope(axes.inv_freq, i, [&](const numbers& v) {
                                        return loss(v, ids, phi);
                                    })).epsilon(1e-6));
        }
        for (std::size_t i = 0; i < to_ids.size(); ++i) {
            CHECK(to_ids[i] == doctest::Approx(slope(ids, i, [&](const numbers& v) {
                                   return loss(axes.inv_freq, v, phi);
                               })).epsilon(1e-6));
        }
        for (std::size_t i = 0; i < to_phi.size(); ++i) {
            CHECK(to_phi[i] == doctest::Approx(slope(phi, i, [&](const numbers& v) {
                                   return loss(axes.inv_freq, ids, v);
                               })).epsilon(1e-6));
        }
        // Free angles alone, without positions and frequencies.
        numbers alone(tokens * pairs), again = x, gx_again(x.size());
        const free_angles own(phi.data(), 1, tokens, pairs);
        rotate_forward<half_split>(own, in_place(view_of(again)));
        rotate_backward<half_split>(own, rotation_gradients{.angles = alone},
                                    grad_through(view_of(grad_y), view_of(again), view_of(gx_again)));
        const numbers no_ids(3 * tokens);
        for (std::size_t i = 0; i < alone.size(); ++i) {
            CHECK(alone[i] == doctest::Approx(slope(phi, i, [&](const numbers& v) {
                                  return loss(axes.inv_freq, no_ids, v);
                              })).epsilon(1e-6));
        }
    }
}

TEST_CASE("angles/summed_axes: heads with frequencies of their own are rows, and have gradients of their own") {
    const numbers inv_freq = draw(heads * 2 * pairs, 5);  // [heads, axes, pairs]
    std::vector<basis> bases;
    std::vector<const basis*> chosen;
    bases.reserve(heads * 2);
    for (index_t i = 0; i < heads * 2; ++i) {
        chosen.push_back(
            &bases.emplace_back(numbers(inv_freq.begin() + i * pairs, inv_freq.begin() + (i + 1) * pairs)));
    }
    const basis_list list(chosen);
    const numbers ids = draw(2 * tokens, 6, 3.0);
    const auto angle = [&](index_t t, index_t h, index_t i) {
        return at(ids, t) * at(inv_freq, 2 * h * pairs + i) +
               at(ids, tokens + t) * at(inv_freq, (2 * h + 1) * pairs + i);
    };
    numbers x = draw(tokens * heads * head_dim, 3), y = x, g = draw(x.size(), 8), gx(x.size());
    const summed_axes angles(list.of_rows(), axis_major(ids.data(), 2, 1, tokens));
    CHECK(angles.batch() == heads);
    rotate_forward<half_split>(angles, in_place(heads_as_rows(view_of(y))));
    CHECK(difference(y, rotated_by(x, angle)) < 1e-13);
    numbers to_inv_freq(inv_freq.size());
    rotate_backward<half_split>(
        angles, rotation_gradients{.inv_freq = to_inv_freq},
        grad_through(heads_as_rows(view_of(g)), heads_as_rows(view_of(y)), heads_as_rows(view_of(gx))));
    for (index_t h = 0; h < heads; ++h) {
        for (index_t i = 0; i < pairs; ++i) {
            double row = 0.0, column = 0.0;
            for (index_t t = 0; t < tokens; ++t) {
                const index_t first = (t * heads + h) * head_dim + i;
                const double to_angle = at(g, first + pairs) * at(y, first) - at(g, first) * at(y, first + pairs);
                row += at(ids, t) * to_angle;
                column += at(ids, tokens + t) * to_angle;
            }
            CHECK(at(to_inv_freq, 2 * h * pairs + i) == doctest::Approx(row).epsilon(1e-12));
            CHECK(at(to_inv_freq, (2 * h + 1) * pairs + i) == doctest::Approx(column).epsilon(1e-12));
        }
    }
}

TEST_CASE("angles/summed_axes: gradients of rows that are cut into chunks go to the bases of their row") {
    constexpr index_t rows = 2, axes = 2, many = 90;  // chunks have at least 32 tokens
    const numbers inv_freq = draw(rows * axes * pairs, 5), ids = draw(axes * many, 6, 3.0);
    std::vector<basis> bases;
    for (index_t i = 0; i < rows * axes; ++i) {
        bases.emplace_back(numbers(inv_freq.begin() + i * pairs, inv_freq.begin() + (i + 1) * pairs));
    }
    const basis_list list({&bases[0], &bases[1], &bases[2], &bases[3]});
    const summed_axes angles(list.of_rows(), axis_major(ids.data(), axes, 1, many));
    CHECK_FALSE(angles.has_basis_of_token());  // tokens have the bases of their row
    numbers y = draw(rows * many * 2 * pairs, 3), g = draw(rows * many * 2 * pairs, 8), gx(y.size());
    const auto view = [](numbers& x) { return token_major(x.data(), {rows, many, 1, 2 * pairs}); };
    numbers to_inv_freq(inv_freq.size()), to_factor(rows * axes);
    rotate_backward<half_split>(angles, rotation_gradients{.inv_freq = to_inv_freq, .attention_factor = to_factor},
                                grad_through(view(g), view(y), view(gx)));
    for (index_t row = 0; row < rows; ++row) {
        double dot = 0.0;
        for (index_t i = 0; i < pairs; ++i) {
            double of_axis[axes] = {};
            for (index_t t = 0; t < many; ++t) {
                const index_t at0 = (row * many + t) * 2 * pairs + i, at1 = at0 + pairs;
                const double to_angle = at(g, at1) * at(y, at0) - at(g, at0) * at(y, at1);
                for (index_t a = 0; a < axes; ++a) of_axis[a] += at(ids, a * many + t) * to_angle;
                dot += at(g, at0) * at(y, at0) + at(g, at1) * at(y, at1);
            }
            for (index_t a = 0; a < axes; ++a) {
                CHECK(at(to_inv_freq, (row * axes + a) * pairs + i) == doctest::Approx(of_axis[a]).epsilon(1e-12));
            }
        }
        CHECK(at(to_factor, row * axes) == doctest::Approx(dot).epsilon(1e-12));  // one factor, that of its first basis
        CHECK(at(to_factor, row * axes + 1) == 0.0);
    }
}

TEST_CASE("angles/summed_axes: a sum has both angles and both factors, and one row of angles serves all") {
    const basis b({0.5, 0.25}, 1.5);
    const std::vector<std::int32_t> ids{3, 1, 2, 5};
    const std::vector<float> phi{0.5f, -1.0f, 2.0f, 0.25f};
    const auto angles =
        exact_angles(b, position_view<std::int32_t>(ids.data(), 2, 2, 2)) + free_angles(phi.data(), 1, 2, 2);
    numbers x = draw(16, 9), y = x;
    rotate_forward<half_split>(angles, in_place(token_major(y.data(), {2, 2, 1, 4})));
    for (index_t row = 0; row < 2; ++row) {
        for (index_t t = 0; t < 2; ++t) {
            for (index_t i = 0; i < 2; ++i) {
                const double angle =
                    static_cast<double>(ids[static_cast<std::size_t>(2 * row + t)]) * (i == 0 ? 0.5 : 0.25) +
                    static_cast<double>(phi[static_cast<std::size_t>(2 * t + i)]);
                const index_t first = (2 * row + t) * 4 + i;
                CHECK(at(y, first) ==
                      doctest::Approx(1.5 * (std::cos(angle) * at(x, first) - std::sin(angle) * at(x, first + 2))));
            }
        }
    }
}

TEST_CASE("angles/summed_axes: as the page on positions has it") {
    const basis of_rows = basis(draw(32, 1)), of_columns = basis(draw(32, 2));
    const std::vector<std::int32_t> patches(18, 3);
    const std::vector<float> phi(288, 0.5f);
    std::vector<float> of_q(4608, 1.0f), of_grad = of_q;
    const auto q = token_major(of_q.data(), {1, 9, 8, 64}), grad_q = token_major(of_grad.data(), {1, 9, 8, 64});
    // [summed_axes]
    const cordage::basis_list axes({&of_rows, &of_columns});
    const auto angles = cordage::summed_axes(axes.of_rows(), cordage::axis_minor(patches.data(), 2, 1, 9)) +
                        cordage::free_angles(phi.data(), 1, 9, 32);
    cordage::rotate_forward<cordage::half_split>(angles, cordage::in_place(q));
    std::vector<double> grad_inv_freq(64), grad_phi(288);  // [axes, pairs], [tokens, pairs]
    const cordage::rotation_gradients grads{.inv_freq = grad_inv_freq, .angles = grad_phi};
    cordage::rotate_backward<cordage::half_split>(angles, grads, cordage::grad_through(grad_q, q, grad_q));
    // [/summed_axes]
    for (index_t i = 0; i < 32; ++i) {
        double sum = 0.0;
        for (index_t t = 0; t < 9; ++t) sum += 3.0 * at(grad_phi, t * 32 + i);
        CHECK(at(grad_inv_freq, i) == doctest::Approx(sum).epsilon(1e-6));
        CHECK(at(grad_inv_freq, 32 + i) == at(grad_inv_freq, i));
    }
}

TEST_CASE("angles/summed_axes: invalid arguments are named") {
    const three_axes axes;
    const numbers ids(3 * tokens), phi(tokens * pairs);
    const std::vector<double> many(9 * tokens);
    CHECK_THROWS_WITH_AS(summed_axes(axes.list.of_rows(), axis_major(ids.data(), 2, 1, tokens)),
                         "summed_axes: 3 bases must be one for each of 2 axes, or for each row and axis", shape_error);
    CHECK_THROWS_WITH_AS(summed_axes(axes.list.of_rows(), axis_major(many.data(), 9, 1, tokens)),
                         "summed_axes: position_ids has 9 axes, must have at most 4", shape_error);
    const basis one({1.0}), other({1.0}, 2.0);
    const basis_list unlike({&one, &other});
    CHECK_THROWS_WITH_AS(summed_axes(unlike.of_rows(), axis_major(ids.data(), 2, 1, tokens)),
                         "summed_axes: attention factor 2 of axis 1 must be that of axis 0, 1", value_error);
    CHECK_THROWS_WITH_AS(free_angles<double>(nullptr, 1, 2, 3), "free_angles: data nullptr must point to the angles",
                         shape_error);
    CHECK_THROWS_AS(free_angles(phi.data(), 0, tokens, pairs), shape_error);
    CHECK_THROWS_WITH_AS(exact_angles(one, std::span<const double>(ids).first(3)) + free_angles(phi.data(), 1, 4, 1),
                         "angle_sum: second [1, 4, 1] must have the batch, tokens and pairs of first [1, 3, 1]",
                         shape_error);
    numbers x(tokens * heads * head_dim), wrong = phi, few(3);
    wrong[8] = std::numeric_limits<double>::infinity();
    const free_angles bad(wrong.data(), 1, tokens, pairs), good(phi.data(), 1, tokens, pairs);
    CHECK_THROWS_WITH_AS(rotate_forward<half_split>(bad, in_place(view_of(x))),
                         "rotate_forward: angle [0, 1, 3] inf must be finite and at most 2^62 in magnitude",
                         value_error);
    const auto operand = grad_through(view_of(x), view_of(x), view_of(x));
    CHECK_THROWS_WITH_AS(rotate_backward<half_split>(good, rotation_gradients{.angles = few}, operand),
                         "rotate_backward: grads.angles has 3 entries, must have batch*tokens*rotary_dim/2 = 35",
                         shape_error);
    CHECK_THROWS_AS(rotate_backward<half_split>(
                        good, rotation_gradients{.inv_freq = std::span(few).first(0), .position_ids = wrong}, operand),
                    error);
    const heads_view<double> batch = token_major(x.data(), {heads, tokens, 1, head_dim});
    CHECK_THROWS_WITH_AS(heads_as_rows(batch),
                         "heads_as_rows: the view of batch 3 must be one row of tokens without slots", shape_error);
}
