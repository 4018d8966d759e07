// SPDX-License-Identifier: MIT
#include "cordage/clex/clex.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "clex/field_checks.hpp"
#include "clex/golden.hpp"
#include "cordage/basis/basis_cache.hpp"
#include "cordage/basis/rope.hpp"
#include "cordage/clex/initial_weights.hpp"
#include "cordage/scaling/base_change.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/learned_table.hpp"
#include "cordage/scaling/linear.hpp"
#include "cordage/scaling/yarn.hpp"
#include "cordage/schedule/continuous.hpp"

using namespace cordage;
using namespace cordage_test;

static_assert(learned_policy<clex<>> && has_attention_factor<clex<>>);
static_assert(learned_policy<clex<ntk_aware, log_time>>);

namespace {

const rope_config small{16, 12, 10000.0, 64.0};

template <class Policy>
vector log_alpha_at(const Policy& policy, const rope_config& config, double t) {
    vector out(static_cast<std::size_t>(config.pairs()));
    log_alpha(policy, config, t, out);
    return out;
}

/// A rule of somebody's own, with an attention factor.
struct square_root {
    double log_alpha(const rope_config&, index_t, double t) const { return -0.5 * std::log(t); }
    double log_alpha_rate(const rope_config&, index_t, double t) const { return -0.5 / t; }
    double log_alpha_curvature(const rope_config&, index_t, double t) const { return 0.5 / (t * t); }
    double attention_factor(const rope_config&, double t) const { return 1.0 + 0.2 * std::log(t); }
    double attention_factor_rate(const rope_config&, double t) const { return 0.2 / t; }
};

/// c . log alpha(t) for two seeds.
const vector first_seed{1.0, -0.5, 0.3, 0.8, -1.2, 0.4}, second_seed{0.2, 0.9, -0.7, 0.1, 0.6, -0.3};
template <class Policy>
double loss_of(const Policy& policy, double t_first, double t_second) {
    const vector x = log_alpha_at(policy, policy.config(), t_first),
                 y = log_alpha_at(policy, policy.config(), t_second);
    return std::inner_product(x.begin(), x.end(), first_seed.begin(), 0.0) +
           std::inner_product(y.begin(), y.end(), second_seed.begin(), 0.0);
}

// The gradient to up, down and z(1) is that of a golden case, in each within `allowed`.
void check_gradient(const clex_gradient& grad, const nlohmann::json& expected, double allowed) {
    CHECK(relative_difference(grad.up, matrix_of(expected.at("up"))) < allowed);
    CHECK(relative_difference(grad.down, matrix_of(expected.at("down"))) < allowed);
    CHECK(relative_difference(grad.z1, expected.at("z1").get<vector>()) < allowed);
}

}  // namespace

TEST_CASE("clex/clex: at tight tolerance it is the golden solution at every t") {
    for (const auto& item : golden_cases("solution")) {
        const auto config = config_of(item);
        const clex policy(config, weights_of(item), {.t_max = 32.0, .tolerance = {1e-12, 1e-12}});
        const auto t = item.at("t").get<vector>(), z = matrix_of(item.at("z")), rate = matrix_of(item.at("dz_dt"));
        const auto pairs = static_cast<std::size_t>(config.pairs());
        for (std::size_t row = 0; row < t.size(); ++row) {
            vector out = log_alpha_at(policy, config, t[row]);
            for (std::size_t i = 0; i < pairs; ++i) out[i] += config.log_inv_freq(static_cast<index_t>(i));
            CHECK(largest_difference(out, std::span(z).subspan(row * pairs, pairs)) < 1e-10);
            log_alpha_rate(policy, config, t[row], out);
            // The derivative of an interpolant is one order less exact than itself.
            CHECK(largest_difference(out, std::span(rate).subspan(row * pairs, pairs)) < 1e-8);
        }
    }
}

