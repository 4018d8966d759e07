// SPDX-License-Identifier: MIT
#include "cordage/angles/axis_angles.hpp"
#include "cordage/basis/basis_list.hpp"
#include "cordage/basis/rope_scaling.hpp"
#include "cordage/core/threads.hpp"
#include "cordage/positions/sections.hpp"
#include "cordage/rotate/backward.hpp"
#include "cordage/rotate/cos_sin_table.hpp"
#include "cordage/scaling/yarn.hpp"
#include "rotate/naive_rotation.hpp"
#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

// Three requests of one batch, each at its own t, so that frequencies and attention factors differ.
const rope_config model{.head_dim = 24, .rotary_dim = 20, .original_length = 64};
const basis at_1 = make_basis(model, yarn{}, 1.0), at_3 = make_basis(model, yarn{}, 3.0),
            at_16 = make_basis(model, yarn{}, 16.0);
const std::vector<const basis*> bases{&at_1, &at_3, &at_16};
const basis_list list(bases);

heads_shape q_shape(index_t tokens) { return {3, tokens, 3, 24}; }
heads_shape k_shape(index_t tokens) { return {3, tokens, 1, 22}; }

template <class T>
heads_view<T> row_of(const heads_view<T>& all, index_t row) {
    heads_view<T> one = all;
    one.data += row * all.batch_stride;
    one.shape.batch = 1;
    return one;
}

std::vector<std::int32_t> some_positions(index_t count) {
    std::vector<std::int32_t> ids;
    for (index_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>(i * i + 7));
    return ids;
}

// One call for the batch gives what one call for each row gives, in outputs and in gradients.
template <class T>
void check_against_single_rows(index_t tokens) {
    for_each_kernel([&]<class Pairing, class Backend>(Pairing, Backend) {
        const auto ids = some_positions(3 * tokens);
        const exact_angles rows(list.of_rows(), position_view<std::int32_t>(ids.data(), 3, tokens, tokens));
        const auto q = random_elements<T>(q_shape(tokens), 70), k = random_elements<T>(k_shape(tokens), 71);
        const auto g_q = random_elements<T>(q_shape(tokens), 72), g_k = random_elements<T>(k_shape(tokens), 73);
        const auto of_q = [&](auto& buffer) { return token_major(buffer.data(), q_shape(tokens)); };
        const auto of_k = [&](auto& buffer) { return token_major(buffer.data(), k_shape(tokens)); };

        struct result {
            std::vector<T> y_q, y_k, back_q, back_k, undone_q, plain_back_q;
            std::vector<double> inv_freq, positions, factors;
        };
        const result empty{q,
                           k,
                           std::vector<T>(q.size()),
                           std::vector<T>(k.size()),
                           std::vector<T>(q.size()),
                           g_q,
                           std::vector<double>(30, 1.0),
                           std::vector<double>(ids.size(), 2.0),
                           std::vector<double>(3, 3.0)};
        result together = empty, apart = empty;
        rotate_forward<Pairing, Backend>(rows, in_place(of_q(together.y_q)), in_place(of_k(together.y_k)));
        rotate_inverse<Pairing, Backend>(rows, from_to(of_q(together.y_q), of_q(together.undone_q)));
        rotate_backward<Pairing, Backend>(rows, in_place(of_q(together.plain_back_q)));
        rotate_backward<Pairing, Backend>(rows,
                                          rotation_gradients{.inv_freq = together.inv_freq,
                                                             .position_ids = together.positions,
                                                             .attention_factor = together.factors},
                                          grad_through(of_q(g_q), of_q(together.y_q), of_q(together.back_q)),
                                          grad_through(of_k(g_k), of_k(together.y_k), of_k(together.back_k)));
        for (index_t row = 0; row < 3; ++row) {
            const exact_angles one(*bases[static_cast<std::size_t>(row)],
                                   position_view<std::int32_t>(ids.data() + row * tokens, 1, tokens, 0));
            const auto in_q = [&](auto& buffer) { return row_of(of_q(buffer), row); };
            const auto in_k = [&](auto& buffer) { return row_of(of_k(buffer), row); };
            rotate_forward<Pairing, Backend>(one, in_place(in_q(apart.y_q)), in_place(in_k(apart.y_k)));
            rotate_inverse<Pairing, Backend>(one, from_to(in_q(apart.y_q), in_q(apart.undone_q)));
            rotate_backward<Pairing, Backend>(one, in_place(in_q(apart.plain_back_q)));
            const auto first = static_cast<std::size_t>(row * tokens), count_of_row = static_cast<std::size_t>(tokens);
            rotate_backward<Pairing, Backend>(
                one,
                rotation_gradients{
                    .inv_freq = std::span(apart.inv_freq).subspan(static_cast<std::size_t>(row) * 10, 10),
                    .position_ids = std::span(apart.positions).subspan(first, count_of_row),
                    .attention_factor = std::span(apart.factors).subspan(static_cast<std::size_t>(row), 1)},
                grad_through(in_q(g_q), in_q(together.y_q), in_q(apart.back_q)),
                grad_through(in_k(g_k), in_k(together.y_k), in_k(apart.back_k)));
        }
        CHECK(nearly_same(together.y_q, apart.y_q));
        CHECK(nearly_same(together.y_k, apart.y_k));
        CHECK(nearly_same(together.undone_q, apart.undone_q));
        CHECK(nearly_same(together.plain_back_q, apart.plain_back_q));
        CHECK(nearly_same(together.back_q, apart.back_q));
        CHECK(nearly_same(together.back_k, apart.back_k));
        const auto check_sums = [](const std::vector<double>& a, const std::vector<double>& b) {
            for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(close(a[i], b[i], 10.0 * gradient_sum<T>));
        };
        check_sums(together.positions, apart.positions);
        check_sums(together.inv_freq, apart.inv_freq);
        check_sums(together.factors, apart.factors);
    });
}

}  // namespace

