// SPDX-License-Identifier: MIT
#include "model/functions.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace demo;

namespace {

// [2, 5, 3, 8]
at::Tensor drawn(double phase) {
    return at::arange(2 * 5 * 3 * 8, at::kDouble).mul(0.7).add(phase).sin().view({2, 5, 3, 8}).to(at::kFloat);
}

at::Tensor wanted(const at::Tensor& of) { return of.detach().clone().requires_grad_(true); }

// The same by libtorch's operations.
query_and_key by_operations(const query_and_key& x, const query_and_key& gains, const rotary& rotation) {
    const at::Tensor angles = rotation.position_ids.to(at::kDouble).unsqueeze(-1) * rotation.inv_freq;
    const auto table = [&](const at::Tensor& of_angles) {  // [..., tokens, 1, rotary_dim/2]
        return (of_angles * rotation.attention_factor).to(at::kFloat).unsqueeze(-2);
    };
    const at::Tensor cos = table(at::cos(angles)), sin = table(at::sin(angles));
    const auto rotated = [&](const at::Tensor& of, const at::Tensor& gain) {
        const auto half = rms_norm(of, gain).chunk(2, -1);
        return at::cat({half[0] * cos - half[1] * sin, half[0] * sin + half[1] * cos}, -1);
    };
    return {rotated(x.q, gains.q), rotated(x.k, gains.k)};
}

// Results, then gradients of a loss that weighs each element of them in its own way.
template <class Way>
std::vector<at::Tensor> results_of(const Way& way, const at::Tensor& position_ids) {
    const query_and_key x{wanted(drawn(1.0)), wanted(drawn(2.0))};
    const query_and_key gains{wanted(at::linspace(0.5, 1.5, 8)), wanted(at::linspace(1.2, 0.3, 8))};
    rotary by;
    by.position_ids = position_ids;
    by.inv_freq = wanted(at::tensor({1.0, 0.31, 0.017, 0.0004}, at::kDouble));
    by.attention_factor = wanted(at::scalar_tensor(1.25, at::kDouble));
    const query_and_key y = way(x, gains, by);
    ((y.q * drawn(3.0)).sum() + (y.k * drawn(4.0)).sum()).backward();
    return {y.q,
            y.k,
            x.q.grad(),
            x.k.grad(),
            gains.q.grad(),
            gains.k.grad(),
            by.inv_freq.grad(),
            by.attention_factor.grad()};
}

}  // namespace

TEST_CASE("study/model/functions: norm and rotation, and their gradients, are those of libtorch's operations") {
    const at::Tensor shared = at::arange(5, at::kLong).mul(1000);
    const at::Tensor of_windows = at::arange(10, at::kDouble).mul(3.7).view({2, 5});
    for (const at::Tensor& ids : {shared, of_windows}) {
        const auto expected = results_of(by_operations, ids);
        const auto cordage = results_of(normalized_and_rotated, ids);
        for (std::size_t i = 0; i < expected.size(); ++i) {
            CAPTURE(i);
            REQUIRE(expected[i].sizes() == cordage[i].sizes());
            CHECK((expected[i].scalar_type() == cordage[i].scalar_type()));
            const double scale = cordage[i].abs().max().item<double>();
            CHECK((expected[i] - cordage[i]).abs().max().item<double>() < 2e-6 * scale);  // some roundings of fp32
        }
    }
}
