// SPDX-License-Identifier: MIT
#include "cordage/schedule/any_schedule.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "cordage/schedule/continuous.hpp"
#include "cordage/schedule/dynamic.hpp"
#include "cordage/schedule/fixed.hpp"
#include "cordage/schedule/nearest_upper_bound.hpp"

using namespace cordage;

namespace {
const rope_config model{.head_dim = 64, .rotary_dim = 64, .original_length = 4096};
}

TEST_CASE("schedule/any_schedule: it gives the t of the schedule that it holds") {
    const std::vector<any_schedule> list{fixed{3.0}, continuous{}, dynamic{2.0}, nearest_upper_bound({1.0, 8.0})};
    const std::vector<double> expected{3.0, 2.0, 3.0, 8.0};
    for (std::size_t i = 0; i < list.size(); ++i) {
        const any_schedule copy = list[i];
        CHECK(ratio_at(copy, model, 8192.0) == expected[i]);
    }
}

TEST_CASE("schedule/any_schedule: it checks the settings of what it holds") {
    const any_schedule held(fixed{0.0});
    CHECK_THROWS_WITH_AS(validate_schedule(held), "fixed: t 0 must be finite and >= 1", value_error);
    CHECK_THROWS_AS(ratio_at(held, model, 10.0), value_error);
}
