// SPDX-License-Identifier: MIT
#include "cordage/scaling/base_change.hpp"

#include <limits>

#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace cordage_test;

TEST_CASE("scaling/base_change: it is the basis of a model with the larger base, at every t") {
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
TEST_CASE("scaling/base_change: alpha of CodeLLaMA's base, so alpha(1) is not 1") {
    check_alpha(base_change{100.0}, llama2(), 1.0, {{0, 1.0}, {1, 0.930572040929699}, {63, 0.010746078283213174}});
}

TEST_CASE("scaling/base_change: the power of t meets the change of base at reference_t and nothing at 1") {
    const base_change_power power{.base_factor = 100.0, .reference_t = 4.0};
    check_derivatives(power, llama2());
    for (index_t pair = 0; pair < 64; ++pair) {
        CHECK(power.log_alpha(llama2(), pair, 1.0) == 0.0);
        const double at_reference = base_change{100.0}.log_alpha(llama2(), pair, 4.0);
        CHECK(close(power.log_alpha(llama2(), pair, 4.0), at_reference, closed_form));
        CHECK(close(power.log_alpha(llama2(), pair, 16.0), 2.0 * at_reference, closed_form));
    }
    CHECK(close(power.log_alpha_rate(llama2(), 63, 4.0), -0.8175057421011869, closed_form));
}

TEST_CASE("scaling/base_change: settings out of their domain are named") {
    const double not_a_number = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_WITH_AS(validate(base_change{0.0}, llama2()), "base_change: base_factor 0 must be finite and > 0",
                         value_error);
    CHECK_THROWS_WITH_AS(validate(base_change{not_a_number}, llama2()),
                         "base_change: base_factor nan must be finite and > 0", value_error);
    CHECK_THROWS_WITH_AS(validate(base_change_power{.base_factor = -1.0}, llama2()),
                         "base_change_power: base_factor -1 must be finite and > 0", value_error);
    CHECK_THROWS_WITH_AS(validate(base_change_power{.reference_t = 1.0}, llama2()),
                         "base_change_power: reference_t 1 must be finite and > 1", value_error);
}
