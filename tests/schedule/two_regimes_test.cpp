// SPDX-License-Identifier: MIT
#include "cordage/schedule/two_regimes.hpp"

#include <doctest/doctest.h>

using namespace cordage;

TEST_CASE("schedule/two_regimes: t is 1 up to the original length and another one from the next token on") {
    const rope_config model{.head_dim = 8, .rotary_dim = 8, .original_length = 4096};
    CHECK(ratio_at(two_regimes{32.0}, model, 1) == 1.0);
    CHECK(ratio_at(two_regimes{32.0}, model, 4096) == 1.0);
    CHECK(ratio_at(two_regimes{32.0}, model, 4097) == 32.0);
    CHECK_THROWS_WITH_AS(ratio_at(two_regimes{1.0}, model, 4097), "two_regimes: beyond 1 must be finite and > 1",
                         value_error);
}
