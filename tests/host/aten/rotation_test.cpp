// SPDX-License-Identifier: MIT
#include "cordage/host/aten/rotation.hpp"

#include <doctest/doctest.h>

#include <functional>

using namespace cordage;
using aten::angle_tensors;
using aten::wanted_gradients;

namespace {

constexpr at::ScalarType types[] = {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16};

/// [2, 5, heads, 8]
at::Tensor drawn(std::int64_t heads, at::ScalarType type = at::kFloat) {
    const std::int64_t count = 2 * 5 * heads * 8;
    return at::arange(count, at::kDouble).mul(0.7).add(heads).sin().view({2, 5, heads, 8}).to(type);
}

angle_tensors some_angles() {
    return {at::arange(5, at::kLong).mul(1000), at::tensor({1.0, 0.31, 0.017}, at::kDouble), 1.25};
}

/// Rounding, for numbers up to about 2.
double tolerance(at::ScalarType type) {
    return type == at::kDouble ? 1e-13 : type == at::kFloat ? 1e-6 : type == at::kHalf ? 3e-3 : 2e-2;
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
    return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

/// The formula in libtorch's own operations, in double: pairs (i, i + pairs), positions [5] or [2, 5].
at::Tensor formula(const at::Tensor& x_in, const angle_tensors& by) {
    const at::Tensor x = x_in.to(at::kDouble);
    const auto pairs = by.inv_freq.numel();
    at::Tensor angle = by.position_ids.to(at::kDouble).unsqueeze(-1).mul(by.inv_freq);  // [.., 5, pairs]
    if (angle.dim() == 2) angle = angle.unsqueeze(0);
    const at::Tensor cos = angle.cos().mul(by.attention_factor).unsqueeze(2),
                     sin = angle.sin().mul(by.attention_factor).unsqueeze(2);
    const at::Tensor x0 = x.slice(3, 0, pairs), x1 = x.slice(3, pairs, 2 * pairs);
    return at::cat({x0 * cos - x1 * sin, x0 * sin + x1 * cos, x.slice(3, 2 * pairs)}, 3);
}

template <class Error>
void check_refused(const char* text, const std::function<void()>& call) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(call(), text, Error);
}

}  // namespace

TEST_CASE("host/aten/rotation: values are the formula's in every type, of one tensor and of several") {
    const angle_tensors by = some_angles();
    for (const at::ScalarType type : types) {
        const at::Tensor q = drawn(3, type), k = drawn(1, type);
        for (const std::vector<at::Tensor>& x : {std::vector{q}, std::vector{q, k}, std::vector{q, k, q}}) {
            const auto y = aten::rotation_forward<half_split>(x, by);
            REQUIRE(y.size() == x.size());
            for (std::size_t i = 0; i < x.size(); ++i) {
                CHECK((y[i].scalar_type() == type));
                CHECK(largest_difference(y[i], formula(x[i], by)) < tolerance(type));
            }
        }
    }
}

TEST_CASE("host/aten/rotation: positions of any type and a row of them for each of the batch") {
    const at::Tensor x = drawn(2, at::kDouble);
    angle_tensors by = some_angles();
    for (const at::ScalarType type : {at::kInt, at::kLong, at::kFloat, at::kDouble}) {
        by.position_ids = at::arange(10, at::kLong).view({2, 5}).to(type);
        CHECK(largest_difference(aten::rotation_forward<half_split>({x}, by)[0], formula(x, by)) < 1e-13);
    }
}

TEST_CASE("host/aten/rotation: strides of any order are followed, and a last one that is not 1 is copied") {
    const angle_tensors by = some_angles();
    const at::Tensor x = drawn(3), expected = formula(x, by);
    const at::Tensor head_major = x.transpose(1, 2).contiguous().transpose(1, 2),
                     sliced = at::cat({x, x}, 3).slice(3, 0, 8),
                     lanes_first = x.permute({3, 0, 1, 2}).contiguous().permute({1, 2, 3, 0});
    for (const at::Tensor& each : {head_major, sliced, lanes_first}) {
        CHECK(largest_difference(aten::rotation_forward<half_split>({each}, by)[0], expected) < 1e-6);
    }
}

// Once, their bits were read without the pending negation.
TEST_CASE("host/aten/rotation: a negation that is pending is done first") {
    const auto negated = [](const at::Tensor& x) {  // imag of conj: a view with a pending negation
        const at::Tensor pending = at::imag(at::complex(at::zeros_like(x), -x).conj());
        REQUIRE(pending.is_neg());
        REQUIRE(largest_difference(pending, x) == 0.0);
        return pending;
    };
    const at::Tensor x = drawn(2);
    const angle_tensors by = some_angles();
    const angle_tensors pending{negated(by.position_ids.to(at::kDouble)), negated(by.inv_freq), by.attention_factor};
    CHECK(largest_difference(aten::rotation_forward<half_split>({negated(x)}, pending)[0], formula(x, by)) < 1e-6);
    check_refused<shape_error>("aten: x with last stride 2 must have 1, and no pending negation",
                               [&] { aten::view<float>(negated(x)); });
}

