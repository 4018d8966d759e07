// SPDX-License-Identifier: MIT
// The backward pass of norm and rotation in one call: the reference in double against finite differences of the forward
// pass, every kernel and type against the reference.
#include <doctest/doctest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "cordage/core/threads.hpp"
#include "cordage/rotate/backward.hpp"
#include "cordage/rotate/cos_sin_table.hpp"
#include "rotate/normalized_gradients.hpp"
#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace cordage_test;
using namespace cordage_test::norms;

namespace {

template <class Pairing>
double loss(const head_case& c, const kind& k, const inputs& in, const std::vector<double>& g) {
    const heads_shape shape{1, std::ssize(in.position), c.heads, c.head_dim};
    const basis b(in.inv_freq, in.attention_factor[0]);
    std::vector<double> y = in.x;
    const auto o = in_place(token_major(y.data(), shape), c.first_lane).normalized(k.with(in.weight));
    rotate_forward<Pairing, backend::scalar>(exact_angles(b, in.position), k.rotates ? o : o.unrotated());
    return std::inner_product(y.begin(), y.end(), g.begin(), 0.0);
}

}  // namespace

TEST_CASE("rotate/normalized_backward: finite differences to x, weights, frequencies, positions and the factor") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
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
        if constexpr (std::same_as<T, float>) check_against_oracle<Pairing, Backend, T, bfloat16>(cases[1], kinds[2]);
    });
}

// <J v, g> by differences of the forward pass in double, against <v, J^T g> by a kernel of T.
TEST_CASE_TEMPLATE("rotate/normalized_backward: <J v, g> = <v, J^T g> at every type", T, double, float, float16,
                   bfloat16) {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const head_case c{17, 40, 18, 3};
        const heads_shape shape{1, 3, 17, 40};
        for (const kind& k : {kinds[0], kinds[4]}) {
            const auto x = random_elements<T>(shape, 66), g = random_elements<T>(shape, 67);
            const auto w = random_elements<T>({1, 1, 17, 40}, 68);
            const std::vector<double> theta = frequencies(36);
            inputs found = gradients<Pairing, Backend>(c, k, x, w, theta, positions, g);
            inputs in{values(x), values(w), theta, positions};
            for (std::size_t part = 0; part < in.all().size(); ++part) {
                const std::vector<double>& gradient = *found.all()[part];
                const auto v = random_elements<double>({1, 1, 1, static_cast<index_t>(gradient.size())}, 69);
                const auto along = [&](double step) {
                    inputs moved = in;
                    for (std::size_t i = 0; i < v.size(); ++i) (*moved.all()[part])[i] += step * v[i];
                    return loss<Pairing>(c, k, moved, values(g));
                };
                double product = 0.0, size = 0.0;
                for (std::size_t i = 0; i < v.size(); ++i) {
                    product += v[i] * gradient[i];
                    size += std::fabs(v[i] * gradient[i]);
                }
                CAPTURE(part);
                // A 16-bit grad_x is rounded; sums are not.
                const double relative = std::same_as<T, double>      ? 1e-8
                                        : part > 0 || sizeof(T) == 4 ? 2e-5
                                        : std::same_as<T, float16>   ? 1e-3
                                                                     : 8e-3;
                REQUIRE(std::fabs(product - difference(along, 0.0)) <= relative * (size + 1.0));
            }
        }
    });
}

TEST_CASE("rotate/normalized_backward: the same bits for every number of threads") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const heads_shape shape{2, 167, 3, 20};
        std::vector<std::int32_t> ids(167);
        std::iota(ids.begin(), ids.end(), 100);
        const basis b(frequencies(16), 1.1);
        const auto x = random_elements<float>(shape, 70), g = random_elements<float>(shape, 71);
        const auto w = random_elements<float>({1, 1, 3, 20}, 72);
        const auto with = [&](const auto& how) {
            std::vector<float> gx(x.size());
            std::vector<double> all(8 + 334 + 1 + 20 + 60, 0.0);
            const std::span<double> sums(all);
            const auto o = grad_through(token_major(g.data(), shape), token_major(x.data(), shape),
                                        token_major(gx.data(), shape), 2);
            std::vector<float> second(x.size());
            const auto other = grad_through(token_major(g.data(), shape), token_major(x.data(), shape),
                                            token_major(second.data(), shape), 4);
            rotate_backward<Pairing, Backend>(
                how, exact_angles(b, ids),
                rotation_gradients{.inv_freq = sums.first(8),
                                   .position_ids = sums.subspan(8, 334),
                                   .attention_factor = sums.subspan(342, 1)},
                o.normalized(rms_norm<>{.weight = w.data()}, sums.subspan(343, 20)),
                other.normalized(rms_norm<>{.weight = w.data(), .is_over_all_heads = true}, sums.subspan(363, 60)));
            for (const float one : gx) all.push_back(one);
            for (const float one : second) all.push_back(one);
            return all;
        };
        const auto alone = with(serial{});
        for (const index_t n : {1, 2, 3, 7}) REQUIRE(same_bits(with(threads{n, 1}), alone));
    });
}

