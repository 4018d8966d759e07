// SPDX-License-Identifier: MIT
// A basis for each token: a flat batch of requests, each at its own t.
#include "cordage/rotate/backward.hpp"

#include <numeric>

#include "cordage/basis/basis_list.hpp"
#include "cordage/core/threads.hpp"
#include "rotate/naive_rotation.hpp"
#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

std::vector<double> slowed(std::vector<double> theta, double t) {
    for (double& x : theta) x /= t;
    return theta;
}
const basis at_1(frequencies(20)), at_3(slowed(frequencies(20), 3.0), 1.1), at_16(slowed(frequencies(20), 16.0), -1.3);
const std::vector<const basis*> bases{&at_1, &at_3, &at_16};
const basis_list list(bases);
constexpr std::size_t pairs = 10;

std::vector<std::int32_t> some_positions(index_t count) {
    std::vector<std::int32_t> ids;
    for (index_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>(i * i + 7));
    return ids;
}
// In random order, so that neighbours have different bases; some bases have no token if there are few.
std::vector<std::int32_t> some_bases(index_t count) {
    std::vector<std::int32_t> of_token;
    for (index_t i = 0; i < count; ++i) of_token.push_back(static_cast<std::int32_t>((i * 7 + i / 3) % 3));
    return of_token;
}

template <class T>
heads_view<T> token_of(const heads_view<T>& all, index_t token) {
    heads_view<T> one = all;
    one.data += token * all.token_stride;
    one.shape.tokens = 1;
    return one;
}

// One call for all tokens gives what one call for each token gives, in outputs and in gradients.
template <class T>
void check_against_single_tokens(index_t tokens) {
    for_each_kernel([&]<class Pairing, class Backend>(Pairing, Backend) {
        const heads_shape shape{1, tokens, 3, 24};
        const auto ids = some_positions(tokens);
        const auto of_token = some_bases(tokens);
        const exact_angles angles(list.of(of_token), ids);
        const auto x = random_elements<T>(shape, 80), g = random_elements<T>(shape, 81);
        const auto view = [&](auto& buffer) { return token_major(buffer.data(), shape); };
        std::vector<T> y = x, y_apart = x, undone(x.size()), undone_apart(x.size()), back(x.size()),
                       back_apart(x.size());
        std::vector<double> inv_freq(3 * pairs, 1.0), inv_freq_apart = inv_freq;
        std::vector<double> positions(ids.size(), 2.0), positions_apart = positions, factors(3, 3.0),
                                                        factors_apart = factors;
        rotate_forward<Pairing, Backend>(angles, in_place(view(y)));
        rotate_inverse<Pairing, Backend>(angles, from_to(view(y), view(undone)));
        rotate_backward<Pairing, Backend>(
            angles, rotation_gradients{.inv_freq = inv_freq, .position_ids = positions, .attention_factor = factors},
            grad_through(view(g), view(y), view(back)));
        for (index_t token = 0; token < tokens; ++token) {
            const auto i = static_cast<std::size_t>(token), b = static_cast<std::size_t>(of_token[i]);
            const exact_angles one(*bases[b], std::span(ids).subspan(i, 1));
            const auto mine = [&](auto& buffer) { return token_of(view(buffer), token); };
            rotate_forward<Pairing, Backend>(one, in_place(mine(y_apart)));
            rotate_inverse<Pairing, Backend>(one, from_to(mine(y), mine(undone_apart)));
            rotate_backward<Pairing, Backend>(
                one,
                rotation_gradients{.inv_freq = std::span(inv_freq_apart).subspan(b * pairs, pairs),
                                   .position_ids = std::span(positions_apart).subspan(i, 1),
                                   .attention_factor = std::span(factors_apart).subspan(b, 1)},
                grad_through(mine(g), mine(y), mine(back_apart)));
        }
        CHECK(same_bits(y, y_apart));  // by the same kernel
        CHECK(same_bits(undone, undone_apart));
        CHECK(same_bits(back, back_apart));
        CHECK(same_bits(positions, positions_apart));
        for (std::size_t i = 0; i < inv_freq.size(); ++i) {
            REQUIRE(close(inv_freq[i], inv_freq_apart[i], 10.0 * gradient_sum<T>));
        }
        for (std::size_t i = 0; i < 3; ++i) REQUIRE(close(factors[i], factors_apart[i], 10.0 * gradient_sum<T>));
    });
}

}  // namespace

TEST_CASE("rotate/tokens: one call rotates every token by its own basis, forward, inverse and backward") {
    check_against_single_tokens<float>(5);
    check_against_single_tokens<double>(1);
    check_against_single_tokens<double>(150);  // several portions of the sums
}

