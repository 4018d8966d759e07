// SPDX-License-Identifier: MIT
#include "cordage/host/aten/autograd.hpp"

#include <doctest/doctest.h>
#include <torch/csrc/autograd/autograd.h>

#include "cordage/scaling/any_policy.hpp"
#include "cordage/scaling/learned_table.hpp"
#include "cordage/scaling/tempered.hpp"

using namespace cordage;

namespace {

at::Tensor drawn(std::int64_t heads) {
    return at::arange(2 * 5 * heads * 8, at::kDouble).mul(0.7).sin().view({2, 5, heads, 8});
}

at::Tensor leaf(const at::Tensor& x) { return x.clone().set_requires_grad(true); }

/// d loss / d inputs[which], by central differences in one of its numbers.
template <class Loss>
double slope(const std::vector<at::Tensor>& inputs, std::size_t which, std::int64_t number, double step,
             const Loss& loss) {
    const auto at = [&](double by) {
        std::vector<at::Tensor> moved;
        for (const at::Tensor& each : inputs) moved.push_back(each.detach().clone());
        moved[which].view({-1})[number].add_(by);
        return loss(moved).template item<double>();
    };
    return (at(step) - at(-step)) / (2 * step);
}

}  // namespace

TEST_CASE("host/aten/autograd: rotate has the gradients of its formula to x, positions, frequencies and factor") {
    const std::vector<at::Tensor> inputs{leaf(drawn(3)), leaf(at::arange(5, at::kDouble).mul(3.5)),
                                         leaf(at::tensor({1.0, 0.31, 0.017}, at::kDouble)),
                                         leaf(at::scalar_tensor(1.25, at::kDouble))};
    const at::Tensor weights = drawn(3).cos();
    const auto loss = [&](const std::vector<at::Tensor>& in) {
        return (aten::rotate<interleaved>(in[0], in[1], in[2], in[3]) * weights).sum();
    };
    CHECK(at::equal(aten::rotate<interleaved>(inputs[0], inputs[1], inputs[2], 1.25),
                    aten::rotate<interleaved>(inputs[0], inputs[1], inputs[2], inputs[3])));
    const auto grads = torch::autograd::grad({loss(inputs)}, inputs);
    for (std::size_t which = 0; which < 4; ++which) {
        const std::int64_t number = which == 0 ? 17 : which == 3 ? 0 : 2;
        CHECK(grads[which].view({-1})[number].item<double>() ==
              doctest::Approx(slope(inputs, which, number, 1e-6, loss)).epsilon(1e-6));
    }
}

TEST_CASE("host/aten/autograd: a gradient that is not required is not computed") {
    const at::Tensor x = leaf(drawn(2)), ids = at::arange(5, at::kLong), inv_freq = at::ones({2}, at::kDouble);
    // [upgrading_aten]
    const at::Tensor y = aten::rotate<half_split>(x, ids, inv_freq);
    y.sum().backward();
    // [/upgrading_aten]
    CHECK(x.grad().defined());
    CHECK_FALSE(inv_freq.grad().defined());
}

TEST_CASE("host/aten/autograd: y may be changed in place unless a gradient reads it") {
    const at::Tensor x = leaf(drawn(2)), ids = at::arange(5, at::kLong), inv_freq = at::ones({2}, at::kDouble);
    at::Tensor once = aten::rotate<half_split>(x, ids, inv_freq);
    const at::Tensor plain = torch::autograd::grad({once.sum()}, {x})[0];
    at::Tensor y = aten::rotate<half_split>(x, ids, inv_freq);
    y.mul_(3.0);
    CHECK(at::allclose(torch::autograd::grad({y.sum()}, {x})[0], plain * 3.0));
    at::Tensor learned = aten::rotate<half_split>(x, ids, leaf(inv_freq));
    learned.mul_(3.0);
    CHECK_THROWS(learned.sum().backward());
}

