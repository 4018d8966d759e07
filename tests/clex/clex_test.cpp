// SPDX-License-Identifier: MIT
#include "cordage/clex/clex.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "clex/field_checks.hpp"
#include "clex/golden.hpp"
#include "cordage/basis/basis_cache.hpp"
#include "cordage/basis/rope_scaling.hpp"
#include "cordage/clex/initial_weights.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/learned_table.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/yarn.hpp"
#include "cordage/schedule/schedules.hpp"

using namespace cordage;
using namespace cordage_test;

static_assert(learned_policy<clex<>> && has_attention_factor<clex<>>);
static_assert(clex_field<log_length_field<by_parts>> && !clex_field<by_parts>);
static_assert(clex_field<released_field<>> && clex_field<released_field<silu, float>>);

namespace {

const rope_config small{16, 12, 10000.0, 64.0};

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
            // The derivative of an interpolant is of one order less.
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

TEST_CASE_TEMPLATE("clex/clex: W_down = 0 gives the prior back, whichever prior and time", Policy,
                   clex<paper_field<any_prior>>, clex<log_length_field<any_prior>>) {
    const any_prior priors[] = {ntk_aware{},
                                by_parts{},
                                yarn{},
                                square_root{},
                                base_change{},
                                linear{},
                                learned_table<yarn>(small, {2.0, 8.0})};
    for (const any_prior& prior : priors) {
        const Policy policy(small, clex_initial_weights(small, 1, 5), {.t_max = 32.0, .tolerance = {1e-12, 1e-12}},
                            prior);
        for (const double t : {1.0, 1.01, 2.0, 7.7, 32.0}) {
            CHECK(largest_difference(log_alpha_at(policy, small, t), log_alpha_at(prior, small, t)) < 1e-10);
            CHECK(policy.attention_factor(small, t) == attention_factor(prior, small, t));
            CHECK(policy.attention_factor_rate(small, t) == attention_factor_rate(prior, small, t));
        }
    }
}

// On a Llama-3.1 head, whose rule is by_parts, and on a head extended by YaRN: the shape of the prior is kept, the
// network adds what it has learned, and the same weights over another prior are another model.
TEST_CASE("clex/clex: over another prior the learned part is added to that prior") {
    const rope_config llama{128, 128, 500000.0, 8192.0};
    const clex_weights weights = clex_initial_weights(llama, 1, 21);
    clex_weights learned = weights;
    for (double& w : learned.down) w = 1e-3;
    using over_any = clex<paper_field<any_prior>>;
    const clex<> over_ntk(llama, learned, {.t_max = 8.0});
    for (const any_prior& prior : {any_prior(by_parts{}), any_prior(yarn{})}) {
        const over_any untrained(llama, weights, {.t_max = 8.0}, prior), trained(llama, learned, {.t_max = 8.0}, prior);
        CHECK(largest_difference(log_alpha_at(untrained, llama, 8.0), log_alpha_at(prior, llama, 8.0)) < 1e-9);
        CHECK(largest_difference(log_alpha_at(trained, llama, 8.0), log_alpha_at(prior, llama, 8.0)) > 1e-3);
        CHECK(largest_difference(log_alpha_at(trained, llama, 8.0), log_alpha_at(over_ntk, llama, 8.0)) > 0.1);
        CHECK(trained.attention_factor(llama, 8.0) == attention_factor(prior, llama, 8.0));
    }
}

TEST_CASE("clex/clex: the rate is per unit of t in log time too") {
    const clex<log_length_field<any_prior>> policy(small, clex_initial_weights(small, 1, 5), {}, by_parts{});
    vector rate(6), expected(6);
    for (const double t : {1.0, 3.3, 16.0}) {
        policy.log_alpha_rate(small, t, rate);
        log_alpha_rate(by_parts{}, small, t, expected);
        CHECK(largest_difference(rate, expected) < 1e-7);
    }
}

TEST_CASE("clex/clex: the type of a prior that is given is deduced") {
    const clex policy(small, clex_initial_weights(small, 1, 5), {}, by_parts{1.0, 8.0});
    static_assert(std::is_same_v<decltype(policy), const clex<paper_field<by_parts>>>);
    CHECK(policy.prior().rotations_high == 8.0);
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
    const rope_scaling exact(config, policy, continuous{});                          // reads the t of any length
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
    policy.log_alpha_vjp(small, 1.0, vector{1.0, -0.5, 0.3, 0.8, -1.2, 0.4}, grad);
    CHECK(grad == vector(grad.size(), 0.0));
}
