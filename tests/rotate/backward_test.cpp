// SPDX-License-Identifier: MIT
#include "cordage/rotate/backward.hpp"

#include <numeric>

#include "cordage/core/threads.hpp"
#include "rotate/finite_differences.hpp"
#include "rotate/naive_gradients.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

const std::vector<double> frequencies20 = frequencies(20);

}  // namespace

TEST_CASE("rotate/backward: grad_x and the gradients to frequencies, positions and factor, float") {
    check_gradients<float>();
}

TEST_CASE("rotate/backward: the transpose of the forward pass, <R x, g> = <x, R^T g>") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const auto with_type = []<class T>(T, double tolerance) {
            const heads_shape shape{1, 4, 3, 28};
            const std::vector<std::int32_t> positions{0, 9, -77, 131071};
            const basis b(frequencies(24), 1.5);
            const exact_angles angles(b, positions);
            const auto x = random_elements<T>(shape, 34), g = random_elements<T>(shape, 35);
            std::vector<T> y = x, back = g;
            rotate_forward<Pairing, Backend>(angles, in_place(token_major(y.data(), shape)));
            rotate_backward<Pairing, Backend>(angles, in_place(token_major(back.data(), shape)));
            double forth = 0.0, back_again = 0.0, size = 0.0;
            for (std::size_t i = 0; i < x.size(); ++i) {
                forth += value(y[i]) * value(g[i]);
                back_again += value(x[i]) * value(back[i]);
                size += std::fabs(value(y[i]) * value(g[i]));
            }
            REQUIRE(std::fabs(forth - back_again) < tolerance * size);
        };
        with_type(double{}, 1e-14);
        with_type(float{}, 1e-6);
        with_type(float16{}, 1e-3);   // rounding of 5e-4 for each element
        with_type(bfloat16{}, 8e-3);  // 4e-3
    });
}

TEST_CASE("rotate/backward: finite differences to every frequency, position and the attention factor") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        check_by_differences<Pairing, Backend>(
            {1, 3, 2, 10}, {1.0, 0.3, -0.05, 7.0}, {0.25, -3.0, 11.5}, 36,
            [](const basis& b, const std::vector<double>& positions) { return exact_angles(b, positions); });
    });
}

TEST_CASE("rotate/backward: the same bits for every number of threads, and on every run") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const auto with_type = []<class T>(T) {
            const heads_shape shape{2, 333, 3, 20};
            std::vector<std::int32_t> positions(333);
            std::iota(positions.begin(), positions.end(), 100);
            const basis b(frequencies20, 1.1);
            const exact_angles angles(b, positions);
            const auto y = random_elements<T>(shape, 38), g = random_elements<T>(shape, 39);
            const auto with = [&](const auto& how) {
                std::vector<T> x(y.size());
                std::vector<double> all(10 + 666 + 1, 0.0);
                const std::span<double> grads(all);
                rotate_backward<Pairing, Backend>(
                    how, angles,
                    rotation_gradients{.inv_freq = grads.first(10),
                                       .position_ids = grads.subspan(10, 666),
                                       .attention_factor = {&all.back(), 1}},
                    grad_through(token_major(g.data(), shape), token_major(y.data(), shape),
                                 token_major(x.data(), shape)));
                for (const T one : x) all.push_back(value(one));
                return all;
            };
            const auto alone = with(serial{});
            for (const index_t n : {1, 2, 3, 7}) REQUIRE(same_bits(with(threads{n, 1}), alone));
            const auto backwards = [](index_t n, const auto& body) {
                while (n-- > 0) body(n);
            };
            REQUIRE(same_bits(with(loop_executor{backwards, 5, 1}), alone));
        };
        with_type(float{});
        with_type(bfloat16{});
    });
}

namespace {

// A source of one's own whose tokens have bases of their own.
struct own_bases {
    const std::vector<basis>& all;
    const std::vector<std::int32_t>& ids;

    index_t batch() const { return 1; }
    index_t tokens() const { return std::ssize(ids); }
    index_t pairs() const { return all[0].pairs(); }
    index_t bases() const { return std::ssize(all); }
    index_t basis_index(index_t, index_t token) const { return token % bases(); }
    double attention_factor(index_t, index_t) const { return 1.0; }
    std::uint64_t phase(index_t row, index_t token, index_t pair) const {
        return at(basis_index(row, token)).phase(pair, ids[static_cast<std::size_t>(token)]);
    }
    double position(index_t, index_t token, index_t) const { return ids[static_cast<std::size_t>(token)]; }
    const double* inv_freq(index_t b) const { return at(b).inv_freq().data(); }
    const basis& at(index_t b) const { return all[static_cast<std::size_t>(b)]; }
};

}  // namespace

TEST_CASE("rotate/backward: a source of one's own may have a basis for each token, and need not say so") {
    const std::vector<basis> all(4, basis({0.5, 0.25}));
    const std::vector<std::int32_t> ids(1024, 1);
    const heads_shape shape{.tokens = 1024, .heads = 1, .head_dim = 4};
    std::vector<float> grad(4096, 1.0f), y(4096);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = i % 4 < 2 ? 1.0f : 0.0f;  // dL/dangle = 1 for each pair
    std::vector<double> grad_inv_freq(8);
    const auto g = token_major(grad.data(), shape);
    rotate_backward<half_split>(threads(2), own_bases{all, ids}, rotation_gradients{.inv_freq = grad_inv_freq},
                                grad_through(g, token_major(y.data(), shape), g));
    CHECK(grad_inv_freq == std::vector<double>(8, 256.0));
}

TEST_CASE("rotate/backward: grad_x may be grad_y or y itself, and results that are not wanted change nothing") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const heads_shape shape{1, 4, 2, 30};
        const std::vector<float> positions{0.5f, 1.0f, -8.25f, 1000.0f};
        const basis b(frequencies20);
        const exact_angles angles(b, positions);
        const auto y = random_elements<float>(shape, 40), g = random_elements<float>(shape, 41);
        std::vector<float> apart(y.size()), over_g = g, over_y = y, plain = g;
        const auto view = [&](auto& buffer) { return token_major(buffer.data(), shape); };
        std::vector<double> first(10, 0.0), second(10, 0.0), third(10, 0.0);
        rotate_backward<Pairing, Backend>(angles, rotation_gradients{.inv_freq = first},
                                          grad_through(view(g), view(y), view(apart)));
        rotate_backward<Pairing, Backend>(angles, rotation_gradients{.inv_freq = second},
                                          grad_through(view(over_g), view(y), view(over_g)));
        rotate_backward<Pairing, Backend>(angles, rotation_gradients{.inv_freq = third},
                                          grad_through(view(g), view(over_y), view(over_y)));
        CHECK(same_bits(apart, over_g));
        CHECK(same_bits(apart, over_y));
        CHECK((first == second && first == third));
        rotate_backward<Pairing, Backend>(angles, rotation_gradients{},
                                          grad_through(view(plain), view(y), view(plain)));
        CHECK(same_bits(apart, plain));
        std::vector<float> without_y = g;
        rotate_backward<Pairing, Backend>(angles, in_place(view(without_y)));
        for (std::size_t i = 0; i < apart.size(); ++i) {  // another kernel, which may contract other products
            CHECK(std::fabs(apart[i] - without_y[i]) < 1e-6f);
        }
    });
}
