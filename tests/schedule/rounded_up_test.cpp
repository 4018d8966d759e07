// SPDX-License-Identifier: MIT
#include "cordage/schedule/rounded_up.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "cordage/schedule/any_schedule.hpp"
#include "cordage/schedule/nearest_upper_bound.hpp"

using namespace cordage;

namespace {
const rope_config model{.head_dim = 64, .rotary_dim = 64, .original_length = 4096};
}

TEST_CASE("schedule/rounded_up: the next whole t, at least 1, capped, exact at every edge") {
    const rounded_up schedule{8.0};
    CHECK(ratio_at(schedule, model, 0.0) == 1.0);
    CHECK(ratio_at(schedule, model, 4096.0) == 1.0);
    CHECK(ratio_at(schedule, model, 4097.0) == 2.0);
    CHECK(ratio_at(schedule, model, 32768.0) == 8.0);
    CHECK(ratio_at(schedule, model, 32769.0) == 8.0);
    CHECK(ratio_at(schedule, model, 1e12) == 8.0);
}

TEST_CASE("schedule/rounded_up: it is the nearest upper bound of 1 to t_max") {
    std::vector<double> whole;
    for (int k = 1; k <= 16; ++k) whole.push_back(k);
    const nearest_upper_bound bounds(whole);
    const any_schedule schedule = rounded_up{16.0};
    for (int seq_len = 0; seq_len <= 20 * 4096; seq_len += 127) {
        REQUIRE(ratio_at(schedule, model, seq_len) == ratio_at(bounds, model, seq_len));
    }
}

TEST_CASE("schedule/rounded_up: a t_max that is not whole is refused") {
    CHECK_THROWS_WITH_AS(ratio_at(rounded_up{2.5}, model, 1.0), "rounded_up: t_max 2.5 must be a whole number >= 1",
                         value_error);
    for (const double t_max : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
        CHECK_THROWS_AS(ratio_at(rounded_up{t_max}, model, 1.0), value_error);
    }
    CHECK_THROWS_AS(ratio_at(rounded_up{std::numeric_limits<double>::quiet_NaN()}, model, 1.0), value_error);
}
