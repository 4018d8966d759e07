// SPDX-License-Identifier: MIT
// The code of version 0.2 in docs/upgrading.md, with the results that it must have.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "cordage/basis/rope_scaling.hpp"
#include "cordage/clex/clex.hpp"
#include "cordage/clex/initial_weights.hpp"
#include "cordage/core/threads.hpp"
#include "cordage/kernels.hpp"
#include "cordage/models/config/read.hpp"
#include "cordage/scaling/yarn.hpp"
#include "cordage/schedule/schedules.hpp"

using namespace cordage;

namespace {

const rope_config model{.head_dim = 16, .rotary_dim = 16, .theta_base = 10000, .original_length = 64};

struct tensors {
    heads_shape shape;
    std::vector<float> numbers;

    explicit tensors(const heads_shape& s)
        : shape(s), numbers(static_cast<std::size_t>(s.batch * s.tokens * s.heads * s.head_dim)) {
        for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<float>(i));
    }
    heads_view<float> view() { return token_major(numbers.data(), shape); }
};

double largest_difference(const std::vector<float>& x, const std::vector<float>& y) {
    double largest = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::fabs(double{x[i]} - double{y[i]}));
    return largest;
}

std::vector<int> counted(int count, int first = 0) {
    std::vector<int> ids(static_cast<std::size_t>(count));
    std::iota(ids.begin(), ids.end(), first);
    return ids;
}

}  // namespace

TEST_CASE("docs/upgrading: a rotation under a rule, by threads") {
    const std::vector<int> position_ids = counted(256);
    tensors q_of({.tokens = 256, .heads = 4, .head_dim = 16}), k_of({.tokens = 256, .heads = 2, .head_dim = 16});
    tensors expected = q_of;
    const auto q = q_of.view(), k = k_of.view();
    // [upgrading_rotate]
    const rope_scaling rule(model, yarn{}, continuous{});
    const basis b = rule.at_length(256);
    const threads pool(4);  // once for the program
    rotate_forward<half_split>(pool, exact_angles(b, position_ids), in_place(q), in_place(k));
    // [/upgrading_rotate]
    CHECK(rule.ratio(256) == 4.0);
    const basis same = make_basis(model, yarn{}, 4.0);
    rotate_forward<half_split>(exact_angles(same, position_ids), in_place(expected.view()));
    CHECK(q_of.numbers == expected.numbers);
}

TEST_CASE("docs/upgrading: the backward pass") {
    const std::vector<int> position_ids = counted(3, 5);
    tensors y_of({.tokens = 3, .heads = 2, .head_dim = 16});
    tensors grad_of = y_of;
    std::reverse(grad_of.numbers.begin(), grad_of.numbers.end());
    const basis b = make_basis(model, yarn{}, 4.0);
    const auto y = y_of.view(), grad_y = grad_of.view();
    double expected = 0.0;  // dL/dm
    for (std::size_t i = 0; i < y_of.numbers.size(); ++i)
        expected += double{y_of.numbers[i]} * double{grad_of.numbers[i]};
    // [upgrading_backward]
    std::vector<double> grad_inv_freq(8), grad_factor(1);  // [bases, rotary_dim/2], [bases]
    rotate_backward<half_split>(exact_angles(b, position_ids),
                                rotation_gradients{.inv_freq = grad_inv_freq, .attention_factor = grad_factor},
                                grad_through(grad_y, y, grad_y));
    // [/upgrading_backward]
    CHECK(grad_factor[0] == doctest::Approx(expected / b.attention_factor()).epsilon(1e-6));
    CHECK(std::ranges::none_of(grad_inv_freq, [](double g) { return g == 0.0; }));
}

