// SPDX-License-Identifier: MIT
#include "cordage/schedule/schedules.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "cordage/scaling/power_laws.hpp"
#include "tolerances.hpp"

using namespace cordage;

namespace {
const rope_config model{.head_dim = 64, .rotary_dim = 64, .original_length = 4096};
}

TEST_CASE("schedule/schedules: fixed: t is the same at every length") {
    for (const double seq_len : {0.0, 1.0, 4096.0, 1e6}) CHECK(ratio_at(fixed{4.0}, model, seq_len) == 4.0);
    CHECK(ratio_at(fixed{}, model, 1e6) == 1.0);
}

TEST_CASE("schedule/schedules: fixed: t below 1 is refused") {
    CHECK_THROWS_WITH_AS(ratio_at(fixed{0.5}, model, 10.0), "fixed: t 0.5 must be finite and >= 1", value_error);
}

TEST_CASE("schedule/schedules: continuous: t is the length over the original length, never below t_min") {
    CHECK(ratio_at(continuous{}, model, 0.0) == 1.0);
    CHECK(ratio_at(continuous{}, model, 4096.0) == 1.0);
    CHECK(ratio_at(continuous{}, model, 6144.0) == 1.5);
    CHECK(ratio_at(continuous{}, model, 65536.0) == 16.0);
    CHECK(ratio_at(continuous{}, model, 4097.0) == 4097.0 / 4096.0);
}

TEST_CASE("schedule/schedules: continuous: with t_min the t of training it is the paper's self-extending evaluation") {
    const continuous trained_at_4{4.0};
    CHECK(ratio_at(trained_at_4, model, 4096.0) == 4.0);
    CHECK(ratio_at(trained_at_4, model, 16384.0) == 4.0);
    CHECK(ratio_at(trained_at_4, model, 32768.0) == 8.0);
}

TEST_CASE("schedule/schedules: continuous: t_min below 1 is refused") {
    CHECK_THROWS_WITH_AS(ratio_at(continuous{0.0}, model, 10.0), "continuous: t_min 0 must be finite and >= 1",
                         value_error);
    CHECK_THROWS_AS(ratio_at(continuous{std::nan("")}, model, 10.0), value_error);
}

namespace {
const rope_config llama2{.head_dim = 128, .rotary_dim = 128, .original_length = 4096};
}

TEST_CASE("schedule/schedules: dynamic: t is 1 up to the original length, for any factor") {
    for (const double factor : {1.0, 1.1, 2.0, 3.7, 8.1, 1e6}) {
        for (const double seq_len : {0.0, 100.0, 4096.0}) CHECK(ratio_at(dynamic{factor}, llama2, seq_len) == 1.0);
        CHECK(ratio_at(dynamic{factor}, llama2, 4097.0) > 1.0);
    }
}

TEST_CASE(
    "schedule/schedules: dynamic: beyond it t grows factor times as fast as the length, and factor 1 is continuous") {
    CHECK(ratio_at(dynamic{2.0}, llama2, 8192.0) == 3.0);
    CHECK(ratio_at(dynamic{2.0}, llama2, 16384.0) == 7.0);
    for (const double seq_len : {1.0, 5000.0, 40960.0}) {
        CHECK(ratio_at(dynamic{}, llama2, seq_len) == ratio_at(continuous{}, llama2, seq_len));
    }
}

// transformers changes the base: theta_base * (s L'/L - (s-1))^(d/(d-2)).
TEST_CASE("schedule/schedules: dynamic: ntk_aware on it has the basis of transformers' dynamic rope type") {
    for (const double seq_len : {4097.0, 6000.0, 32768.0}) {
        const double grown = 2.0 * seq_len / 4096.0 - 1.0, base = 10000.0 * std::pow(grown, 128.0 / 126.0);
        const double t = ratio_at(dynamic{2.0}, llama2, seq_len);
        for (index_t pair = 0; pair < llama2.pairs(); ++pair) {
            const double theta = std::exp(ntk_aware{}.log_alpha(llama2, pair, t)) * llama2.inv_freq(pair);
            const double expected = std::pow(base, -static_cast<double>(pair) / 64.0);
            CHECK(std::fabs(theta / expected - 1.0) < cordage_test::closed_form);
        }
    }
}

TEST_CASE("schedule/schedules: dynamic: a factor below 1 is refused") {
    CHECK_THROWS_WITH_AS(ratio_at(dynamic{0.5}, llama2, 10.0), "dynamic: factor 0.5 must be finite and >= 1",
                         value_error);
    CHECK_THROWS_AS(ratio_at(dynamic{std::nan("")}, llama2, 10.0), value_error);
}

TEST_CASE("schedule/schedules: dynamic: t stays a ratio where a factor is so large that it has no ones") {
    for (const double factor : {1e15, 1e17, 1e300}) CHECK(ratio_at(dynamic{factor}, llama2, 10.0) == 1.0);
    CHECK_THROWS_WITH_AS(ratio_at(dynamic{1e300}, llama2, 1e300), "ratio_at: t inf must be finite and >= 1",
                         value_error);
}

TEST_CASE("schedule/schedules: rounded_up: the next whole t, at least 1, capped, exact at every edge") {
    const rounded_up schedule{8.0};
    CHECK(ratio_at(schedule, model, 0.0) == 1.0);
    CHECK(ratio_at(schedule, model, 4096.0) == 1.0);
    CHECK(ratio_at(schedule, model, 4097.0) == 2.0);
    CHECK(ratio_at(schedule, model, 32768.0) == 8.0);
    CHECK(ratio_at(schedule, model, 32769.0) == 8.0);
    CHECK(ratio_at(schedule, model, 1e12) == 8.0);
}

