// SPDX-License-Identifier: MIT
// The new forms in docs/upgrading.md, with the results that they must have.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

#include "cordage/attention/score_factors.hpp"
#include "cordage/basis/basis_list.hpp"
#include "cordage/clex/clex.hpp"
#include "cordage/clex/initial_weights.hpp"
#include "cordage/kernels.hpp"
#include "cordage/models/config/read.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/yarn.hpp"

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

std::vector<int> counted(int count, int first = 0) {
    std::vector<int> ids(static_cast<std::size_t>(count));
    std::iota(ids.begin(), ids.end(), first);
    return ids;
}

}  // namespace

namespace own_backend {

struct my_backend {};

template <class Pairing, class Direction, class Real, class Source, class O>
void rotate_tokens(const Source& angles, const O& operand, index_t begin, index_t end) noexcept {
    for (index_t token = begin; token < end; ++token) {
        const double extra = Direction::extra_factor(angles.attention_factor(0, token));
        for (index_t pair = 0; pair < angles.pairs(); ++pair) {
            auto at = cos_sin_at<Real>(angles, 0, token, pair);
            at = {at.cos * static_cast<Real>(extra), at.sin * static_cast<Real>(Direction::sine_sign * extra)};
            backend::rotate_pair<Pairing>(operand, 0, token, pair, angles.pairs(), at);
        }
        backend::copy_unrotated(operand, 0, token, 2 * angles.pairs());
    }
}

// [upgrading_backend]
template <pairing Pairing, class Direction, class Source, class O>
void rotate_range(my_backend, const Source& angles, const operand_list<O>& operands, index_t begin,
                  index_t end) noexcept {
    using real = typename O::compute;  // float or double
    for (const O& o : operands) rotate_tokens<Pairing, Direction, real>(angles, o, begin, end);
}
// [/upgrading_backend]

}  // namespace own_backend

TEST_CASE("docs/upgrading: bits and numbers of 16-bit elements") {
    // [upgrading_sixteen_bits]
    const bfloat16 one = bfloat16::from_bits(0x3f80), third = to_bfloat16(1.0f / 3.0f);
    // [/upgrading_sixteen_bits]
    CHECK(to_float(one) == 1.0f);
    CHECK(to_float(third) == 0.333984375f);
}

TEST_CASE("docs/upgrading: a rule by its numbers") {
    // [upgrading_preset]
    const rope_config llama_3_1{.head_dim = 128, .rotary_dim = 128, .theta_base = 5e5, .original_length = 8192};
    const basis b = make_basis(llama_3_1, llama3{}, 8.0);
    // [/upgrading_preset]
    const basis as_in_0_2 = make_basis(llama_3_1, llama3{1.0, 4.0}, 8.0);
    CHECK(b.fingerprint() == as_in_0_2.fingerprint());
}

TEST_CASE("docs/upgrading: the temperature of a layer") {
    const auto found = hf::read_config(R"({"model_type": "ministral3", "head_dim": 128, "hidden_size": 4096,
        "num_attention_heads": 32, "max_position_embeddings": 262144, "rope_parameters": {"rope_type": "yarn",
        "rope_theta": 1000000.0, "factor": 16.0, "original_max_position_embeddings": 16384, "beta_fast": 32.0,
        "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1}})");
    const hf::layer_rope& rope = found.of("");
    const double position = 40000;
    double factor = 1.0;
    // [upgrading_temperature]
    if (rope.temperature) factor = rope.temperature->at(position);
    // [/upgrading_temperature]
    CHECK(factor == ministral3_temperature(16384, 0.1).at(position));
    CHECK(factor > 1.1);
}

TEST_CASE("docs/upgrading: the first tokens unscaled") {
    const yarn policy;
    const double t = 4.0;
    const std::vector<int> position_ids{2, 40};
    tensors q_of({.tokens = 2, .heads = 1, .head_dim = 16});
    tensors expected = q_of;
    const auto q = q_of.view();
    // [upgrading_start_tokens]
    const basis scaled = make_basis(model, policy, t), first = make_basis(model, unscaled{}, 1.0);
    const basis own({first.inv_freq().begin(), first.inv_freq().end()}, scaled.attention_factor());
    const basis_list both({&scaled, &own});
    std::vector<std::int32_t> basis_of_token;
    for (const int position : position_ids) basis_of_token.push_back(position < 4 ? 1 : 0);
    rotate_forward<half_split>(exact_angles(both.of(basis_of_token), position_ids), in_place(q));
    // [/upgrading_start_tokens]
    const std::vector<int> near{2}, far{40};
    const heads_shape row{.tokens = 1, .heads = 1, .head_dim = 16};
    rotate_forward<half_split>(exact_angles(own, near), in_place(token_major(expected.numbers.data(), row)));
    rotate_forward<half_split>(exact_angles(scaled, far), in_place(token_major(expected.numbers.data() + 16, row)));
    CHECK(q_of.numbers == expected.numbers);
}

TEST_CASE("docs/upgrading: a backend that gets operands of one type") {
    const basis b = make_basis(model, yarn{}, 4.0);
    const std::vector<int> position_ids = counted(3, 5);
    tensors q_of({.tokens = 3, .heads = 2, .head_dim = 16}), k_of({.tokens = 3, .heads = 1, .head_dim = 16});
    tensors expected_q = q_of, expected_k = k_of;
    rotate_forward<half_split, own_backend::my_backend>(exact_angles(b, position_ids), in_place(q_of.view()),
                                                        in_place(k_of.view()));
    rotate_forward<half_split, backend::scalar>(exact_angles(b, position_ids), in_place(expected_q.view()),
                                                in_place(expected_k.view()));
    CHECK(q_of.numbers == expected_q.numbers);
    CHECK(k_of.numbers == expected_k.numbers);
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
