// SPDX-License-Identifier: MIT
#include "cordage/attention/score_factors.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace cordage;

TEST_CASE("attention/softmax_scale: DeepSeek-V3 at factor 40, and the plain scale without YaRN or mscale_all_dim") {
    const double m = 0.1 * std::log(40.0) + 1.0;
    CHECK(deepseek_score_factor(40.0, 1.0) == doctest::Approx(m * m).epsilon(1e-15));
    CHECK(deepseek_softmax_scale(192, 40.0, 1.0) == doctest::Approx(0.1352337788608801).epsilon(1e-14));
    CHECK(deepseek_softmax_scale(64, 1.0, 1.0) == 0.125);
    CHECK(deepseek_softmax_scale(64, 40.0, 0.0) == 0.125);
}

// Once rejected; the reference's yarn_get_mscale is 1 for scale <= 1.
TEST_CASE("attention/softmax_scale: a factor below 1 leaves scores alone, as in DeepSeek's code") {
    for (const double t : {1e-300, 0.25, 0.5, 1.0}) {
        CHECK(deepseek_score_factor(t, 1.0) == 1.0);
        CHECK(deepseek_softmax_scale(64, t, 0.707) == 0.125);
    }
}

TEST_CASE("attention/softmax_scale: numbers out of their domain are named") {
    CHECK_THROWS_WITH_AS(deepseek_softmax_scale(0, 4.0, 1.0), "deepseek_softmax_scale: qk_head_dim 0 must be >= 1",
                         value_error);
    CHECK_THROWS_WITH_AS(deepseek_score_factor(0.0, 1.0), "deepseek_score_factor: t 0 must be finite and > 0",
                         value_error);
    CHECK_THROWS_AS(deepseek_score_factor(std::numeric_limits<double>::quiet_NaN(), 1.0), value_error);
    CHECK_THROWS_WITH_AS(deepseek_score_factor(4.0, -1.0),
                         "deepseek_score_factor: mscale_all_dim -1 must be finite and >= 0", value_error);
    CHECK_THROWS_AS(deepseek_score_factor(std::numeric_limits<double>::infinity(), 1.0), value_error);
}