TEST_CASE(
    "host/aten/rotation: backward is the adjoint, and returns the wanted gradients to frequencies, positions and "
    "factor") {
    const angle_tensors by = some_angles();
    for (const bool has_rows : {false, true}) {
        angle_tensors angles = by;
        if (has_rows) angles.position_ids = at::stack({by.position_ids, by.position_ids + 7});
        const at::Tensor x = drawn(3, at::kDouble), grad_y = drawn(3, at::kDouble).flip({1});
        const at::Tensor y = aten::rotation_forward<half_split>({x}, angles)[0];
        const auto alone = aten::rotation_backward<half_split>({grad_y}, {}, angles, {});
        CHECK((alone.x[0] * x).sum().item<double>() == doctest::Approx((grad_y * y).sum().item<double>()));
        CHECK_FALSE(alone.inv_freq.defined());

        const auto all = aten::rotation_backward<half_split>({grad_y}, {y}, angles, {true, true, true});
        CHECK(at::equal(all.x[0], alone.x[0]));
        CHECK((all.position_ids.sizes() == angles.position_ids.sizes()));
        const auto loss = [&](const angle_tensors& a) { return (formula(x, a) * grad_y).sum().item<double>(); };
        const double step = 1e-6;
        angle_tensors more = angles, less = angles;
        more.attention_factor += step, less.attention_factor -= step;
        CHECK(all.attention_factor.item<double>() ==
              doctest::Approx((loss(more) - loss(less)) / (2 * step)).epsilon(1e-6));
        more = less = angles;
        more.inv_freq = angles.inv_freq + 1e-8 * at::tensor({0.0, 1.0, 0.0}, at::kDouble);
        less.inv_freq = angles.inv_freq - 1e-8 * at::tensor({0.0, 1.0, 0.0}, at::kDouble);
        CHECK(all.inv_freq[1].item<double>() == doctest::Approx((loss(more) - loss(less)) / 2e-8).epsilon(1e-4));
    }
}

