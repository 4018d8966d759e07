// SPDX-License-Identifier: MIT
#include "cordage/scaling/learned_table.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/yarn.hpp"

using namespace cordage;

static_assert(learned_policy<learned_table<>> && prior_policy<learned_table<>>);

namespace {

const rope_config config{8, 6, 10000.0, 64.0};
const std::vector<double> offsets{0.1, -0.2, 0.3, 0.5, 0.0, -0.4};  // [2 knots, 3 pairs]
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

learned_table<by_parts> example() { return learned_table<by_parts>(config, {2.0, 8.0}).with_parameters(offsets); }

}  // namespace

TEST_CASE("scaling/learned_table: without offsets it is its prior, attention factor included") {
    const learned_table<yarn> table(config, {2.0, 4.0, 16.0});
    CHECK(table.parameters() == std::vector<double>(9, 0.0));
    for (const double t : {1.0, 1.7, 4.0, 40.0}) {
        for (index_t pair = 0; pair < 3; ++pair) {
            CHECK(table.log_alpha(config, pair, t) == yarn{}.log_alpha(config, pair, t));
            CHECK(table.log_alpha_rate(config, pair, t) == yarn{}.log_alpha_rate(config, pair, t));
        }
        CHECK(table.attention_factor(config, t) == yarn{}.attention_factor(config, t));
        CHECK(table.attention_factor_rate(config, t) == yarn{}.attention_factor_rate(config, t));
    }
}

TEST_CASE(
    "scaling/learned_table: gated offsets are 0 at t = 1, met at the knots, linear in ln t between, constant beyond") {
    const auto table = example();
    const auto offset = [&](index_t pair, double t) {
        return table.log_alpha(config, pair, t) - by_parts{}.log_alpha(config, pair, t);
    };
    for (index_t pair = 0; pair < 3; ++pair) {
        const double gate = 1.0 / (1.0 + std::pow(10000.0, -static_cast<double>(pair) / 3.0) * 64.0);
        const double low = gate * offsets[static_cast<std::size_t>(pair)],
                     high = gate * offsets[static_cast<std::size_t>(3 + pair)];
        CHECK(offset(pair, 1.0) == 0.0);
        CHECK(offset(pair, 2.0) == doctest::Approx(low).epsilon(1e-12));
        CHECK(offset(pair, std::sqrt(2.0)) == doctest::Approx(low / 2).epsilon(1e-12));
        CHECK(offset(pair, 4.0) == doctest::Approx((low + high) / 2).epsilon(1e-12));
        CHECK(offset(pair, 8.0) == doctest::Approx(high).epsilon(1e-12));
        CHECK(offset(pair, 100.0) == doctest::Approx(high).epsilon(1e-12));
    }
}

TEST_CASE("scaling/learned_table: the rate is the derivative of log alpha") {
    const auto table = example();
    for (const double t : {1.3, 5.0, 20.0}) {
        for (index_t pair = 0; pair < 3; ++pair) {
            const double h = 1e-5;
            const double rate = (table.log_alpha(config, pair, t + h) - table.log_alpha(config, pair, t - h)) / (2 * h);
            CHECK(table.log_alpha_rate(config, pair, t) == doctest::Approx(rate).epsilon(1e-8));
        }
    }
}

TEST_CASE("scaling/learned_table: the vjp is the transposed derivative in the parameters, added to") {
    const auto table = example();
    const std::vector<double> grad{0.7, -1.5, 2.0};
    for (const double t : {1.0, 1.5, 2.0, 3.0, 8.0, 50.0}) {
        std::vector<double> sums(6, 10.0);
        table.log_alpha_vjp(config, t, grad, sums);
        for (std::size_t k = 0; k < 6; ++k) {  // log alpha is linear in the parameters: a step of 1 is exact
            std::vector<double> moved = offsets;
            moved[k] += 1.0;
            const auto pair = static_cast<index_t>(k % 3);
            const double change =
                table.with_parameters(moved).log_alpha(config, pair, t) - table.log_alpha(config, pair, t);
            CHECK(sums[k] - 10.0 == doctest::Approx(grad[k % 3] * change).epsilon(1e-13));
        }
    }
}

TEST_CASE("scaling/learned_table: bad knots, offsets and sizes are one clear error each") {
    using table_type = learned_table<by_parts>;
    CHECK_THROWS_WITH_AS(table_type(config, {}), "learned_table: knots size 0 must be >= 1", value_error);
    CHECK_THROWS_WITH_AS(table_type(config, {1.0, 2.0}), "learned_table: knots[0] 1 must be finite and > 1",
                         value_error);
    const double next = std::nextafter(1000.0, 2000.0);  // whose logarithm is that of 1000: log alpha would jump
    CHECK_THROWS_WITH_AS(
        table_type(config, {1000.0, next}),
        "learned_table: knots[1] 1000.0000000000001 must differ from the knot before in its logarithm, too",
        value_error);
    CHECK_THROWS_WITH_AS(table_type(config, {2.0, 8.0, 4.0}), "learned_table: knots[2] 4 must be finite and > 8",
                         value_error);
    CHECK_THROWS_AS(table_type(config, {2.0, 2.0}), value_error);
    CHECK_THROWS_AS(table_type(config, {nan_value}), value_error);
    CHECK_THROWS_AS(table_type({8, 7, 10000.0, 64.0}, {2.0}), value_error);

    const auto table = example();
    std::vector<double> wrong(5), bad = offsets;
    bad[4] = nan_value;
    CHECK_THROWS_WITH_AS(table.with_parameters(wrong), "learned_table: parameters size 5 must be knots 2 * pairs 3",
                         shape_error);
    CHECK_THROWS_WITH_AS(table.with_parameters(bad), "learned_table: offset[1, 1] nan must be finite", value_error);

    std::vector<double> sums(6), grad(3);
    CHECK_THROWS_AS(table.log_alpha_vjp(config, 2.0, grad, wrong), shape_error);
    CHECK_THROWS_AS(table.log_alpha_vjp(config, 2.0, wrong, sums), shape_error);
    CHECK_THROWS_AS(table.log_alpha_vjp(config, 0.5, grad, sums), value_error);
    CHECK_THROWS_AS(table.log_alpha_vjp({8, 4, 10000.0, 64.0}, 2.0, grad, sums), shape_error);
    CHECK_THROWS_AS(validate(table, rope_config{8, 4, 10000.0, 64.0}), shape_error);
}