TEST_CASE("docs/upgrading: requests of different lengths in one call") {
    const basis short_basis = make_basis(model, yarn{}, 1.0), long_basis = make_basis(model, yarn{}, 8.0);
    const std::vector<int> position_ids{40, 500};
    tensors q_of({.batch = 2, .tokens = 1, .heads = 4, .head_dim = 16});
    tensors expected = q_of;
    const auto q = q_of.view();
    // [upgrading_batch]
    const std::vector<const basis*> bases{&short_basis, &long_basis};  // one for each row
    const basis_list list(bases);
    const position_view<int> ids(position_ids.data(), 2, 1, 1);
    rotate_forward<half_split>(exact_angles(list.of_rows(), ids), in_place(q));
    // [/upgrading_batch]
    const std::vector<int> first{40}, second{500};
    const heads_shape row{.tokens = 1, .heads = 4, .head_dim = 16};
    rotate_forward<half_split>(exact_angles(short_basis, first), in_place(token_major(expected.numbers.data(), row)));
    rotate_forward<half_split>(exact_angles(long_basis, second),
                               in_place(token_major(expected.numbers.data() + 64, row)));
    CHECK(q_of.numbers == expected.numbers);
}

TEST_CASE("docs/upgrading: cached keys of another basis, in one tensor") {
    const basis old_basis = make_basis(model, yarn{}, 2.0), new_basis = make_basis(model, yarn{}, 8.0);
    const std::vector<int> position_ids = counted(48);
    tensors keys_of({.tokens = 48, .heads = 2, .head_dim = 16});
    tensors expected = keys_of;
    const auto keys = keys_of.view();
    rotate_forward<half_split>(exact_angles(old_basis, position_ids), in_place(keys));
    rotate_forward<half_split>(exact_angles(new_basis, position_ids), in_place(expected.view()));
    // [upgrading_rebase]
    rebase<half_split>(exact_angles(new_basis, position_ids) - exact_angles(old_basis, position_ids), in_place(keys));
    // [/upgrading_rebase]
    CHECK(largest_difference(keys_of.numbers, expected.numbers) < 1e-6);
}

TEST_CASE("docs/upgrading: cached keys of another basis, in blocks") {
    const basis old_basis = make_basis(model, yarn{}, 2.0), new_basis = make_basis(model, yarn{}, 8.0);
    const std::vector<int> position_ids = counted(48);
    const std::vector<std::int32_t> block_table{4, 0, 3};
    tensors cache_of({.batch = 6, .tokens = 16, .heads = 2, .head_dim = 16});
    tensors expected = cache_of;
    const auto cache = cache_of.view();  // [blocks, block_size, heads, head_dim]
    const auto blocks = [&](const heads_view<float>& all) {
        return in_place(in_blocks(all, block_table.data(), 1, 48, 3));
    };
    rotate_forward<half_split>(exact_angles(old_basis, position_ids), blocks(cache));
    rotate_forward<half_split>(exact_angles(new_basis, position_ids), blocks(expected.view()));
    // [upgrading_paged]
    const index_t row_stride = std::ssize(block_table);
    rebase<half_split>(exact_angles(new_basis, position_ids) - exact_angles(old_basis, position_ids),
                       in_place(in_blocks(cache, block_table.data(), 1, 48, row_stride)));
    // [/upgrading_paged]
    CHECK(largest_difference(cache_of.numbers, expected.numbers) < 1e-6);
}

TEST_CASE("docs/upgrading: cached keys at other positions") {
    const basis b = make_basis(model, yarn{}, 2.0);
    const std::vector<int> old_ids = counted(16, 100), new_ids = counted(16, 36);
    tensors keys_of({.tokens = 16, .heads = 2, .head_dim = 16});
    tensors expected = keys_of;
    const auto keys = keys_of.view();
    rotate_forward<half_split>(exact_angles(b, old_ids), in_place(keys));
    rotate_forward<half_split>(exact_angles(b, new_ids), in_place(expected.view()));
    // [upgrading_shift]
    rebase<half_split>(exact_angles(b, new_ids) - exact_angles(b, old_ids), in_place(keys));
    // [/upgrading_shift]
    CHECK(largest_difference(keys_of.numbers, expected.numbers) < 1e-6);
}

