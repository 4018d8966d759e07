// SPDX-License-Identifier: MIT
#include "cordage/basis/gradient.hpp"

#include <doctest/doctest.h>

#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/yarn.hpp"
#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

const rope_config small{.head_dim = 8, .rotary_dim = 8, .original_length = 32};
const std::vector<double> weights{0.3, -1.0, 2.0, 700.0};
constexpr double factor_weight = -0.8;

/// A loss that depends on every frequency and the attention factor.
double loss(const basis& b) {
    double sum = factor_weight * b.attention_factor();
    for (std::size_t i = 0; i < weights.size(); ++i) sum += weights[i] * b.inv_freq()[i];
    return sum;
}

/// log alpha_i = -p_i log t with learned p: a minimal learned policy.
struct learned_powers {
    std::vector<double> powers;
    double log_alpha(const rope_config&, index_t i, double t) const { return -powers[std::size_t(i)] * std::log(t); }
    double log_alpha_rate(const rope_config&, index_t i, double t) const { return -powers[std::size_t(i)] / t; }
    std::vector<double> parameters() const { return powers; }
    learned_powers with_parameters(std::span<const double> p) const { return {{p.begin(), p.end()}}; }
    void log_alpha_vjp(const rope_config&, double t, std::span<const double> in, std::span<double> out) const {
        for (std::size_t i = 0; i < in.size(); ++i) out[i] -= in[i] * std::log(t);
    }
};
static_assert(learned_policy<learned_powers>);

}  // namespace

TEST_CASE("basis/gradient: a change of log alpha changes theta by itself, relatively") {
    const basis b({2.0, -0.5}, 1.0);
    CHECK(grad_log_alpha(b, std::vector<double>{3.0, 8.0}) == std::vector<double>{6.0, -4.0});
    CHECK_THROWS_WITH_AS(grad_log_alpha(b, std::vector<double>{1.0}),
                         "grad_log_alpha: grad_inv_freq has 1 entries, must have the basis's 2", shape_error);
}

TEST_CASE("basis/gradient: grad_t is the derivative of a loss on the basis, attention factor included") {
    for (const double t : {1.5, 4.0}) {
        const auto check = [&](const auto& policy) {
            const double expected = difference([&](double at) { return loss(make_basis(small, policy, at)); }, t);
            CHECK(close(grad_t(policy, small, t, weights, factor_weight), expected, first_difference));
        };
        check(ntk_aware{});
        check(yarn{.beta_fast = 4.0, .beta_slow = 0.01});
    }
}

TEST_CASE("basis/gradient: a learned policy's parameters get the derivative of the loss, added to") {
    const learned_powers policy{{0.1, 0.4, 0.6, 1.1}};
    constexpr double t = 3.0;
    std::vector<double> grad{100.0, 0.0, 0.0, 0.0};
    add_grad_parameters(policy, small, t, weights, grad);
    grad[0] -= 100.0;
    for (std::size_t i = 0; i < 4; ++i) {
        const auto moved = [&](double value) {
            std::vector<double> powers = policy.parameters();
            powers[i] = value;
            return loss(make_basis(small, policy.with_parameters(powers), t));
        };
        CHECK(close(grad[i], difference(moved, policy.powers[i]), first_difference));
    }
}
