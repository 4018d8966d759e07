// SPDX-License-Identifier: MIT
#include "cordage/scaling/unscaled.hpp"

#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace cordage_test;

TEST_CASE("scaling/unscaled: alpha is 1 at every length") {
    check_derivatives(unscaled{}, llama2());
    check_starts_at_one_and_falls(unscaled{}, llama2());
    check_alpha(unscaled{}, llama2(), 64.0, {{0, 1.0}, {63, 1.0}});
    CHECK(attention_factor(unscaled{}, llama2(), 64.0) == 1.0);
    CHECK(attention_factor_rate(unscaled{}, llama2(), 64.0) == 0.0);
}
