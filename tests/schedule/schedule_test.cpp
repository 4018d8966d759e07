// SPDX-License-Identifier: MIT
#include "cordage/schedule/schedule.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "cordage/schedule/continuous.hpp"

using namespace cordage;

namespace {
const rope_config model{.head_dim = 64, .rotary_dim = 64, .original_length = 4096};

struct doubled {
    double ratio(const rope_config& c, double seq_len) const { return 1.0 + 2.0 * seq_len / c.original_length; }
};
struct in_float {
    float ratio(const rope_config&, double) const { return 1.0f; }
};
}  // namespace

TEST_CASE("schedule/schedule: anything with 'double ratio' is a schedule, its own check is optional") {
    static_assert(length_schedule<doubled> && !length_schedule<in_float> && !length_schedule<int>);
    CHECK(ratio_at(doubled{}, model, 4096.0) == 3.0);
    CHECK(ratio_at(doubled{}, model, 0.0) == 1.0);
    CHECK_THROWS_WITH_AS(ratio_at(continuous{.t_min = 0.5}, model, 4096.0),
                         "continuous: t_min: t 0.5 must be finite and >= 1", value_error);
}

TEST_CASE("schedule/schedule: a length that is negative or not finite is refused, and a bad model too") {
    const double not_a_number = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_WITH_AS(ratio_at(continuous{}, model, -1.0), "ratio_at: seq_len -1 must be finite and >= 0",
                         value_error);
    CHECK_THROWS_WITH_AS(ratio_at(continuous{}, model, not_a_number), "ratio_at: seq_len nan must be finite and >= 0",
                         value_error);
    CHECK_THROWS_AS(ratio_at(doubled{}, model, std::numeric_limits<double>::infinity()), value_error);
    CHECK_THROWS_AS(ratio_at(doubled{}, rope_config{.head_dim = 64, .rotary_dim = 64}, 1.0), value_error);
}