TEST_CASE("clex/clex: W_down = 0 gives NTK-aware scaling, as in the golden file") {
    for (const auto& item : golden_cases("zero_down")) {
        const auto config = config_of(item);
        const clex policy(config, clex_initial_weights(config, 1, 5), {.t_max = 32.0, .tolerance = {1e-12, 1e-12}});
        const auto t = item.at("t").get<vector>(), z = matrix_of(item.at("z"));
        const auto pairs = static_cast<std::size_t>(config.pairs());
        for (std::size_t row = 0; row < t.size(); ++row) {
            vector out = log_alpha_at(policy, config, t[row]);
            for (std::size_t i = 0; i < pairs; ++i) out[i] += config.log_inv_freq(static_cast<index_t>(i));
            CHECK(largest_difference(out, std::span(z).subspan(row * pairs, pairs)) < 1e-10);
        }
    }
}

TEST_CASE_TEMPLATE("clex/clex: W_down = 0 gives the prior back, whichever prior and time", Policy, clex<ntk_aware>,
                   clex<by_parts>, clex<yarn>, clex<square_root>, clex<base_change>, clex<linear, log_time>,
                   clex<yarn, log_time>, clex<learned_table<yarn>, log_time>) {
    using prior_type = std::remove_cvref_t<decltype(std::declval<Policy>().prior())>;
    prior_type prior = [] {
        if constexpr (std::is_constructible_v<prior_type>) {
            return prior_type{};
        } else {
            return prior_type(small, {2.0, 8.0});
        }
    }();
    const Policy policy(small, clex_initial_weights(small, 1, 5), {.t_max = 32.0, .tolerance = {1e-12, 1e-12}}, prior);
    for (const double t : {1.0, 1.01, 2.0, 7.7, 32.0}) {
        CHECK(largest_difference(log_alpha_at(policy, small, t), log_alpha_at(prior, small, t)) < 1e-10);
        CHECK(policy.attention_factor(small, t) == attention_factor(prior, small, t));
        CHECK(policy.attention_factor_rate(small, t) == attention_factor_rate(prior, small, t));
    }
}

TEST_CASE("clex/clex: the discrete gradient to up, down, z(1) and T is the golden one") {
    for (const auto& item : golden_cases("gradient")) {
        const auto& expected = item.at("discrete");
        const double t_max = item.at("T");
        const auto c = item.at("c").get<vector>();
        with_tableau(expected.at("method"), [&]<class Tableau>(Tableau) {
            const clex<ntk_aware, paper_time, silu, Tableau> policy(config_of(item), weights_of(item),
                                                                    {.t_max = t_max, .fixed_steps = expected.at("N")});
            const clex_seed seed{t_max, c};
            const clex_gradient grad = policy.gradient({&seed, 1});
            check_gradient(grad, expected, 1e-12);
            CHECK(relative_difference(vector{grad.t_max}, vector{expected.at("T")}) < 1e-12);
        });
    }
}

TEST_CASE("clex/clex: at tight tolerance the gradient is that of the exact flow") {
    for (const auto& item : golden_cases("gradient")) {
        const auto& expected = item.at("truth");
        const double t_max = item.at("T");
        const auto c = item.at("c").get<vector>();
        const clex policy(config_of(item), weights_of(item), {.t_max = t_max, .tolerance = {1e-12, 1e-12}});
        const clex_seed seed{t_max, c};
        const clex_gradient grad = policy.gradient({&seed, 1});
        check_gradient(grad, expected, 1e-11);
        CHECK(relative_difference(grad.t, vector{expected.at("T")}) < 1e-11);
        CHECK(relative_difference(vector{grad.t_max}, vector{expected.at("T")}) < 1e-10);
    }
}

TEST_CASE("clex/clex: the continuous adjoint is the gradient of the exact flow too") {
    for (const auto& item : golden_cases("gradient")) {
        const auto& expected = item.at("truth");
        const double t_max = item.at("T");
        const auto c = item.at("c").get<vector>();
        const clex_options options{
            .t_max = t_max, .tolerance = {1e-12, 1e-12}, .continuous_adjoint = tolerance{1e-12, 1e-12}};
        const clex policy(config_of(item), weights_of(item), options);
        const clex_seed seed{t_max, c};
        const clex_gradient grad = policy.gradient({&seed, 1});
        check_gradient(grad, expected, 1e-9);
        CHECK(relative_difference(grad.t, vector{expected.at("T")}) < 1e-9);
        CHECK(relative_difference(vector{grad.t_max}, vector{expected.at("T")}) < 1e-9);
        vector flat(policy.parameters().size());
        policy.log_alpha_vjp(policy.config(), t_max, c, flat);
        CHECK(relative_difference(std::span(flat).first(grad.up.size()), grad.up) < 1e-14);
    }
}