TEST_CASE("rotate/rows: one call rotates every row by its own basis, forward, inverse and backward") {
    check_against_single_rows<float>(5);
    check_against_single_rows<double>(5);
    check_against_single_rows<bfloat16>(4);
    check_against_single_rows<float>(70);  // several portions of each row's sums
}

TEST_CASE("rotate/rows: a table of them gives the same rotation") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const auto ids = some_positions(15);
        const exact_angles rows(list.of_rows(), position_view<std::int32_t>(ids.data(), 3, 5, 5));
        const cos_sin_table<double> table(rows);
        const auto x = random_elements<double>(q_shape(5), 74);
        const auto check = [&](const auto& call) {
            std::vector<double> by_table(x.size()), by_angles(x.size());
            call(table.view(), from_to(token_major(x.data(), q_shape(5)), token_major(by_table.data(), q_shape(5))));
            call(rows, from_to(token_major(x.data(), q_shape(5)), token_major(by_angles.data(), q_shape(5))));
            CHECK(nearly_same(by_table, by_angles));
        };
        check([](const auto& angles, const auto& o) { rotate_forward<Pairing, Backend>(angles, o); });
        check([](const auto& angles, const auto& o) { rotate_inverse<Pairing, Backend>(angles, o); });
    });
}

TEST_CASE("rotate/rows: rows of several axes, each with its own basis") {
    for_each_kernel([]<class Pairing, class Backend>(Pairing, Backend) {
        const auto ids = some_positions(24);  // [2 axes, 3 rows, 4 tokens]
        const auto axis_of_pair = interleaved_axes({5, 5});
        const axis_angles rows(list.of_rows(), axis_of_pair, axis_major(ids.data(), 2, 3, 4));
        const heads_shape shape = q_shape(4);
        const auto x = random_elements<float>(shape, 75), g = random_elements<float>(shape, 76);
        std::vector<float> together = x, apart = x, back(x.size());
        rotate_forward<Pairing, Backend>(rows, in_place(token_major(together.data(), shape)));
        std::vector<double> to_positions(24, 0.0), of_rows(24, 0.0);
        rotate_backward<Pairing, Backend>(
            rows, rotation_gradients{.position_ids = to_positions},
            grad_through(token_major(g.data(), shape), token_major(together.data(), shape),
                         token_major(back.data(), shape)));
        for (index_t row = 0; row < 3; ++row) {
            auto own = axis_major(ids.data(), 2, 3, 4);
            own.data += row * own.batch_stride;
            own.batch = 1;
            const axis_angles one(*bases[static_cast<std::size_t>(row)], axis_of_pair, own);
            const auto mine = [&](auto& buffer) { return row_of(token_major(buffer.data(), shape), row); };
            rotate_forward<Pairing, Backend>(one, in_place(mine(apart)));
            std::vector<double> to_row(8, 0.0);
            rotate_backward<Pairing, Backend>(one, rotation_gradients{.position_ids = to_row},
                                              grad_through(mine(g), mine(together), mine(back)));
            for (std::size_t i = 0; i < 8; ++i)
                of_rows[i / 4 * 12 + static_cast<std::size_t>(row) * 4 + i % 4] = to_row[i];
        }
        CHECK(nearly_same(together, apart));
        for (std::size_t i = 0; i < 24; ++i) CHECK(close(to_positions[i], of_rows[i], 10.0 * gradient_sum<float>));
    });
}

