// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "clex/field_checks.hpp"
#include "cordage/clex/clex.hpp"

using namespace cordage;
using cordage_test::dense_weights_for;

namespace {
const rope_config config{16, 12, 10000.0, 64.0};
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
}  // namespace

TEST_CASE("clex/validation: weights that do not fit or are not numbers are named") {
    auto weights = dense_weights_for(config);
    weights.up[6 * 3 + 5] = nan_value;
    CHECK_THROWS_WITH_AS(clex(config, weights), "clex_weights: up[3, 5] nan must be finite", value_error);
    weights = dense_weights_for(config);
    weights.down[12 * 2 + 7] = -std::numeric_limits<double>::infinity();
    CHECK_THROWS_WITH_AS(clex(config, weights), "clex_weights: down[2, 7] -inf must be finite", value_error);
    weights = dense_weights_for(config);
    weights.down.pop_back();
    CHECK_THROWS_WITH_AS(clex(config, weights), "clex_weights: down size 71 must be 6 * 12", shape_error);
    CHECK_THROWS_WITH_AS(clex({16, 10, 10000.0, 64.0}, dense_weights_for(config)),
                         "clex_weights: pairs 6 must be rotary_dim/2 = 5", shape_error);
    CHECK_THROWS_WITH_AS(clex(config, clex_weights{0, 6, {}, {}}), "clex_weights: hidden 0 must be >= 1", shape_error);
    // 2^62 rows of 8 wrapped to 0 numbers in 64 bits.
    CHECK_THROWS_AS(clex({16, 16, 10000.0, 64.0}, clex_weights{index_t{1} << 62, 8, {}, {}}), shape_error);
    CHECK_THROWS_AS(with_flat_parameters({index_t{1} << 62, 8, {}, {}}, {}), shape_error);
}

TEST_CASE("clex/validation: settings out of their domain are named") {
    const auto weights = dense_weights_for(config);
    CHECK_THROWS_WITH_AS(clex(config, weights, {.t_max = 0.5}), "clex: t_max 0.5 must be finite and >= 1", value_error);
    CHECK_THROWS_AS(clex(config, weights, {.t_max = nan_value}), value_error);
    CHECK_THROWS_AS(clex(config, weights, {.tolerance = {0.0, 1e-10}}), value_error);
    CHECK_THROWS_AS(clex(config, weights, {.max_steps = 0}), value_error);
    CHECK_THROWS_WITH_AS(clex(config, weights, {.fixed_steps = -1}), "clex: fixed_steps -1 must be >= 0", value_error);
    CHECK_THROWS_WITH_AS(clex(config, weights, {.fixed_steps = 4, .step_size = 0.5}),
                         "clex: fixed_steps 4 and step_size 0.5 must not both be given", value_error);
    using classic = clex<paper_field<>, rk4_classic>;
    CHECK_THROWS_WITH_AS(
        classic(config, weights),
        "clex: fixed_steps 0 must be >= 1, or step_size 0 must be > 0: tableau rk4_classic has no error weights to "
        "choose steps by",
        value_error);
    CHECK_THROWS_AS(clex({16, 13, 10000.0, 64.0}, weights), value_error);
}

// These once ended in bad_alloc.
TEST_CASE("clex/validation: more steps than fit into a trajectory are rejected before memory is allocated") {
    const auto weights = dense_weights_for(config);
    CHECK_THROWS_WITH_AS(clex(config, weights, {.step_size = 2e-8}),
                         doctest::Contains("solve_fixed: step_size 2e-08 must be "), value_error);
    CHECK_THROWS_WITH_AS(clex(config, weights, {.fixed_steps = 900'000'000}),
                         doctest::Contains("solve_fixed: equal_steps.count 900000000 must be "), value_error);
    CHECK_THROWS_WITH_AS(clex<log_length_field<>>(config, weights, {.step_size = 1e-9}),
                         doctest::Contains("solve_fixed: step_size 1e-09 must be "), value_error);
}

TEST_CASE(
    "clex/validation: t outside what was solved, another config or a wrong size is an error that writes nothing") {
    const clex policy(config, dense_weights_for(config), {.t_max = 4.0});
    std::vector<double> out(6, -7.0);
    CHECK_THROWS_WITH_AS(policy.log_alpha(config, 4.5, out),
                         "clex::log_alpha: t 4.5 must be in [1, 4], the solved range", value_error);
    for (const double t : {0.99, -1.0, nan_value}) {
        CHECK_THROWS_AS(policy.log_alpha(config, t, out), value_error);
        CHECK_THROWS_AS(policy.log_alpha_rate(config, t, out), value_error);
        CHECK_THROWS_AS(policy.attention_factor(config, t), value_error);
        CHECK_THROWS_AS(policy.attention_factor_rate(config, t), value_error);
    }
    rope_config other = config;
    other.theta_base = 500000.0;
    CHECK_THROWS_AS(policy.log_alpha(other, 2.0, out), value_error);
    other = config;
    other.head_dim = 12;
    CHECK_THROWS_WITH_AS(policy.log_alpha(other, 2.0, out),
                         "clex: rope_config with head_dim 12, rotary_dim 12, theta_base 10000, original_length 64 must "
                         "be the solved one, with 16, 12, 10000, 64",
                         value_error);
    CHECK(out == std::vector<double>(6, -7.0));
    std::vector<double> narrow(5, -7.0), grad(policy.parameters().size());
    CHECK_THROWS_AS(policy.log_alpha(config, 2.0, narrow), shape_error);
    CHECK(narrow == std::vector<double>(5, -7.0));
    CHECK_THROWS_AS(policy.log_alpha_vjp(config, 2.0, narrow, grad), shape_error);
    CHECK_THROWS_AS(policy.log_alpha_vjp(config, 2.0, out, narrow), shape_error);
    CHECK_THROWS_AS(policy.log_alpha_vjp(config, 5.0, out, grad), value_error);
    const clex_seed cut{2.0, narrow};
    CHECK_THROWS_WITH_AS(policy.gradient({&cut, 1}), doctest::Contains("clex::gradient: gradient size"), shape_error);
    CHECK_THROWS_AS(policy.with_parameters(narrow), shape_error);
    CHECK(grad == std::vector<double>(grad.size(), 0.0));
}

TEST_CASE("clex/validation: a solve that fails is an error with the status in words") {
    auto weights = dense_weights_for(config);
    for (double& w : weights.down) w *= 1e200;
    CHECK_THROWS_AS(clex(config, weights), cordage::error);
    // The t reached is above 1 also in log time, whose variable starts at 0.
    const auto check_failure = [](const auto& solve) {
        std::string text;
        try {
            solve();
        } catch (const cordage::error& e) {
            text = e.what();
        }
        const std::string begin = "clex: the solve to t_max 16 failed: max_steps_reached at t ";
        REQUIRE(text.starts_with(begin));
        std::size_t digits = 0;
        const double reached = std::stod(text.substr(begin.size()), &digits);
        CHECK(reached > 1.0);
        CHECK(reached < 16.0);
        CHECK(text.substr(begin.size() + digits) ==
              " after 3 steps; raise max_steps or loosen the tolerance; a trajectory holds at most 2^28 numbers");
    };
    check_failure([] { clex(config, dense_weights_for(config), {.max_steps = 3}); });
    check_failure([] { clex<log_length_field<>>(config, dense_weights_for(config), {.max_steps = 3}); });
}
