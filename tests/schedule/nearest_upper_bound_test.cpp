// SPDX-License-Identifier: MIT
#include "cordage/schedule/nearest_upper_bound.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace cordage;

namespace {
const rope_config model{.head_dim = 64, .rotary_dim = 64, .original_length = 4096};
}

TEST_CASE("schedule/nearest_upper_bound: the smallest t_k that covers the length, exact at the edges t_k L") {
    const nearest_upper_bound schedule({1.0, 1.5, 4.0});
    CHECK(ratio_at(schedule, model, 0.0) == 1.0);
    CHECK(ratio_at(schedule, model, 4096.0) == 1.0);
    CHECK(ratio_at(schedule, model, 4097.0) == 1.5);
    CHECK(ratio_at(schedule, model, 6144.0) == 1.5);
    CHECK(ratio_at(schedule, model, 6145.0) == 4.0);
    CHECK(ratio_at(schedule, model, 16384.0) == 4.0);
    CHECK(schedule.index(model, 6144.0) == 1);
}

TEST_CASE("schedule/nearest_upper_bound: beyond the largest t_k it stays there") {
    const nearest_upper_bound schedule({2.0, 8.0});
    CHECK(ratio_at(schedule, model, 32769.0) == 8.0);
    CHECK(ratio_at(schedule, model, 1e9) == 8.0);
    CHECK(ratio_at(nearest_upper_bound({3.0}), model, 1.0) == 3.0);
}

TEST_CASE("schedule/nearest_upper_bound: whole t_k are exact at every edge, and nothing lies below the length") {
    std::vector<double> whole;
    for (int k = 1; k <= 64; ++k) whole.push_back(k);
    const nearest_upper_bound schedule(whole);
    for (int seq_len = 1; seq_len <= 64 * 4096; seq_len += 61) {
        CHECK(ratio_at(schedule, model, seq_len) == (seq_len + 4095) / 4096);
    }
}

TEST_CASE("schedule/nearest_upper_bound: bad lists are refused when made") {
    CHECK_THROWS_WITH_AS(nearest_upper_bound({}), "nearest_upper_bound: cached_t [] must hold at least one t",
                         value_error);
    CHECK_THROWS_WITH_AS(nearest_upper_bound({1.0, 4.0, 4.0}),
                         "nearest_upper_bound: cached_t 4 must be > the one before it, 4", value_error);
    CHECK_THROWS_WITH_AS(nearest_upper_bound({0.5, 1.0}),
                         "nearest_upper_bound: cached_t[0] 0.5 must be finite and >= 1", value_error);
    CHECK_THROWS_AS(nearest_upper_bound({1.0, std::numeric_limits<double>::infinity()}), value_error);
    CHECK_THROWS_AS(nearest_upper_bound({std::numeric_limits<double>::quiet_NaN()}), value_error);
}