TEST_CASE("docs/upgrading: positions of several axes") {
    const basis b = make_basis(model, yarn{}, 1.0);
    const std::vector<int> numbers(std::size_t{3} * 16, 7);
    tensors q_of({.tokens = 16, .heads = 2, .head_dim = 16});
    tensors expected = q_of;
    const auto q = q_of.view();
    // [upgrading_axes]
    const position_view<int> ids = axis_major(numbers.data(), 3, 1, 16);  // [axes, batch, tokens]
    const auto axes = contiguous_axes({4, 2, 2});
    rotate_forward<half_split>(axis_angles(b, axes, ids), in_place(q));
    // [/upgrading_axes]
    const std::vector<int> same(16, 7);
    rotate_forward<half_split>(exact_angles(b, same), in_place(expected.view()));
    CHECK(q_of.numbers == expected.numbers);
}

TEST_CASE("docs/upgrading: CLEX") {
    const clex_weights weights = clex_initial_weights(model, 1, 0);
    // [upgrading_clex]
    const clex<> paper(model, weights, {.t_max = 16});  // as before
    const clex<paper_field<yarn>> over_yarn(model, weights, {.t_max = 16});
    const clex<log_length_field<ntk_aware>> in_log_time(model, weights, {.t_max = 16});
    const clex<paper_field<ntk_aware, silu, float>, dopri5> in_float(model, weights, {.t_max = 16});
    // [/upgrading_clex]
    std::vector<double> state(8);
    paper.path().at(4.0, state);
    // [upgrading_clex_state]
    const std::vector<double> log_inv_freq = paper.log_inv_freq(state);  // of a state of paper.path()
    // [/upgrading_clex_state]
    CHECK(make_basis(model, over_yarn, 4.0).attention_factor() == make_basis(model, yarn{}, 4.0).attention_factor());
    for (const basis& b : {make_basis(model, in_log_time, 4.0), make_basis(model, in_float, 4.0)}) {
        for (std::size_t i = 0; i < 8; ++i) {
            CHECK(std::log(b.inv_freq()[i]) == doctest::Approx(log_inv_freq[i]).epsilon(1e-5));  // W_down = 0
        }
    }
}

TEST_CASE("docs/upgrading: weights of CLEX in ln t, of 0.2") {
    clex_weights weights = clex_initial_weights(model, 1, 0);
    weights.down = clex_initial_weights(model, 1, 1).up;
    // The field of 0.2 at t = 1: s W_down silu(W_up z).
    std::vector<double> z, expected;
    for (index_t i = 0; i < model.pairs(); ++i) z.push_back(model.log_inv_freq(i));
    expected.resize(z.size());
    paper_field<unscaled>(model, weights)(1.0, z, expected);
    // [upgrading_log_length]
    const double size = std::log(model.theta_base) / std::sqrt(3.0);  // of log theta
    for (double& weight : weights.up) weight *= static_cast<double>(weights.pairs) * size;
    const double of_output = static_cast<double>(weights.hidden) / std::sqrt(2.0 * std::numbers::pi);
    for (double& weight : weights.down) weight *= of_output;
    const clex<log_length_field<by_parts>> converted(model, weights, {.t_max = 16});
    // [/upgrading_log_length]
    std::vector<double> slope(z.size());
    const clex<log_length_field<unscaled>> without_prior(model, converted.weights(), {.t_max = 16});
    without_prior.log_alpha_rate(model, 1.0, slope);
    for (std::size_t i = 0; i < z.size(); ++i) {
        const double share = model.phase_gate(static_cast<index_t>(i));
        CHECK(slope[i] == doctest::Approx(share * expected[i]).epsilon(1e-6));
    }
}

TEST_CASE("docs/upgrading: a config") {
    const std::string text = R"({"model_type": "qwen2_vl", "hidden_size": 1536, "num_attention_heads": 12,
        "max_position_embeddings": 32768, "rope_theta": 1000000.0,
        "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}})";
    // [upgrading_config]
    const hf::model_ropes found = hf::read_config(text);
    const hf::layer_rope& rope = found.of("");
    const basis b = rope_scaling(rope.config, rope.policy, rope.schedule).at_length(8192);
    const std::span<const std::uint8_t> axes = rope.axis_of_pair;  // [rotary_dim/2]; empty with one axis
    // [/upgrading_config]
    CHECK(b.pairs() == 64);
    CHECK(std::ranges::count(axes, 1) == 24);
}