TEST_CASE("rotate/normalized_backward: the weights' gradient of many tokens is the sum of those of single tokens") {
    const heads_shape shape{1, 150, 2, 20}, one{1, 1, 2, 20};
    std::vector<std::int32_t> ids(150);
    std::iota(ids.begin(), ids.end(), 100);
    const basis b(frequencies(16), 1.1);
    auto x = random_elements<double>(shape, 73), g = random_elements<double>(shape, 74);
    const auto w = random_elements<double>({1, 1, 1, 20}, 75);
    const auto add_to = [&](std::span<double> sums, index_t token, const heads_shape& part) {
        std::vector<double> gx(x.size());
        const auto view = [&](std::vector<double>& all) { return token_major(all.data() + token * 40, part); };
        const std::span ids_of_part(ids.data() + token, static_cast<std::size_t>(part.tokens));
        rotate_backward<half_split>(
            exact_angles(b, ids_of_part), rotation_gradients{},
            grad_through(view(g), view(x), view(gx)).normalized(rms_norm<double>{.weight = w.data()}, sums));
    };
    std::vector<double> at_once(20), one_by_one(20);
    add_to(at_once, 0, shape);
    for (index_t token = 0; token < 150; ++token) add_to(one_by_one, token, one);
    for (std::size_t i = 0; i < 20; ++i) CHECK(std::fabs(at_once[i] - one_by_one[i]) < 1e-10);
}

namespace {

// The results of the backward pass of three operands, and its sums.
struct gradients_of_a_call {
    std::vector<float> q = std::vector<float>(180, 3.0f), k = std::vector<float>(180, 3.0f), v = k;
    std::vector<double> inv_freq = std::vector<double>(10, 1.0), weight = std::vector<double>(30, 2.0);
};

}  // namespace

TEST_CASE("rotate/normalized_backward: operands with and without a norm share a call, sums are added to") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const heads_shape shape{1, 3, 2, 30};
        const std::vector<std::int64_t> slots{5, -1, 2};
        const basis b(frequencies(20), 1.25);
        const exact_angles angles(b, positions);
        const auto x = random_elements<float>({1, 1, 16, 30}, 73), g = random_elements<float>(shape, 74);
        const auto w = random_elements<float>({1, 1, 1, 30}, 75);
        const rms_norm<> norm{.weight = w.data()};
        const auto view = [&](auto& buffer) { return token_major(buffer.data(), shape); };
        const auto cached = in_slots(token_major(x.data(), {2, 4, 2, 30}), slots.data(), 1, 3);
        const auto run = [&](const auto& call) {
            gradients_of_a_call out;
            call(out, rotation_gradients{.inv_freq = out.inv_freq});
            return out;
        };
        const auto q = [&](auto& o) { return grad_through(view(g), cached, view(o.q)).normalized(norm, o.weight); };
        const auto k = [&](auto& o) { return grad_through(view(g), view(g), view(o.k)); };
        const auto v = [&](auto& o) {
            return grad_through(view(g), cached, view(o.v)).normalized(norm, o.weight).unrotated();
        };
        const auto once = run(
            [&](auto& o, const auto& grads) { rotate_backward<Pairing, Backend>(angles, grads, q(o), k(o), v(o)); });
        const auto thrice = run([&](auto& o, const auto& grads) {
            rotate_backward<Pairing, Backend>(angles, grads, q(o));
            rotate_backward<Pairing, Backend>(angles, grads, k(o));
            rotate_backward<Pairing, Backend>(angles, v(o));
        });
        CHECK(nearly_same(once.q, thrice.q));
        CHECK(nearly_same(once.k, thrice.k));
        CHECK(nearly_same(once.v, thrice.v));
        for (std::size_t i = 60; i < 120; ++i) CHECK(once.q[i] == 3.0f);  // the token without a slot
        const auto near = [](const auto& sums, const auto& expected, double start) {
            double moved = 0.0;
            for (std::size_t i = 0; i < sums.size(); ++i) {
                REQUIRE(std::fabs(sums[i] - expected[i]) < 1e-4);
                moved += std::fabs(sums[i] - start);
            }
            CHECK(moved > 1.0);
        };
        near(once.inv_freq, thrice.inv_freq, 1.0);
        near(once.weight, thrice.weight, 2.0);
        // In place over grad_y or x; and from a table, which has no gradients of its own.
        auto over_g = g, over_x = x;
        rotate_backward<Pairing, Backend>(angles, grad_through(view(over_g), cached, view(over_g)).normalized(norm));
        const auto in_x = in_slots(token_major(over_x.data(), {2, 4, 2, 30}), slots.data(), 1, 3);
        rotate_backward<Pairing, Backend>(angles, grad_through(view(g), in_x, in_x).normalized(norm));
        for (std::size_t i = 0; i < 60; ++i) {
            CHECK(nearly_same(over_g[i], once.q[i]));
            CHECK(nearly_same(over_x[300 + i], once.q[i]));
        }
        const cos_sin_table<float> table(angles);
        std::vector<float> from_table(180, 3.0f);
        std::vector<double> sums(30);
        rotate_backward<Pairing, Backend>(table.view(),
                                          grad_through(view(g), cached, view(from_table)).normalized(norm, sums));
        CHECK(nearly_same(from_table, once.q));
    });
}