TEST_CASE("schedule/schedules: rounded_up: it is the nearest upper bound of 1 to t_max") {
    std::vector<double> whole;
    for (int k = 1; k <= 16; ++k) whole.push_back(k);
    const nearest_upper_bound bounds(whole);
    const any_schedule schedule = rounded_up{16.0};
    for (int seq_len = 0; seq_len <= 20 * 4096; seq_len += 127) {
        REQUIRE(ratio_at(schedule, model, seq_len) == ratio_at(bounds, model, seq_len));
    }
}

TEST_CASE("schedule/schedules: rounded_up: a t_max that is not whole is refused") {
    CHECK_THROWS_WITH_AS(ratio_at(rounded_up{2.5}, model, 1.0), "rounded_up: t_max 2.5 must be a whole number >= 1",
                         value_error);
    for (const double t_max : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
        CHECK_THROWS_AS(ratio_at(rounded_up{t_max}, model, 1.0), value_error);
    }
    CHECK_THROWS_AS(ratio_at(rounded_up{std::numeric_limits<double>::quiet_NaN()}, model, 1.0), value_error);
}

TEST_CASE(
    "schedule/schedules: nearest_upper_bound: the smallest t_k that covers the length, exact at the edges t_k L") {
    const nearest_upper_bound schedule({1.0, 1.5, 4.0});
    CHECK(ratio_at(schedule, model, 0.0) == 1.0);
    CHECK(ratio_at(schedule, model, 4096.0) == 1.0);
    CHECK(ratio_at(schedule, model, 4097.0) == 1.5);
    CHECK(ratio_at(schedule, model, 6144.0) == 1.5);
    CHECK(ratio_at(schedule, model, 6145.0) == 4.0);
    CHECK(ratio_at(schedule, model, 16384.0) == 4.0);
    CHECK(schedule.index(model, 6144.0) == 1);
}

TEST_CASE("schedule/schedules: nearest_upper_bound: beyond the largest t_k it stays there") {
    const nearest_upper_bound schedule({2.0, 8.0});
    CHECK(ratio_at(schedule, model, 32769.0) == 8.0);
    CHECK(ratio_at(schedule, model, 1e9) == 8.0);
    CHECK(ratio_at(nearest_upper_bound({3.0}), model, 1.0) == 3.0);
}

TEST_CASE(
    "schedule/schedules: nearest_upper_bound: whole t_k are exact at every edge, and nothing lies below the length") {
    std::vector<double> whole;
    for (int k = 1; k <= 64; ++k) whole.push_back(k);
    const nearest_upper_bound schedule(whole);
    for (int seq_len = 1; seq_len <= 64 * 4096; seq_len += 61) {
        CHECK(ratio_at(schedule, model, seq_len) == (seq_len + 4095) / 4096);
    }
}

TEST_CASE("schedule/schedules: nearest_upper_bound: bad lists are refused when made") {
    CHECK_THROWS_WITH_AS(nearest_upper_bound({}), "nearest_upper_bound: cached_t [] must hold at least one t",
                         value_error);
    CHECK_THROWS_WITH_AS(nearest_upper_bound({1.0, 4.0, 4.0}),
                         "nearest_upper_bound: cached_t[2] 4 must be > cached_t[1] 4", value_error);
    CHECK_THROWS_WITH_AS(nearest_upper_bound({0.5, 1.0}),
                         "nearest_upper_bound: cached_t[0] 0.5 must be finite and >= 1", value_error);
    CHECK_THROWS_AS(nearest_upper_bound({1.0, std::numeric_limits<double>::infinity()}), value_error);
    CHECK_THROWS_AS(nearest_upper_bound({std::numeric_limits<double>::quiet_NaN()}), value_error);
}

TEST_CASE("schedule/schedules: two_regimes: t is 1 up to the original length and another one from the next token on") {
    CHECK(ratio_at(two_regimes{32.0}, model, 1) == 1.0);
    CHECK(ratio_at(two_regimes{32.0}, model, 4096) == 1.0);
    CHECK(ratio_at(two_regimes{32.0}, model, 4097) == 32.0);
    CHECK_THROWS_WITH_AS(ratio_at(two_regimes{1.0}, model, 4097), "two_regimes: beyond 1 must be finite and > 1",
                         value_error);
}

TEST_CASE("schedule/schedules: any_schedule: it gives the t of the schedule that it holds") {
    const std::vector<any_schedule> list{fixed{3.0}, continuous{}, dynamic{2.0}, nearest_upper_bound({1.0, 8.0})};
    const std::vector<double> expected{3.0, 2.0, 3.0, 8.0};
    for (std::size_t i = 0; i < list.size(); ++i) {
        const any_schedule copy = list[i];
        CHECK(ratio_at(copy, model, 8192.0) == expected[i]);
    }
}

TEST_CASE("schedule/schedules: any_schedule: it checks the settings of its schedule") {
    const any_schedule held(fixed{0.0});
    CHECK_THROWS_WITH_AS(validate_schedule(held), "fixed: t 0 must be finite and >= 1", value_error);
    CHECK_THROWS_AS(ratio_at(held, model, 10.0), value_error);
}