TEST_CASE("rotate/tokens: the row number as index gives the result of a basis for each row") {
    const heads_shape shape{3, 40, 2, 24};
    const auto ids = some_positions(120);
    const position_view<std::int32_t> view_of_ids(ids.data(), 3, 40, 40);
    std::vector<std::int32_t> of_token;
    for (std::int32_t i = 0; i < 120; ++i) of_token.push_back(i / 40);
    const exact_angles rows(list.of_rows(), view_of_ids), tokens(list.of(of_token, 3), view_of_ids);
    const auto y = random_elements<float>(shape, 82), g = random_elements<float>(shape, 83);
    const auto with = [&](const auto& angles, std::vector<double>& grads) {
        std::vector<float> x(y.size());
        rotate_backward<half_split>(
            angles,
            rotation_gradients{.inv_freq = std::span(grads).first(30),
                               .position_ids = std::span(grads).subspan(33, 120),
                               .attention_factor = std::span(grads).subspan(30, 3)},
            grad_through(token_major(g.data(), shape), token_major(y.data(), shape), token_major(x.data(), shape)));
        return x;
    };
    std::vector<double> by_row(153), by_token(153);
    CHECK(same_bits(with(rows, by_row), with(tokens, by_token)));
    for (std::size_t i = 0; i < 153; ++i) CHECK(close(by_token[i], by_row[i], 1e-12));
}

// <weight, y> by every frequency and factor of either basis, and by every position.
TEST_CASE("rotate/tokens: finite differences to every frequency, factor and position") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const heads_shape shape{1, 4, 2, 10};
        const std::vector<double> positions{0.25, -3.0, 11.5, 2.0};
        const std::vector<std::int32_t> of_token{1, 0, 1, 1};
        // 4 frequencies and a factor of each basis, then positions
        std::vector<double> inputs{1.0, 0.3, -0.05, 7.0, 0.8, 0.5, 0.1, 0.02, -2.0, 1.4};
        inputs.insert(inputs.end(), positions.begin(), positions.end());
        const auto x = random_elements<double>(shape, 84), weight = random_elements<double>(shape, 85);
        const auto with = [&](const std::vector<double>& at, const auto& f) {
            const auto first = at.begin();
            const basis a({first, first + 4}, at[4]), b({first + 5, first + 9}, at[9]);
            const basis_list both({&a, &b});
            const std::vector<double> ids(first + 10, at.end());
            f(exact_angles(both.of(of_token), ids));
        };
        const auto forward = [&](const std::vector<double>& at) {
            std::vector<double> y = x;
            with(at, [&](const auto& angles) {
                rotate_forward<Pairing, Backend>(angles, in_place(token_major(y.data(), shape)));
            });
            return y;
        };
        const auto y = forward(inputs);
        std::vector<double> grad_x(x.size()), inv_freq(8), factors(2), to_positions(4);
        with(inputs, [&](const auto& angles) {
            rotate_backward<Pairing, Backend>(
                angles,
                rotation_gradients{.inv_freq = inv_freq, .position_ids = to_positions, .attention_factor = factors},
                grad_through(token_major(weight.data(), shape), token_major(y.data(), shape),
                             token_major(grad_x.data(), shape)));
        });
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const auto loss = [&](double to) {
                auto at = inputs;
                at[i] = to;
                const auto moved = forward(at);
                return std::inner_product(moved.begin(), moved.end(), weight.begin(), 0.0);
            };
            const double found = i >= 10      ? to_positions[i - 10]
                                 : i % 5 == 4 ? factors[i / 5]
                                              : inv_freq[i / 5 * 4 + i % 5];
            CAPTURE(i);
            REQUIRE(close(found, difference(loss, inputs[i]), 1e-8));
        }
    });
}

TEST_CASE("rotate/tokens: the same bits for every number of threads, with few bases and with many") {
    const auto with_bases = [](index_t count, index_t tokens) {
        const heads_shape shape{2, tokens, 2, 20};
        std::vector<const basis*> chosen;
        for (index_t i = 0; i < count; ++i) chosen.push_back(bases[static_cast<std::size_t>(i % 3)]);
        const basis_list many(chosen);
        const auto ids = some_positions(tokens);
        std::vector<std::int32_t> of_token;
        for (index_t i = 0; i < tokens; ++i) of_token.push_back(static_cast<std::int32_t>(i * 7 % count));
        const exact_angles angles(many.of(of_token), ids);
        const auto y = random_elements<float>(shape, 86), g = random_elements<float>(shape, 87);
        const auto with = [&](const auto& how) {
            std::vector<float> x(y.size());
            const auto n = static_cast<std::size_t>(count), all_ids = static_cast<std::size_t>(2 * tokens);
            std::vector<double> all(n * 10 + n + all_ids, 0.0);
            rotate_backward<half_split>(
                how, angles,
                rotation_gradients{.inv_freq = std::span(all).first(n * 10),
                                   .position_ids = std::span(all).subspan(n * 11),
                                   .attention_factor = std::span(all).subspan(n * 10, n)},
                grad_through(token_major(g.data(), shape), token_major(y.data(), shape), token_major(x.data(), shape)));
            for (const float one : x) all.push_back(static_cast<double>(one));
            return all;
        };
        const auto alone = with(serial{});
        for (const index_t n : {1, 2, 3, 7}) REQUIRE(same_bits(with(threads{n, 1}), alone));
    };
    with_bases(1, 333);
    with_bases(3, 333);
    with_bases(100, 70);
    with_bases(5000, 40);
    with_bases(3, 0);
}