// Once, y's type, device and rank were not checked: a float16 y with a float32 grad_y was read past its end.
TEST_CASE("host/aten/rotation: invalid combinations are rejected before anything is read") {
    const angle_tensors by = some_angles();
    const at::Tensor x = drawn(2);
    const auto forward = [&](const at::TensorList& all, const angle_tensors& with) {
        return [&, all = all.vec()] { aten::rotation_forward<half_split>(all, with); };
    };
    const auto backward = [&](const at::Tensor& y, const wanted_gradients& wanted = {.inv_freq = true}) {
        return [&by, &x, y, wanted] { aten::rotation_backward<half_split>({x}, {y}, by, wanted); };
    };
    check_refused<value_error>("aten::rotate: y[0] of type Half must have the type of grad_y[0], Float",
                               backward(x.to(at::kHalf)));
    check_refused<value_error>("aten::rotate: y[0] on meta must be on cpu", backward(x.to(at::kMeta)));
    check_refused<shape_error>("aten::rotate: y[0] has 3 dimensions, must be [batch, tokens, heads, head_dim]",
                               backward(x[0]));
    check_refused<value_error>("aten: y[0] must be strided; convert it by to_dense()", backward(x.to_sparse()));
    check_refused<value_error>("aten: y[0] must be a defined tensor", backward(at::Tensor()));
    CHECK_THROWS_AS(backward(x.slice(1, 0, 4))(), shape_error);
    CHECK_THROWS_AS(backward(x.slice(3, 0, 6))(), shape_error);
    check_refused<shape_error>("aten::rotate: y has 0 tensors, must have 1",
                               [&] { aten::rotation_backward<half_split>({x}, {}, by, {.attention_factor = true}); });
    backward(at::Tensor(), {})();  // not read

    check_refused<shape_error>("aten::rotate: x [] must have at least one tensor", forward({}, by));
    check_refused<value_error>("aten: x[0] must be a defined tensor", forward({at::Tensor()}, by));
    check_refused<value_error>("aten::rotate: x[0] on meta must be on cpu", forward({x.to(at::kMeta)}, by));
    check_refused<value_error>("aten::rotate: x[1] of type Double must have the type of x[0], Float",
                               forward({x, x.to(at::kDouble)}, by));
    check_refused<shape_error>("aten::rotate: x[1] has 2 dimensions, must be [batch, tokens, heads, head_dim]",
                               forward({x, x[0][0]}, by));
    check_refused<value_error>("aten: x[0] must be strided; convert it by to_dense()", forward({x.to_sparse()}, by));
    check_refused<value_error>("aten::rotate: x of type Int must be float32, float64, float16 or bfloat16",
                               forward({x.to(at::kInt)}, by));
    const auto with = [&](const auto& change) {
        angle_tensors other = by;
        change(other);
        return [&x, other] { aten::rotation_forward<half_split>({x}, other); };
    };
    check_refused<value_error>("aten: position_ids must be a defined tensor",
                               with([](angle_tensors& a) { a.position_ids = at::Tensor(); }));
    check_refused<value_error>("aten::rotate: position_ids on meta must be on cpu",
                               with([](angle_tensors& a) { a.position_ids = a.position_ids.to(at::kMeta); }));
    check_refused<value_error>("aten: position_ids must be strided; convert it by to_dense()",
                               with([](angle_tensors& a) { a.position_ids = a.position_ids.to_sparse(); }));
    check_refused<shape_error>("aten::rotate: position_ids has 0 dimensions, must be [tokens] or [batch, tokens]",
                               with([](angle_tensors& a) { a.position_ids = a.position_ids[0]; }));
    check_refused<value_error>("aten::rotate: position_ids of type Bool must be int32, int64, float32 or float64",
                               with([](angle_tensors& a) { a.position_ids = a.position_ids.to(at::kBool); }));
    check_refused<value_error>("aten::rotate: inv_freq of type Float with 1 dimensions must be float64 [rotary_dim/2]",
                               with([](angle_tensors& a) { a.inv_freq = a.inv_freq.to(at::kFloat); }));
    check_refused<value_error>("aten: inv_freq must be strided; convert it by to_dense()",
                               with([](angle_tensors& a) { a.inv_freq = a.inv_freq.to_sparse(); }));
    check_refused<value_error>("aten::rotate: inv_freq on meta must be on cpu",
                               with([](angle_tensors& a) { a.inv_freq = a.inv_freq.to(at::kMeta); }));
    check_refused<value_error>(
        "aten::rotate: attention_factor on meta must be on cpu, or on the GPU where inv_freq is, on cpu",
        with([](angle_tensors& a) { a.factor_on_gpu = at::ones({}, at::kDouble).to(at::kMeta); }));
    CHECK_THROWS_AS(with([](angle_tensors& a) { a.position_ids = a.position_ids.slice(0, 0, 4); })(), shape_error);
    CHECK_THROWS_AS(with([](angle_tensors& a) { a.inv_freq = at::zeros({0}, at::kDouble); })(), value_error);
    CHECK_THROWS_AS(with([](angle_tensors& a) { a.inv_freq = at::ones({5}, at::kDouble); })(), shape_error);
    CHECK_THROWS_AS(with([](angle_tensors& a) { a.attention_factor = 0.0; })(), value_error);
}

TEST_CASE("host/aten/view: a view is the tensor's memory, or an error that names the invalid property") {
    const at::Tensor x = drawn(3).transpose(1, 2);
    const auto v = aten::view<const float>(x);
    CHECK(v.data == x.data_ptr<float>());
    CHECK(v.shape == heads_shape{2, 3, 5, 8});
    CHECK(v.token_stride == 8);
    CHECK(v.head_stride == 24);
    CHECK(aten::view<bfloat16>(drawn(1, at::kBFloat16)).shape == heads_shape{2, 5, 1, 8});
    check_refused<value_error>("aten: x of type Float must be Half", [&] { aten::view<float16>(x); });
    check_refused<shape_error>("aten: q has 3 dimensions, must be [batch, tokens, heads, head_dim]",
                               [&] { aten::view<float>(x[0], "q"); });
    check_refused<shape_error>("aten: x with last stride 15 must have 1, and no pending negation", [&] {
        aten::view<float>(drawn(3).view({2, 8, 15, 1}).permute({0, 3, 2, 1}));
    });
}

TEST_CASE("host/aten/rotation: heads that overlap in another order have results of their own") {
    const angle_tensors by = some_angles();
    const at::Tensor memory = drawn(5).reshape({2, 5, 40});
    const at::Tensor x = memory.unfold(2, 8, 1).slice(2, 0, 5);  // [2, 5, 5, 8], heads one lane apart
    REQUIRE(at::empty_like(x).stride(-1) != 1);
    const at::Tensor y = aten::rotation_forward<half_split>({x}, by)[0];
    CHECK(at::equal(y, aten::rotation_forward<half_split>({x.contiguous()}, by)[0]));
}