TEST_CASE("rotate/rows: the same bits for every number of threads, with few rows and with many") {
    const auto with_batch = [](index_t batch, index_t tokens) {
        const heads_shape shape{batch, tokens, 2, 20};
        std::vector<const basis*> chosen;
        for (index_t row = 0; row < batch; ++row) chosen.push_back(bases[static_cast<std::size_t>(row % 3)]);
        const auto ids = some_positions(tokens);
        const basis_list of_batch(chosen);
        const exact_angles rows(of_batch.of_rows(), ids);
        const auto y = random_elements<float>(shape, 77), g = random_elements<float>(shape, 78);
        const auto with = [&](const auto& how) {
            std::vector<float> x(y.size());
            const auto n = static_cast<std::size_t>(batch);
            std::vector<double> all(n * 10 + n, 0.0);
            rotate_backward<half_split>(
                how, rows,
                rotation_gradients{.inv_freq = std::span(all).first(n * 10),
                                   .attention_factor = std::span(all).subspan(n * 10, n)},
                grad_through(token_major(g.data(), shape), token_major(y.data(), shape), token_major(x.data(), shape)));
            for (const float one : x) all.push_back(static_cast<double>(one));
            return all;
        };
        const auto alone = with(serial{});
        for (const index_t n : {1, 2, 3, 7}) REQUIRE(same_bits(with(threads{n, 1}), alone));
    };
    with_batch(3, 333);
    with_batch(100, 3);
    with_batch(2, 0);
}

TEST_CASE("rotate/rows: shapes that forget the rows are refused before anything is written") {
    const auto ids = some_positions(5);
    const exact_angles rows(list.of_rows(), position_view<std::int32_t>(ids));
    const auto y = random_elements<float>(q_shape(5), 79);
    std::vector<float> g = y;
    std::vector<double> ten(10, 0.0);
    const auto view = [&](auto& buffer) { return token_major(buffer.data(), q_shape(5)); };
    CHECK_THROWS_WITH_AS(
        rotate_backward<half_split>(rows, rotation_gradients{.inv_freq = ten}, grad_through(view(g), view(y), view(g))),
        "rotate_backward: grads.inv_freq has 10 entries, must have bases*rotary_dim/2 = 30", shape_error);
    CHECK_THROWS_WITH_AS(
        rotate_forward<half_split>(rows, in_place(row_of(view(g), 0))),
        "rotate_forward: angles [3, 5] must be [1 or batch, tokens] of [1, 5, 3, 24], a position for each token",
        shape_error);
    CHECK(same_bits(g, y));
}
