// SPDX-License-Identifier: MIT
#include "cordage/host/aten/autograd.hpp"

#include <doctest/doctest.h>
#include <torch/csrc/autograd/autograd.h>

#include "cordage/scaling/learned_table.hpp"

using namespace cordage;

namespace {

at::Tensor drawn(std::int64_t heads) {
    return at::arange(2 * 5 * heads * 8, at::kDouble).mul(0.7).sin().view({2, 5, heads, 8});
}

at::Tensor leaf(const at::Tensor& x) { return x.clone().set_requires_grad(true); }

/// d loss / d inputs[which], by central differences at one of its numbers.
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

TEST_CASE("host/aten/autograd: rotate has the gradients of its formula to x, positions and frequencies") {
    const std::vector<at::Tensor> inputs{leaf(drawn(3)), leaf(at::arange(5, at::kDouble).mul(3.5)),
                                         leaf(at::tensor({1.0, 0.31, 0.017}, at::kDouble))};
    const at::Tensor weights = drawn(3).cos();
    const auto loss = [&](const std::vector<at::Tensor>& in) {
        return (aten::rotate<interleaved>(in[0], in[1], in[2], 1.25) * weights).sum();
    };
    const auto grads = torch::autograd::grad({loss(inputs)}, inputs);
    for (std::size_t which = 0; which < 3; ++which) {
        const std::int64_t number = which == 0 ? 17 : 2;
        CHECK(grads[which].view({-1})[number].item<double>() ==
              doctest::Approx(slope(inputs, which, number, 1e-6, loss)).epsilon(1e-6));
    }
}

TEST_CASE("host/aten/autograd: a gradient that nobody wants is not made") {
    const at::Tensor x = leaf(drawn(2)), ids = at::arange(5, at::kLong), inv_freq = at::ones({2}, at::kDouble);
    const at::Tensor y = aten::rotate<half_split>(x, ids, inv_freq);
    y.sum().backward();
    CHECK(x.grad().defined());
    CHECK_FALSE(inv_freq.grad().defined());
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

TEST_CASE("host/aten/autograd: second derivatives and parameters of another kind are refused") {
    const at::Tensor x = leaf(drawn(2)), ids = at::arange(5, at::kLong), inv_freq = at::ones({2}, at::kDouble);
    const at::Tensor y = aten::rotate<half_split>(x, ids, inv_freq).pow(2).sum();
    CHECK_THROWS_AS(torch::autograd::grad({y}, {x}, {}, true, true), error);
    const rope_config config{.head_dim = 8, .rotary_dim = 8, .theta_base = 100.0, .original_length = 16.0};
    const learned_table<> prototype(config, {2.0});
    CHECK_THROWS_WITH_AS(
        aten::inv_freq_of(prototype, config, at::zeros({4}), 2.0),
        "aten::inv_freq_of: parameters of type Float with 1 dimensions must be float64 [count] on the CPU",
        value_error);
    CHECK_THROWS_AS(aten::inv_freq_of(prototype, config, at::Tensor(), 2.0), value_error);
    CHECK_THROWS_WITH_AS(aten::rotate<half_split>(x, at::Tensor(), inv_freq),
                         "aten: position_ids must be a tensor, and is undefined", value_error);
    CHECK_THROWS_AS(aten::inv_freq_of(prototype, config, at::zeros({3}, at::kDouble), 2.0), error);
}
