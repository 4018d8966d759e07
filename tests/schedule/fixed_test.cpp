// SPDX-License-Identifier: MIT
#include "cordage/schedule/fixed.hpp"

#include <doctest/doctest.h>

using namespace cordage;

namespace {
const rope_config model{.head_dim = 64, .rotary_dim = 64, .original_length = 4096};
}

TEST_CASE("schedule/fixed: t is the same at every length") {
    for (const double seq_len : {0.0, 1.0, 4096.0, 1e6}) CHECK(ratio_at(fixed{4.0}, model, seq_len) == 4.0);
    CHECK(ratio_at(fixed{}, model, 1e6) == 1.0);
}

TEST_CASE("schedule/fixed: t below 1 is refused") {
    CHECK_THROWS_WITH_AS(ratio_at(fixed{0.5}, model, 10.0), "fixed: t 0.5 must be finite and >= 1", value_error);
}
