// SPDX-License-Identifier: MIT
#include "cordage/host/aten/norm_tensors.hpp"

#include <doctest/doctest.h>

#include <functional>

#include "cordage/host/aten/rotation.hpp"

using namespace cordage;
using aten::angle_tensors;
using aten::norm_tensors;

namespace {

/// [2, 5, heads, 8]
at::Tensor drawn(std::int64_t heads, at::ScalarType type = at::kDouble) {
    const std::int64_t count = 2 * 5 * heads * 8;
    return at::arange(count, at::kDouble).mul(0.7).add(heads).sin().view({2, 5, heads, 8}).to(type);
}

at::Tensor weight_of(std::int64_t count) { return at::arange(count, at::kDouble).mul(0.3).cos(); }

angle_tensors some_angles() {
    return {at::arange(5, at::kLong).mul(1000), at::tensor({1.0, 0.31, 0.017}, at::kDouble), 1.25};
}

/// Norms of tensors of 3 heads and of 1.
norm_tensors some_norm(bool is_over_all_heads = false) {
    norm_tensors norm{.epsilon = 0.01, .is_over_all_heads = is_over_all_heads};
    for (const std::int64_t heads : {3, 1}) {
        norm.weights.push_back(is_over_all_heads ? weight_of(heads * 8).view({heads, 8}) : weight_of(8));
    }
    return norm;
}

/// The norm in libtorch's own operations.
at::Tensor normalized(const at::Tensor& x, const at::Tensor& weight, const norm_tensors& norm) {
    const std::vector<std::int64_t> axes =
        norm.is_over_all_heads ? std::vector<std::int64_t>{2, 3} : std::vector<std::int64_t>{3};
    return x / (x.square().mean(axes, true) + norm.epsilon).sqrt() * (weight + (norm.adds_one ? 1.0 : 0.0));
}

at::Tensor formula(const at::Tensor& x, const at::Tensor& weight, const norm_tensors& norm, const angle_tensors& by) {
    const auto rotated = [&](const at::Tensor& one) { return aten::rotation_forward<half_split>({one}, by)[0]; };
    return norm.is_after_rotation ? normalized(rotated(x), weight, norm) : rotated(normalized(x, weight, norm));
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
    return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

}  // namespace

TEST_CASE("host/aten/norm_tensors: values are the formula's, of every kind of norm and type") {
    const angle_tensors by = some_angles();
    for (const int kind : {0, 1, 2, 3, 4, 5, 6, 7}) {
        norm_tensors norm = some_norm((kind & 1) != 0);
        norm.adds_one = (kind & 2) != 0;
        norm.is_after_rotation = (kind & 4) != 0;
        const std::vector<at::Tensor> x{drawn(3), drawn(1)};
        const auto y = aten::rotation_forward<half_split>(x, by, norm);
        for (std::size_t i = 0; i < 2; ++i) {
            CHECK(largest_difference(y[i], formula(x[i], norm.weights[i], norm, by)) < 1e-12);
        }
        for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16}) {
            const double allowed = type == at::kFloat ? 1e-5 : type == at::kHalf ? 1e-2 : 8e-2;
            const auto rounded = aten::rotation_forward<half_split>({x[0].to(type), x[1].to(type)}, by, norm);
            CHECK((rounded[0].scalar_type() == type));
            CHECK(largest_difference(rounded[0], y[0]) < allowed);
        }
    }
}

TEST_CASE("host/aten/norm_tensors: three tensors, one, and none of the weights are taken too") {
    const angle_tensors by = some_angles();
    norm_tensors norm;
    const at::Tensor x = drawn(2), none = at::ones({8}, at::kDouble);
    const at::Tensor expected = formula(x, none, norm, by);
    for (const std::size_t count : {1, 3}) {
        for (const at::Tensor& y : aten::rotation_forward<half_split>(std::vector(count, x), by, norm)) {
            CHECK(largest_difference(y, expected) < 1e-12);
        }
    }
}

