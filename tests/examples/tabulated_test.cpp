// SPDX-License-Identifier: MIT
#include "../../examples/own_methods/tabulated.hpp"

#include <cmath>
#include <limits>

#include "cordage/scaling/by_parts.hpp"
#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace own;
using namespace cordage_test;

namespace {

const rope_config model{.head_dim = 6, .rotary_dim = 6, .original_length = 64};
const std::vector<double> knots{1.0, 2.0, 8.0, 32.0};
//                                pair 0 falls, pair 1 is flat and then falls fast, pair 2 falls and rises
const std::vector<double> alpha{1.0, 1.0, 1.0, 0.9, 1.0, 0.5, 0.3, 0.98, 0.7, 0.1, 0.05, 0.6};
const double nan_value = std::numeric_limits<double>::quiet_NaN();

double value(const tabulated& table, index_t pair, double t) { return std::exp(table.log_alpha(model, pair, t)); }

}  // namespace

TEST_CASE("examples/tabulated: the given alpha are met at their t and held outside") {
    const tabulated table(knots, alpha);
    CHECK_NOTHROW(validate(table, model));
    for (index_t pair = 0; pair < 3; ++pair) {
        for (std::size_t k = 0; k < knots.size(); ++k) {
            CHECK(close_relative(value(table, pair, knots[k]), alpha[3 * k + static_cast<std::size_t>(pair)], 1e-13));
        }
        CHECK(close_relative(value(table, pair, 500.0), alpha[9 + static_cast<std::size_t>(pair)], 1e-13));
        CHECK(table.log_alpha_rate(model, pair, 500.0) == 0.0);
    }
    const tabulated late({4.0, 8.0}, {0.5, 0.25});
    CHECK(close_relative(value(late, 0, 1.0), 0.5, 1e-13));
    CHECK(late.log_alpha_rate(model, 0, 1.0) == 0.0);
}

TEST_CASE("examples/tabulated: between two t alpha stays between their alpha, which a free cubic would leave") {
    const tabulated table(knots, alpha);
    for (index_t pair = 0; pair < 3; ++pair) {
        for (std::size_t k = 0; k + 1 < knots.size(); ++k) {
            double before = alpha[3 * k + static_cast<std::size_t>(pair)];
            const double last = alpha[3 * (k + 1) + static_cast<std::size_t>(pair)];
            const double direction = last >= before ? 1.0 : -1.0;
            for (int i = 1; i <= 200; ++i) {
                const double t = knots[k] * std::pow(knots[k + 1] / knots[k], i / 200.0);
                const double now = value(table, pair, std::min(t, knots[k + 1]));
                CHECK(direction * (now - before) >= -1e-14);
                before = now;
            }
        }
    }
}

TEST_CASE("examples/tabulated: the rate is the derivative, and continuous at inner t") {
    const tabulated table(knots, alpha);
    for (const double t : {1.4, 3.0, 7.0, 20.0}) {
        for (index_t pair = 0; pair < 3; ++pair) {
            const double rate = difference([&](double at) { return table.log_alpha(model, pair, at); }, t);
            CHECK(close(table.log_alpha_rate(model, pair, t), rate, first_difference));
        }
    }
    for (const double t : {2.0, 8.0}) {
        for (index_t pair = 0; pair < 3; ++pair) {
            const double jump =
                table.log_alpha_rate(model, pair, t * (1 + 1e-10)) - table.log_alpha_rate(model, pair, t * (1 - 1e-10));
            CHECK(std::fabs(jump) < 1e-8);
        }
    }
}

// PchipInterpolator of SciPy 1.17 over ln t and ln alpha.
TEST_CASE("examples/tabulated: between t at uneven distances it is SciPy's PCHIP, limited end slopes included") {
    const tabulated table(knots, alpha), limited({1.0, 2.0, 4.0}, {1.0, 0.99, 2.0});
    const auto check = [](const tabulated& of, index_t pair, double t, double expected) {
        CHECK(close(of.log_alpha(model, pair, t), expected, closed_form));
    };
    check(table, 0, 1.4, -0.030441291992539168);
    check(table, 0, 5.0, -0.7730204034801751);
    check(table, 0, 20.0, -1.9301160292153754);
    check(table, 1, 5.0, -0.00886638655652901);
    check(table, 2, 1.4, -0.45742451973262344);
    check(table, 2, 20.0, -0.41051693377547205);
    check(limited, 0, 1.4, -0.008680962109071516);
    check(limited, 0, 3.0, 0.2797902709127921);
}

TEST_CASE("examples/tabulated: a straight line in ln t is reproduced, and a smooth policy is met closely") {
    std::vector<double> line, smooth, t_k;
    for (int k = 0; k <= 16; ++k) {
        t_k.push_back(std::pow(2.0, k / 4.0));
        for (index_t pair = 0; pair < 3; ++pair) {
            line.push_back(std::pow(t_k.back(), -0.5 * static_cast<double>(pair)));
            smooth.push_back(std::exp(by_parts{}.log_alpha(model, pair, t_k.back())));
        }
    }
    const tabulated straight(t_k, line), met(t_k, smooth);
    for (const double t : {1.1, 3.0, 9.0, 15.0}) {
        for (index_t pair = 0; pair < 3; ++pair) {
            CHECK(close(straight.log_alpha(model, pair, t), -0.5 * static_cast<double>(pair) * std::log(t), 1e-13));
            CHECK(close(met.log_alpha(model, pair, t), by_parts{}.log_alpha(model, pair, t), 1e-3));
        }
    }
}

TEST_CASE("examples/tabulated: one t is a constant, two are a straight line in ln t") {
    CHECK(close_relative(value(tabulated({2.0}, {0.5, 0.25}), 1, 7.0), 0.25, 1e-13));
    CHECK(close_relative(value(tabulated({1.0, 4.0}, {1.0, 0.25}), 0, 2.0), 0.5, 1e-13));
}

TEST_CASE("examples/tabulated: bad tables are one clear error each") {
    CHECK_THROWS_WITH_AS(tabulated({}, {}), "tabulated: knots size 0 must be >= 1", value_error);
    CHECK_THROWS_WITH_AS(tabulated({1.0, 1.0}, {1, 1}), "tabulated: knots[1] 1 must be > 1", value_error);
    CHECK_THROWS_WITH_AS(tabulated({0.5}, {1.0}), "tabulated: knots[0] 0.5 must be finite and >= 1", value_error);
    CHECK_THROWS_WITH_AS(tabulated({1.0, 2.0}, {1, 1, 1}),
                         "tabulated: alpha size 3 must be knots 2 * pairs, pairs >= 1", shape_error);
    // Not {1, 1, 1, 0}: with AVX-512, GCC 12 compiles it to four ones.
    CHECK_THROWS_WITH_AS(tabulated({1.0, 2.0}, {1, 1, 2, 0}), "tabulated: alpha[1, 1] 0 must be finite and > 0",
                         value_error);
    CHECK_THROWS_AS(tabulated({1.0}, {nan_value}), value_error);
    // Two t with equal logarithms led to a division by 0.
    CHECK_THROWS_WITH_AS(tabulated({1e15, std::nextafter(1e15, 2e15), 2e15}, {1, 2, 3}),
                         "tabulated: knots[1] 1000000000000000.1 must differ from 1e+15 by more than the rounding "
                         "of their logarithms",
                         value_error);
    CHECK_THROWS_WITH_AS(validate(tabulated({1.0}, {1, 1}), model), "tabulated: pairs 2 must be rotary_dim/2 = 3",
                         shape_error);
}