TEST_CASE("clex/clex: at the tolerance of training the two gradients differ by about that tolerance, in any field") {
    const auto check = [](const auto& discrete, const auto& continuous) {
        const std::vector<clex_seed> seeds{{5.3, first_seed}, {14.1, second_seed}};
        const clex_gradient x = discrete.gradient(seeds), y = continuous.gradient(seeds);
        CHECK(relative_difference(x.up, y.up) < 1e-4);
        CHECK(relative_difference(x.down, y.down) < 1e-4);
        CHECK(relative_difference(x.z1, y.z1) < 1e-4);
        CHECK(relative_difference(x.t, y.t) < 1e-4);
        CHECK(x.up != y.up);
    };
    const auto weights = dense_weights_for(small);
    const clex_options plain{.tolerance = {1e-7, 1e-7}};
    clex_options flow = plain;
    flow.continuous_adjoint = tolerance{1e-7, 1e-7};
    using in_log_time = clex<yarn, log_time, tanh_activation, dopri5>;
    check(clex<>(small, weights, plain), clex<>(small, weights, flow));
    check(in_log_time(small, weights, plain), in_log_time(small, weights, flow));
}

TEST_CASE_TEMPLATE("clex/clex: gradients from seeds between nodes are those of finite differences", Policy,
                   clex<by_parts>, clex<by_parts, log_time>, clex<yarn>, clex<yarn, log_time, tanh_activation, dopri5>,
                   clex<square_root>, clex<linear, log_time>, clex<ntk_aware, log_time, silu, rk4_38>) {
    // Equal steps: the mesh must not move with the numbers that are differentiated.
    const clex_options options{.t_max = 16.0, .fixed_steps = 6};
    const Policy policy(small, dense_weights_for(small), options);
    const double t_first = 5.3, t_second = 14.1, step = 1e-5;
    const std::vector<clex_seed> seeds{{t_first, first_seed}, {t_second, second_seed}};
    const clex_gradient grad = policy.gradient(seeds);

    vector flat(policy.parameters().size());
    policy.log_alpha_vjp(small, t_first, first_seed, flat);
    policy.log_alpha_vjp(small, t_second, second_seed, flat);
    vector both(grad.up);
    both.insert(both.end(), grad.down.begin(), grad.down.end());
    CHECK(relative_difference(flat, both) < 1e-13);

    const vector center = policy.parameters();
    for (std::size_t i = 0; i < center.size(); i += 7) {
        vector moved = center;
        moved[i] = center[i] + step;
        const double above = loss_of(policy.with_parameters(moved), t_first, t_second);
        moved[i] = center[i] - step;
        const double below = loss_of(policy.with_parameters(moved), t_first, t_second);
        CHECK(std::abs(flat[i] - (above - below) / (2 * step)) < 1e-8 * (1.0 + std::abs(flat[i])));
    }
    CHECK(grad.t[0] ==
          doctest::Approx((loss_of(policy, t_first + step, t_second) - loss_of(policy, t_first - step, t_second)) /
                          (2 * step))
              .epsilon(1e-7));
    CHECK(grad.t[1] ==
          doctest::Approx((loss_of(policy, t_first, t_second + step) - loss_of(policy, t_first, t_second - step)) /
                          (2 * step))
              .epsilon(1e-7));
}

