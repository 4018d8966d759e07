// SPDX-License-Identifier: MIT
#include "cordage/schedule/schedules.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace cordage;

namespace {
const rope_config model{.head_dim = 64, .rotary_dim = 64, .original_length = 4096};

struct doubled {
    double ratio(const rope_config& c, double seq_len) const { return 1.0 + 2.0 * seq_len / c.original_length; }
};
// [own_schedule]
/// The smallest power of two that covers the length: a few bases, and no list of them to choose.
struct powers_of_two {
    double longest = 64.0;

    double ratio(const cordage::rope_config& c, double seq_len) const {
        double t = 1.0;
        while (t < longest && seq_len > t * c.original_length) t *= 2.0;
        return t;
    }
    void validate() const { cordage::validate_ratio({"powers_of_two: longest"}, longest); }  // may be left out
};
static_assert(cordage::length_schedule<powers_of_two>);
// [/own_schedule]
struct halved {
    double ratio(const rope_config&, double) const { return 0.5; }
};
struct in_float {
    float ratio(const rope_config&, double) const { return 1.0f; }
};
}  // namespace

TEST_CASE("schedule/schedule: anything with 'double ratio' is a schedule, its own check is optional") {
    static_assert(length_schedule<doubled> && !length_schedule<in_float> && !length_schedule<int>);
    CHECK(ratio_at(doubled{}, model, 4096.0) == 3.0);
    CHECK(ratio_at(powers_of_two{}, model, 0.0) == 1.0);
    CHECK(ratio_at(powers_of_two{}, model, 8192.0) == 2.0);
    CHECK(ratio_at(powers_of_two{}, model, 8193.0) == 4.0);
    CHECK(ratio_at(powers_of_two{}, model, 1e9) == 64.0);
    CHECK_THROWS_WITH_AS(ratio_at(powers_of_two{0.5}, model, 1.0), "powers_of_two: longest 0.5 must be finite and >= 1",
                         value_error);
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

TEST_CASE("schedule/schedule: a schedule's t that is no length ratio is refused") {
    CHECK_THROWS_WITH_AS(ratio_at(halved{}, model, 4096.0), "ratio_at: t 0.5 must be finite and >= 1", value_error);
}
