// SPDX-License-Identifier: MIT
#include "cordage/ode/butcher_tableau.hpp"

#include <doctest/doctest.h>

#include "cordage/ode/solve_fixed.hpp"
#include "cordage/ode/tableaus.hpp"
#include "order_conditions.hpp"
#include "test_fields.hpp"

using namespace cordage;
using namespace cordage::ode_detail;

TEST_CASE_TEMPLATE("ode/dense_output: between nodes the order is the interpolant's", Tableau, euler, midpoint, heun2,
                   ralston2, heun3, rk4_classic, rk4_38, bosh3, dopri5, tsit5) {
    const std::vector<double> z0{1.0};
    const auto error = [&](index_t steps) {
        const auto path = solve_fixed<Tableau>(cordage_test::swinging{}, {0.0, 2.0}, z0, equal_steps{steps});
        double worst = 0.0;
        std::vector<double> z(1);
        for (int i = 0; i <= 1000; ++i) {
            const double t = 0.002 * i;
            path.at(t, z);
            worst = std::max(worst, std::abs(z[0] - cordage_test::swinging::exact(t)));
        }
        return worst;
    };
    const double order = std::log2(error(20) / error(40));
    // The cubic's local error h^4 is visible between the nodes of a rule of higher order.
    const int expected = std::min(Tableau::order, cordage_test::order_of_interpolant<Tableau>() + 1);
    CHECK(order > expected - 0.3);
    CHECK(order < expected + 0.7);
}

TEST_CASE_TEMPLATE("ode/dense_output: it meets the state and the slope at both ends", Tableau, euler, rk4_38, dopri5,
                   tsit5) {
    using form = fsal_form<Tableau>;
    const auto begin = dense_weights<Tableau>(0.0), end = dense_weights<Tableau>(1.0);
    const auto begin_rate = dense_weight_rates<Tableau>(0.0), end_rate = dense_weight_rates<Tableau>(1.0);
    for (std::size_t i = 0; i < form::slopes; ++i) {
        CHECK(begin[i] == 0.0);
        CHECK(end[i] == form::b(i));
        CHECK(begin_rate[i] == (i == 0 ? 1.0 : 0.0));
        CHECK(end_rate[i] == (i == form::last ? 1.0 : 0.0));
    }
}

TEST_CASE_TEMPLATE("ode/dense_output: the rates are the derivative of the weights", Tableau, heun2, bosh3, dopri5,
                   tsit5) {
    for (const double s : {0.1, 0.37, 0.8}) {
        const double h = 1e-5;
        const auto above = dense_weights<Tableau>(s + h), below = dense_weights<Tableau>(s - h);
        const auto rates = dense_weight_rates<Tableau>(s);
        for (std::size_t i = 0; i < rates.size(); ++i) {
            CHECK(rates[i] == doctest::Approx((above[i] - below[i]) / (2 * h)).epsilon(1e-7));
        }
    }
}