TEST_CASE(
    "host/aten/norm_tensors: gradients are the formula's differences, to x, weights, frequencies, positions and "
    "factor") {
    const angle_tensors by = some_angles();
    norm_tensors norm = some_norm();
    const std::vector<at::Tensor> x{drawn(3), drawn(1)}, grad_y{drawn(3).flip({1}), drawn(1).flip({1})};
    const auto grads = aten::rotation_backward<half_split>(grad_y, x, by, {true, true, true, true}, norm);
    const auto loss = [&](const std::vector<at::Tensor>& of, const norm_tensors& n, const angle_tensors& a) {
        double sum = 0.0;
        for (std::size_t i = 0; i < 2; ++i)
            sum += (formula(of[i], n.weights[i], n, a) * grad_y[i]).sum().item<double>();
        return sum;
    };
    const double step = 1e-6;
    const auto slope = [&](const std::function<double(double)>& at) { return (at(step) - at(-step)) / (2 * step); };
    const at::Tensor one = at::zeros({2, 5, 3, 8}, at::kDouble);
    one.view({-1})[17] = 1.0;
    CHECK(grads.x[0].view({-1})[17].item<double>() == doctest::Approx(slope([&](double s) {
                                                          return loss({x[0] + s * one, x[1]}, norm, by);
                                                      })).epsilon(1e-6));
    CHECK(grads.weights[1][3].item<double>() == doctest::Approx(slope([&](double s) {
                                                    norm_tensors other = norm;
                                                    other.weights[1] = norm.weights[1].clone();
                                                    other.weights[1][3] += s;
                                                    return loss(x, other, by);
                                                })).epsilon(1e-6));
    CHECK(grads.attention_factor.item<double>() == doctest::Approx(slope([&](double s) {
                                                       angle_tensors other = by;
                                                       other.attention_factor += s;
                                                       return loss(x, norm, other);
                                                   })).epsilon(1e-6));
    CHECK((grads.position_ids.sizes() == by.position_ids.sizes()));
    CHECK((grads.inv_freq.sizes() == by.inv_freq.sizes()));
    const auto alone = aten::rotation_backward<half_split>(grad_y, x, by, {}, norm);
    CHECK(at::equal(alone.x[1], grads.x[1]));
    CHECK(alone.weights.empty());
    CHECK_FALSE(alone.inv_freq.defined());
}

TEST_CASE("host/aten/norm_tensors: invalid combinations are rejected before anything is read") {
    const angle_tensors by = some_angles();
    const std::vector<at::Tensor> x{drawn(3), drawn(1)};
    const auto refused = [&](const char* text, const std::vector<at::Tensor>& weights, const angle_tensors& with) {
        CAPTURE(text);
        norm_tensors norm = some_norm();
        norm.weights = weights;
        CHECK_THROWS_WITH_AS(aten::rotation_forward<half_split>(x, with, norm), text, error);
        CHECK_THROWS_WITH_AS(aten::rotation_backward<half_split>(x, x, with, {.weights = true}, norm), text, error);
    };
    const at::Tensor w = weight_of(8);
    refused("aten::rms_norm: weights has 1 tensors, must have one for each of 2, or none", {w}, by);
    refused("aten: weights[1] must be a defined tensor", {w, at::Tensor()}, by);
    refused("aten::rms_norm: weights[0] of type Int must be float32, float64, float16 or bfloat16", {w.to(at::kInt), w},
            by);
    refused("aten::rotate: weights[0] on meta must be on cpu", {w.to(at::kMeta), w}, by);
    refused("aten::rms_norm: weights[1] [7] must be [head_dim] = [8]", {w, weight_of(7)}, by);
    angle_tensors far = by;
    far.position_ids = by.position_ids + (std::int64_t{1} << 53);
    refused(
        "aten::rotate: position_ids entry 1 9007199254741992 must be at most 2^53 in magnitude in a call with a norm "
        "or a "
        "cache",
        {w, w}, far);
    for (const std::int64_t sign : {1, -1}) {  // once, 2^53 + 1 was rotated as 2^53
        far.position_ids = at::full({5}, sign * (std::int64_t{1} << 53), at::kLong);
        CHECK_NOTHROW(aten::rotation_forward<half_split>(x, far, some_norm()));
        far.position_ids[3] += sign;
        CHECK_THROWS_AS(aten::rotation_forward<half_split>(x, far, some_norm()), value_error);
    }
    norm_tensors norm = some_norm(true);
    norm.weights[0] = w;
    CHECK_THROWS_WITH_AS(aten::rotation_forward<half_split>(x, by, norm),
                         "aten::rms_norm: weights[0] [8] must be [heads, head_dim] = [3, 8]", shape_error);
    CHECK_THROWS_WITH_AS(aten::rotation_backward<half_split>(x, {x[0]}, by, {.weights = true}, some_norm()),
                         "aten::rotate: x has 1 tensors, must have 2", shape_error);
    CHECK_THROWS_AS(aten::rotation_backward<half_split>(x, {x[1], x[0]}, by, {.weights = true}, some_norm()), error);
}
