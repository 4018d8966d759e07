// SPDX-License-Identifier: MIT
#include "cordage/scaling/by_parts.hpp"

#include <limits>
#include <numbers>

#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {
const rope_config llama31{.head_dim = 128, .rotary_dim = 128, .theta_base = 500000.0, .original_length = 8192};
}

TEST_CASE("scaling/by_parts: derivatives, and alpha 1 at the original length") {
    check_derivatives(by_parts{}, llama31);
    check_starts_at_one_and_falls(by_parts{}, llama31);
}

// transformers 5.24 "llama3", factor 8, in 50-digit arithmetic; golden/policies.json, Llama-3.1-8B.
TEST_CASE("scaling/by_parts: its defaults at t = 8 are Llama 3.1") {
    const std::initializer_list<std::pair<index_t, double>> known{{0, 1.0},
                                                                  {9, 0.1579728099090432},
                                                                  {15, 0.04616405026546052},
                                                                  {20, 0.016560440080994446},
                                                                  {63, 3.068925988914511e-07}};
    for (const auto& [pair, theta] : known) {
        CHECK(close_relative(std::exp(by_parts{}.log_alpha(llama31, pair, 8.0)) * llama31.inv_freq(pair), theta,
                             closed_form));
    }
    check_alpha(by_parts{}, llama31, 4.0, {{32, 0.4609619538724383}});
}

TEST_CASE(
    "scaling/by_parts: pairs rotating often keep alpha 1, rare ones are divided by t, the share is linear between") {
    const by_parts policy{.rotations_low = 2.0, .rotations_high = 16.0};
    for (index_t pair = 0; pair < 64; ++pair) {
        const double rotations = llama2().original_length * llama2().inv_freq(pair) / (2.0 * std::acos(-1.0));
        const double alpha = std::exp(policy.log_alpha(llama2(), pair, 4.0));
        if (rotations >= 16.0) {
            CHECK(alpha == 1.0);
        } else if (rotations <= 2.0) {
            CHECK(close_relative(alpha, 0.25, closed_form));
        } else {
            const double share = (16.0 - rotations) / 14.0;
            CHECK(close_relative(alpha, share / 4.0 + 1.0 - share, closed_form));
        }
    }
}

// Llama 4 Scout has both at 1, which was once rejected.
TEST_CASE("scaling/by_parts: equal limits are a step, at which a pair keeps its frequency") {
    const by_parts step{.rotations_low = 1.0, .rotations_high = 1.0};
    CHECK_NOTHROW(validate(step, llama31));
    for (index_t pair = 0; pair < 64; ++pair) {
        const double rotations = llama31.original_length * llama31.inv_freq(pair) / (2.0 * std::acos(-1.0));
        CHECK(step.share(llama31, pair).r == (rotations >= 1.0 ? 0.0 : 1.0));
        CHECK(close(std::exp(step.log_alpha(llama31, pair, 16.0)), rotations >= 1.0 ? 1.0 : 1.0 / 16.0, closed_form));
    }
    check_derivatives(step, llama31);
    // Pair 0 of this model rotates exactly as often as the limits: 0/0 in a formula that divides by their difference.
    const double turns = llama31.original_length / (2.0 * std::numbers::pi);
    CHECK(by_parts{turns, turns}.share(llama31, 0).r == 0.0);
}

TEST_CASE("scaling/by_parts: settings out of their domain are named") {
    const double infinity = std::numeric_limits<double>::infinity();
    CHECK_THROWS_WITH_AS(validate(by_parts{-1.0, 4.0}, llama2()), "by_parts: rotations_low -1 must be finite and >= 0",
                         value_error);
    CHECK_THROWS_WITH_AS(validate(by_parts{4.0, 3.0}, llama2()),
                         "by_parts: rotations_high 3 must be finite and >= rotations_low 4", value_error);
    CHECK_THROWS_AS(validate(by_parts{1.0, infinity}, llama2()), value_error);
}

TEST_CASE("scaling/by_parts: alpha is r/t + 1 - r") {
    for (const double r : {0.0, 0.25, 0.9, 1.0}) {
        for (const double t : {1.0, 1.0000001, 3.0, 1e3, 1e9}) {
            CHECK(close_relative(std::exp(interpolated_share{r}.log_alpha(t)), (r + (1.0 - r) * t) / t, closed_form));
        }
        CHECK(interpolated_share{r}.log_alpha(1.0) == 0.0);
    }
}

TEST_CASE("scaling/by_parts: a share of 0 leaves the pair alone and a share of 1 divides it by t") {
    CHECK(interpolated_share{0.0}.log_alpha(8.0) == 0.0);
    CHECK(interpolated_share{0.0}.rate(8.0) == 0.0);
    CHECK(close_relative(interpolated_share{1.0}.log_alpha(8.0), -std::log(8.0), closed_form));
    CHECK(close_relative(interpolated_share{1.0}.rate(8.0), -1.0 / 8.0, closed_form));
}

TEST_CASE("scaling/by_parts: the rate is the derivative of log alpha") {
    for (const double r : {0.1, 0.5, 0.99}) {
        const interpolated_share share{r};
        for (const double t : {1.0, 2.0, 32.0}) {
            CHECK(
                close(share.rate(t), difference([&](double at) { return share.log_alpha(at); }, t), first_difference));
        }
    }
}
