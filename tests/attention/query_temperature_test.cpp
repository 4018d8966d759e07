// SPDX-License-Identifier: MIT
#include "cordage/attention/score_factors.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace cordage;

namespace {

double step(double blocks, double beta = 0.1) { return 1.0 + beta * std::log(1.0 + blocks); }

}  // namespace

TEST_CASE("attention/query_temperature: Llama 4 counts positions from 1, so a block ends a token earlier") {
    const auto temperature = llama4_temperature();
    for (const double p : {0.0, 1.0, 8190.0}) CHECK(temperature.at(p) == 1.0);
    for (const double p : {8191.0, 8192.0, 16382.0})
        CHECK(temperature.at(p) == doctest::Approx(step(1)).epsilon(1e-15));
    CHECK(temperature.at(16383.0) == doctest::Approx(step(2)).epsilon(1e-15));
    CHECK(temperature.at(10'485'759.0) == doctest::Approx(step(1280)).epsilon(1e-15));
    CHECK(llama4_temperature(4.0, 0.5).at(11.0) == doctest::Approx(step(3, 0.5)).epsilon(1e-15));
}

TEST_CASE("attention/query_temperature: Ministral 3 counts positions from 0") {
    const auto temperature = ministral3_temperature(16384.0);
    for (const double p : {0.0, 8192.0, 16383.0}) CHECK(temperature.at(p) == 1.0);
    for (const double p : {16384.0, 32767.0}) CHECK(temperature.at(p) == doctest::Approx(step(1)).epsilon(1e-15));
    CHECK(temperature.at(262'143.0) == doctest::Approx(step(15)).epsilon(1e-15));
    CHECK(ministral3_temperature(10.0, 0.0).at(1e9) == 1.0);
}

TEST_CASE("attention/query_temperature: numbers out of their domain are named") {
    CHECK_THROWS_WITH_AS(llama4_temperature().at(-1.0), "query_temperature: position -1 must be finite and >= 0",
                         value_error);
    CHECK_THROWS_WITH_AS(llama4_temperature(0.0).at(1.0), "query_temperature: block_length 0 must be finite and > 0",
                         value_error);
    CHECK_THROWS_WITH_AS(ministral3_temperature(8.0, std::nan("")).at(1.0),
                         "query_temperature: beta nan must be finite", value_error);
    CHECK_THROWS_WITH_AS((query_temperature{8.0, 0.1, -2.0}.at(1.0)),
                         "query_temperature: counted_from -2 must be finite and >= 0", value_error);
}
