// SPDX-License-Identifier: MIT
#include "cordage/attention/score_factors.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tolerances.hpp"

using namespace cordage;

TEST_CASE("attention/log_scaling: max of 1 and the logarithm of the length to the base of the train length") {
    for (const double seq_len : {1.0, 2.0, 4095.0, 4096.0}) CHECK(log_scaling(seq_len, 4096.0) == 1.0);
    CHECK(std::fabs(log_scaling(16384.0, 4096.0) - 7.0 / 6.0) < cordage_test::closed_form);  // 14 bits over 12
    CHECK(std::fabs(log_scaling(262144.0, 4096.0) - 1.5) < cordage_test::closed_form);
}

TEST_CASE("attention/log_scaling: without the max it shrinks scores of short sequences, to 0 at one token") {
    CHECK(unclamped_log_scaling(1.0, 4096.0) == 0.0);
    CHECK(std::fabs(unclamped_log_scaling(2048.0, 4096.0) - 11.0 / 12.0) < cordage_test::closed_form);
    CHECK(unclamped_log_scaling(8192.0, 4096.0) == log_scaling(8192.0, 4096.0));
}

TEST_CASE("attention/log_scaling: lengths out of their domain are named") {
    CHECK_THROWS_WITH_AS(log_scaling(0.0, 4096.0), "log_scaling: seq_len 0 must be finite and >= 1", value_error);
    CHECK_THROWS_WITH_AS(log_scaling(10.0, 1.0), "log_scaling: train_length 1 must be finite and > 1", value_error);
    CHECK_THROWS_WITH_AS(unclamped_log_scaling(std::nan(""), 8.0),
                         "unclamped_log_scaling: seq_len nan must be finite and >= 1", value_error);
}
