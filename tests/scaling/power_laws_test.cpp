// SPDX-License-Identifier: MIT
#include "cordage/scaling/power_laws.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "cordage/basis/basis.hpp"
#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace cordage_test;

TEST_CASE("scaling/power_laws: unscaled: alpha is 1 at every length") {
    check_derivatives(unscaled{}, llama2());
    check_starts_at_one_and_falls(unscaled{}, llama2());
    check_alpha(unscaled{}, llama2(), 64.0, {{0, 1.0}, {63, 1.0}});
    CHECK(attention_factor(unscaled{}, llama2(), 64.0) == 1.0);
    CHECK(attention_factor_rate(unscaled{}, llama2(), 64.0) == 0.0);
}

TEST_CASE("scaling/power_laws: linear: derivatives, and alpha 1 at the original length") {
    check_derivatives(linear{}, llama2());
    check_starts_at_one_and_falls(linear{}, llama2());
}

TEST_CASE("scaling/power_laws: linear: every pair is divided by t") {
    check_alpha(linear{}, llama2(), 4.0, {{0, 0.25}, {31, 0.25}, {63, 0.25}});
    check_alpha(linear{}, llama2(), 2.5, {{0, 0.4}, {63, 0.4}});
}

TEST_CASE("scaling/power_laws: linear: dividing frequencies by t is dividing positions by t, CLEX's Theorem 1") {
    for (const double t : {1.5, 4.0, 10.0}) {
        const basis scaled = make_basis(llama2(), linear{}, t), plain = make_basis(llama2(), linear{}, 1.0);
        for (index_t pair = 0; pair < llama2().pairs(); ++pair) {
            const auto i = static_cast<std::size_t>(pair);
            for (const double position : {1.0, 100.0, 4095.0}) {
                CHECK(close_relative(position * scaled.inv_freq()[i], position / t * plain.inv_freq()[i], closed_form));
            }
        }
    }
}

TEST_CASE("scaling/power_laws: ntk_aware: derivatives, and alpha 1 at the original length") {
    check_derivatives(ntk_aware{}, llama2());
    check_starts_at_one_and_falls(ntk_aware{}, llama2());
}

TEST_CASE("scaling/power_laws: ntk_aware: the first pair keeps its frequency and the last is divided by t") {
    for (const double t : {1.5, 4.0, 64.0}) check_alpha(ntk_aware{}, llama2(), t, {{0, 1.0}, {63, 1.0 / t}});
}

// 50-digit arithmetic, rounded; golden/policies.json, alpha_table.
TEST_CASE("scaling/power_laws: ntk_aware: alpha at t = 4 is the published power of t") {
    check_alpha(ntk_aware{}, llama2(), 4.0, {{1, 0.9782356643334578}, {32, 0.49452898406803664}});
    const rope_config small{.head_dim = 64, .rotary_dim = 64, .original_length = 4096};
    check_alpha(ntk_aware{}, small, 4.0, {{1, 0.956265989496255}, {16, 0.48894426816771636}});
}

TEST_CASE("scaling/power_laws: ntk_aware: it is a change of base by t^(d/(d-2))") {
    for (const double t : {1.3, 4.0, 40.0}) {
        const base_change same{std::pow(t, 128.0 / 126.0)};
        for (index_t pair = 0; pair < 64; ++pair) {
            CHECK(close(ntk_aware{}.log_alpha(llama2(), pair, t), same.log_alpha(llama2(), pair, t), closed_form));
        }
    }
}

TEST_CASE("scaling/power_laws: ntk_aware: a single pair keeps its frequency instead of dividing by d - 2 = 0") {
    const rope_config one{.head_dim = 4, .rotary_dim = 2, .original_length = 16};
    CHECK(ntk_aware{}.log_alpha(one, 0, 8.0) == 0.0);
    CHECK(ntk_aware{}.log_alpha_rate(one, 0, 8.0) == 0.0);
}

TEST_CASE("scaling/power_laws: ntk_aware: the exponents run over rotary_dim, not head_dim") {
    const rope_config partial{.head_dim = 128, .rotary_dim = 32, .original_length = 4096};
    check_alpha(ntk_aware{}, partial, 8.0, {{15, 1.0 / 8.0}});
}

TEST_CASE("scaling/power_laws: base_change: it is the basis of a model with the larger base, at every t") {
    rope_config code_llama = llama2();
    code_llama.theta_base = 1e6;
    for (index_t pair = 0; pair < 64; ++pair) {
        for (const double t : {1.0, 4.0}) {
            const double theta = std::exp(base_change{100.0}.log_alpha(llama2(), pair, t)) * llama2().inv_freq(pair);
            CHECK(close_relative(theta, code_llama.inv_freq(pair), closed_form));
        }
    }
    check_derivatives(base_change{}, llama2());
}

// 50-digit arithmetic, rounded; golden/policies.json, alpha_table.
TEST_CASE("scaling/power_laws: base_change: alpha of CodeLLaMA's base, so alpha(1) is not 1") {
    check_alpha(base_change{100.0}, llama2(), 1.0, {{0, 1.0}, {1, 0.930572040929699}, {63, 0.010746078283213174}});
}

TEST_CASE("scaling/power_laws: base_change: settings out of their domain are named") {
    const double not_a_number = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_WITH_AS(validate(base_change{0.0}, llama2()), "base_change: base_factor 0 must be finite and > 0",
                         value_error);
    CHECK_THROWS_WITH_AS(validate(base_change{not_a_number}, llama2()),
                         "base_change: base_factor nan must be finite and > 0", value_error);
}
