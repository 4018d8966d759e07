// SPDX-License-Identifier: MIT
#include "cordage/schedule/continuous.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace cordage;

namespace {
const rope_config model{.head_dim = 64, .rotary_dim = 64, .original_length = 4096};
}

TEST_CASE("schedule/continuous: t is the length over the original length, never below t_min") {
    CHECK(ratio_at(continuous{}, model, 0.0) == 1.0);
    CHECK(ratio_at(continuous{}, model, 4096.0) == 1.0);
    CHECK(ratio_at(continuous{}, model, 6144.0) == 1.5);
    CHECK(ratio_at(continuous{}, model, 65536.0) == 16.0);
    CHECK(ratio_at(continuous{}, model, 4097.0) == 4097.0 / 4096.0);
}

TEST_CASE("schedule/continuous: with t_min the t of training it is the paper's self-extending evaluation") {
    const continuous trained_at_4{4.0};
    CHECK(ratio_at(trained_at_4, model, 4096.0) == 4.0);
    CHECK(ratio_at(trained_at_4, model, 16384.0) == 4.0);
    CHECK(ratio_at(trained_at_4, model, 32768.0) == 8.0);
}

TEST_CASE("schedule/continuous: t_min below 1 is refused") {
    CHECK_THROWS_WITH_AS(ratio_at(continuous{0.0}, model, 10.0), "continuous: t_min 0 must be finite and >= 1",
                         value_error);
    CHECK_THROWS_AS(ratio_at(continuous{std::nan("")}, model, 10.0), value_error);
}