// On a Llama-3.1 head, whose rule is by_parts, and on a head extended by YaRN: the prior's shape stays, the network
// adds what it has learned, and the same numbers over another prior are another model.
TEST_CASE_TEMPLATE("clex/clex: over another prior the learned part comes on top of that prior", Prior, by_parts, yarn) {
    const rope_config llama{128, 128, 500000.0, 8192.0};
    clex_weights weights = clex_initial_weights(llama, 1, 21);
    const clex<Prior> untrained(llama, weights, {.t_max = 8.0});
    for (double& w : weights.down) w = 1e-3;
    const clex<Prior> trained(llama, weights, {.t_max = 8.0});
    const clex<> over_ntk(llama, weights, {.t_max = 8.0});
    CHECK(largest_difference(log_alpha_at(untrained, llama, 8.0), log_alpha_at(Prior{}, llama, 8.0)) < 1e-9);
    CHECK(largest_difference(log_alpha_at(trained, llama, 8.0), log_alpha_at(Prior{}, llama, 8.0)) > 1e-3);
    CHECK(largest_difference(log_alpha_at(trained, llama, 8.0), log_alpha_at(over_ntk, llama, 8.0)) > 0.1);
    CHECK(trained.attention_factor(llama, 8.0) == attention_factor(Prior{}, llama, 8.0));
}

TEST_CASE("clex/clex: the gradient to t_max of a seed at t_max is that of another t_max") {
    const auto loss = [](double t_max) {
        const clex<by_parts, log_time> policy(small, dense_weights_for(small), {.t_max = t_max, .fixed_steps = 6});
        const vector x = log_alpha_at(policy, small, t_max);
        return std::inner_product(x.begin(), x.end(), first_seed.begin(), 0.0);
    };
    const clex<by_parts, log_time> policy(small, dense_weights_for(small), {.t_max = 9.0, .fixed_steps = 6});
    const clex_seed seed{9.0, first_seed};
    CHECK(policy.gradient({&seed, 1}).t_max ==
          doctest::Approx((loss(9.0 + 1e-5) - loss(9.0 - 1e-5)) / 2e-5).epsilon(1e-8));
}

TEST_CASE("clex/clex: the rate is per unit of t in log time too") {
    const clex<by_parts, log_time> policy(small, clex_initial_weights(small, 1, 5));
    vector rate(6), expected(6);
    for (const double t : {1.0, 3.3, 16.0}) {
        policy.log_alpha_rate(small, t, rate);
        log_alpha_rate(by_parts{}, small, t, expected);
        CHECK(largest_difference(rate, expected) < 1e-7);
    }
}

TEST_CASE("clex/clex: copies share the solution, and other parameters make another model") {
    const clex policy(small, clex_initial_weights(small, 1, 5));
    const std::vector<clex<>> copies(2, policy);
    CHECK(&copies[1].path() == &policy.path());
    vector moved = policy.parameters();
    moved.back() = 0.1;
    const clex other = policy.with_parameters(moved);
    CHECK(other.parameters() == moved);
    CHECK(other.options().t_max == policy.options().t_max);
    CHECK(log_alpha_at(other, small, 4.0) != log_alpha_at(policy, small, 4.0));
    CHECK(log_alpha_at(other, small, 1.0) == log_alpha_at(policy, small, 1.0));
}

TEST_CASE("clex/clex: one solve gives the basis of every length, as a solve that ends at its t does") {
    const rope_config config = small;
    const clex_weights weights = dense_weights_for(config);
    // [one_solve]
    const clex policy(config, weights, {.t_max = 32.0, .tolerance = {1e-8, 1e-8}});  // the one integration
    const rope exact(config, policy, continuous{});                                  // reads the t of any length
    const basis_cache few(config, policy, nearest_upper_bound({1, 2, 4, 8, 16, 32}));
    const basis at_its_t = exact.at_length(500), at_a_cached_t = few.at_length(500);
    // [/one_solve]
    for (const auto& [read, t] : {std::pair(at_its_t, 500.0 / 64.0), std::pair(at_a_cached_t, 8.0)}) {
        const basis alone = make_basis(config, clex(config, weights, {.t_max = t, .tolerance = {1e-8, 1e-8}}), t);
        CHECK(relative_difference(read.inv_freq(), alone.inv_freq()) < 1e-7);
    }
}

TEST_CASE("clex/clex: t_max = 1 is the model's own basis") {
    const clex policy(small, dense_weights_for(small), {.t_max = 1.0});
    CHECK(largest_difference(log_alpha_at(policy, small, 1.0), vector(6, 0.0)) < 1e-15);
    vector grad(policy.parameters().size());
    policy.log_alpha_vjp(small, 1.0, first_seed, grad);
    CHECK(grad == vector(grad.size(), 0.0));
}