TEST_CASE("host/aten/autograd: a learned basis has the gradient to its parameters, through a rotation too") {
    const rope_config config{.head_dim = 8, .rotary_dim = 8, .theta_base = 100.0, .original_length = 16.0};
    const learned_table<> prototype(config, {2.0, 4.0});
    const at::Tensor x = drawn(2), weights = drawn(2).cos(), ids = at::arange(5, at::kLong);
    const std::vector<at::Tensor> inputs{leaf(at::arange(8, at::kDouble).mul(0.01))};
    const auto loss = [&](const std::vector<at::Tensor>& in) {
        return (aten::rotate<half_split>(x, ids, aten::inv_freq_of(prototype, config, in[0], 3.0)) * weights).sum();
    };
    const at::Tensor grad = torch::autograd::grad({loss(inputs)}, inputs)[0];
    for (const std::int64_t number : {0, 3, 6}) {
        CHECK(grad[number].item<double>() == doctest::Approx(slope(inputs, 0, number, 1e-6, loss)).epsilon(1e-5));
    }
}

TEST_CASE("host/aten/autograd: a basis and its temperature learn together, through a rotation") {
    const rope_config config{.head_dim = 8, .rotary_dim = 8, .theta_base = 100.0, .original_length = 16.0};
    const any_policy prototype(tempered{learned_table<>(config, {2.0, 4.0}), log_scaling_temperature(16.0)});
    const at::Tensor x = drawn(2), weights = drawn(2).cos(), ids = at::arange(5, at::kLong);
    const std::vector<at::Tensor> inputs{leaf(at::arange(10, at::kDouble).mul(0.1))};
    const auto loss = [&](const std::vector<at::Tensor>& in) {
        const auto [inv_freq, factor] = aten::basis_of(prototype, config, in[0], 3.0);
        return (aten::rotate<half_split>(x, ids, inv_freq, factor) * weights).sum();
    };
    const at::Tensor grad = torch::autograd::grad({loss(inputs)}, inputs)[0];
    for (const std::int64_t number : {0, 6, 8, 9}) {  // of the table, ln slope, power
        CHECK(grad[number].item<double>() == doctest::Approx(slope(inputs, 0, number, 1e-6, loss)).epsilon(1e-5));
    }
    const at::Tensor factor = aten::basis_of(prototype, config, inputs[0], 3.0).attention_factor;
    const at::Tensor of_factor = torch::autograd::grad({factor}, inputs)[0];  // of one of both alone
    CHECK(of_factor.slice(0, 0, 8).abs().max().item<double>() == 0.0);
    CHECK(of_factor[9].item<double>() ==
          doctest::Approx(0.5 * factor.item<double>() * std::log1p(std::exp(0.8) * std::log(3.0))));
}

TEST_CASE("host/aten/autograd: second derivatives and parameters of another kind are refused") {
    const at::Tensor x = leaf(drawn(2)), ids = at::arange(5, at::kLong), inv_freq = at::ones({2}, at::kDouble);
    const at::Tensor y = aten::rotate<half_split>(x, ids, inv_freq).pow(2).sum();
    CHECK_THROWS_AS(torch::autograd::grad({y}, {x}, {}, true, true), error);
    const rope_config config{.head_dim = 8, .rotary_dim = 8, .theta_base = 100.0, .original_length = 16.0};
    const learned_table<> prototype(config, {2.0});
    CHECK_THROWS_WITH_AS(
        aten::inv_freq_of(prototype, config, at::zeros({4}), 2.0),
        "aten::basis_of: parameters of type Float with 1 dimensions must be float64 [count] on the CPU", value_error);
    CHECK_THROWS_AS(aten::inv_freq_of(prototype, config, at::Tensor(), 2.0), value_error);
    CHECK_THROWS_WITH_AS(aten::rotate<half_split>(x, at::Tensor(), inv_freq),
                         "aten: position_ids must be a defined tensor", value_error);
    CHECK_THROWS_AS(aten::inv_freq_of(prototype, config, at::zeros({3}, at::kDouble), 2.0), error);
    CHECK_THROWS_WITH_AS(aten::rotate<half_split>(x, ids, inv_freq, at::ones({1}, at::kDouble)),
                         "aten::rotate: attention_factor of type Double with 1 dimensions on cpu must be float64 [] on "
                         "cpu",
                         value_error);
    CHECK_THROWS_AS(aten::rotate<half_split>(x, ids, inv_freq, at::scalar_tensor(1.0, at::kFloat)), value_error);
    CHECK_THROWS_AS(aten::rotate<half_split>(x, ids, inv_freq, at::Tensor()), value_error);
}
