// SPDX-License-Identifier: MIT
#include "cordage/schedule/dynamic.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "cordage/scaling/ntk_aware.hpp"
#include "cordage/schedule/continuous.hpp"
#include "tolerances.hpp"

using namespace cordage;

namespace {
const rope_config llama2{.head_dim = 128, .rotary_dim = 128, .original_length = 4096};
}

TEST_CASE("schedule/dynamic: t is 1 up to the original length, whatever the factor") {
    for (const double factor : {1.0, 1.1, 2.0, 3.7, 8.1, 1e6}) {
        for (const double seq_len : {0.0, 100.0, 4096.0}) CHECK(ratio_at(dynamic{factor}, llama2, seq_len) == 1.0);
        CHECK(ratio_at(dynamic{factor}, llama2, 4097.0) > 1.0);
    }
}

TEST_CASE("schedule/dynamic: beyond it t grows factor times as fast as the length, and factor 1 is continuous") {
    CHECK(ratio_at(dynamic{2.0}, llama2, 8192.0) == 3.0);
    CHECK(ratio_at(dynamic{2.0}, llama2, 16384.0) == 7.0);
    for (const double seq_len : {1.0, 5000.0, 40960.0}) {
        CHECK(ratio_at(dynamic{}, llama2, seq_len) == ratio_at(continuous{}, llama2, seq_len));
    }
}

// transformers changes the base: theta_base * (s L'/L - (s-1))^(d/(d-2)).
TEST_CASE("schedule/dynamic: ntk_aware on it has the basis of transformers' dynamic rope type") {
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

TEST_CASE("schedule/dynamic: a factor below 1 is refused") {
    CHECK_THROWS_WITH_AS(ratio_at(dynamic{0.5}, llama2, 10.0), "dynamic: factor 0.5 must be finite and >= 1",
                         value_error);
    CHECK_THROWS_AS(ratio_at(dynamic{std::nan("")}, llama2, 10.0), value_error);
}

TEST_CASE("schedule/dynamic: t stays a ratio where a factor is so large that it has no ones") {
    for (const double factor : {1e15, 1e17, 1e300}) CHECK(ratio_at(dynamic{factor}, llama2, 10.0) == 1.0);
    CHECK_THROWS_WITH_AS(ratio_at(dynamic{1e300}, llama2, 1e300), "ratio_at: t inf must be finite and >= 1",
                         value_error);
}