TEST_CASE("rotate/normalized_backward: empty calls, and invalid arguments are named before anything is written") {
    const basis b(frequencies(16));
    const std::vector<std::int32_t> ids{3, 17, 70'000};
    const exact_angles angles(b, ids);
    const heads_shape shape{1, 3, 2, 16};
    auto x = random_elements<float>(shape, 1), g = x;
    const auto x_before = x;
    const std::vector<float> w(32, 1.0f);
    std::vector<double> sums(16, 5.0), all_sums(32, 5.0);
    const auto view = [&](auto& buffer) { return token_major(buffer.data(), shape); };
    const auto with = [&](const rms_norm<float>& norm, std::span<double> grad_weight) {
        rotate_backward<half_split>(angles, rotation_gradients{},
                                    grad_through(view(g), view(x), view(g)).normalized(norm, grad_weight));
    };
    const auto of_no_heads = token_major(x.data(), {1, 3, 0, 16});
    rotate_backward<half_split>(
        angles, rotation_gradients{},
        grad_through(of_no_heads, of_no_heads, of_no_heads).normalized(rms_norm<>{.weight = w.data()}, sums));
    CHECK(sums == std::vector<double>(16, 5.0));

    const rms_norm<float> norm{.weight = w.data()};
    CHECK_THROWS_WITH_AS(with({.epsilon = -1.0}, {}), "rotate_backward: rms_norm's epsilon -1 must be finite and >= 0",
                         value_error);
    CHECK_THROWS_WITH_AS(with(norm, all_sums), "rotate_backward: grad_weight has 32 entries, must have head_dim = 16",
                         shape_error);
    CHECK_THROWS_WITH_AS(with({.weight = w.data(), .is_over_all_heads = true}, sums),
                         "rotate_backward: grad_weight has 16 entries, must have heads*head_dim = 32", shape_error);
    CHECK_THROWS_WITH_AS(with({}, sums),
                         "rotate_backward: grad_weight has 16 entries, must have none where rms_norm's weight is null",
                         shape_error);
    CHECK_THROWS_WITH_AS(with({.weight = g.data() + 90}, {}),
                         "rotate_backward: rms_norm's weight [1, 1, 1, 16] must not overlap grad_x [1, 3, 2, 16], as "
                         "one of them is written",
                         shape_error);
    const auto as_sums = [](std::vector<float>& of) { return std::span(reinterpret_cast<double*>(of.data()), 16); };
    CHECK_THROWS_WITH_AS(
        with(norm, as_sums(x)),
        "rotate_backward: grad_weight [1, 1, 1, 16] must not overlap x [1, 3, 2, 16], as one of them is written",
        shape_error);
    CHECK_THROWS_WITH_AS(
        with(norm, as_sums(g)),
        "rotate_backward: grad_weight [1, 1, 1, 16] must not overlap grad_y [1, 3, 2, 16], as one of them is written",
        shape_error);
    CHECK_THROWS_WITH_AS(
        rotate_backward<half_split>(
            angles, grad_through(view(g), view(x), view(g)).normalized(rms_norm<double>{.weight = sums.data()}, sums)),
        "rotate_backward: grad_weight [1, 1, 1, 16] must not overlap rms_norm's weight [1, 1, 1, 16], as one of them "
        "is written",
        shape_error);
    const heads_shape short_x{1, 2, 2, 16};
    CHECK_THROWS_WITH_AS(rotate_backward<half_split>(
                             angles, grad_through(view(g), token_major(x.data(), short_x), view(g)).normalized(norm)),
                         "rotate_backward: x [1, 2, 2, 16] must have the shape of grad_y, [1, 3, 2, 16]", shape_error);
    CHECK(same_bits(x, x_before));
    CHECK(same_bits(g, x_before));
    CHECK(sums == std::vector<double>(16, 5.0));
}
