// SPDX-License-Identifier: MIT
#include "../../examples/own_methods/base_change_power.hpp"

#include "cordage/scaling/power_laws.hpp"
#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace own;
using namespace cordage_test;

TEST_CASE("examples/base_change_power: it meets the change of base at reference_t and nothing at 1") {
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

TEST_CASE("examples/base_change_power: settings out of their domain are named") {
    CHECK_THROWS_WITH_AS(validate(base_change_power{.base_factor = -1.0}, llama2()),
                         "base_change_power: base_factor -1 must be finite and > 0", value_error);
    CHECK_THROWS_WITH_AS(validate(base_change_power{.reference_t = 1.0}, llama2()),
                         "base_change_power: reference_t 1 must be finite and > 1", value_error);
}
