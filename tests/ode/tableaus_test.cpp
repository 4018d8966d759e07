// SPDX-License-Identifier: MIT
#include "cordage/ode/tableaus.hpp"

#include <doctest/doctest.h>

#include "cordage/ode/solve_adaptive.hpp"
#include "cordage/ode/solve_fixed.hpp"
#include "order_conditions.hpp"
#include "test_fields.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {
/// The midpoint rule with an error in b, which reduces its order.
struct misprinted {
    static constexpr std::string_view name = "misprinted";
    static constexpr int order = 2;
    static constexpr double c[2] = {0.0, 0.5};
    static constexpr double a[2][2] = {{}, {0.5}};
    static constexpr double b[2] = {0.1, 0.9};
};

// [own_tableau]
/// Shu and Osher's rule of order 3 (J. Comput. Phys. 77, 1988), with an embedded Heun rule of order 2.
struct shu_osher3 {
    static constexpr std::string_view name = "shu_osher3";
    static constexpr int order = 3;
    static constexpr int embedded_order = 2;  // these two lines only for adaptive steps
    static constexpr double error[3] = {-1.0 / 3, -1.0 / 3, 2.0 / 3};
    static constexpr double c[3] = {0.0, 1.0, 1.0 / 2};
    static constexpr double a[3][3] = {{}, {1.0}, {1.0 / 4, 1.0 / 4}};
    static constexpr double b[3] = {1.0 / 6, 1.0 / 6, 2.0 / 3};
};
static_assert(is_proved<shu_osher3>() && order_of_embedded<shu_osher3>() == 2);
// [/own_tableau]
}  // namespace

#define ALL_TABLEAUS euler, midpoint, heun2, ralston2, heun3, rk4_classic, rk4_38, bosh3, dopri5, tsit5, shu_osher3

TEST_CASE_TEMPLATE("ode/tableaus: one step of dz/dt = z is the exponential series up to the order", Tableau,
                   ALL_TABLEAUS) {
    const double h = 0.125;
    const std::vector<double> z0{1.0};
    const auto path = solve_fixed<Tableau>(growing{}, {0.0, h}, z0, equal_steps{1});
    double series = 1.0, term = 1.0;
    for (int power = 1; power <= Tableau::order; ++power) series += term *= h / power;
    // Rules with more stages than their order have further terms, smaller than the next one of the series.
    const bool no_more_terms =
        stages_of<Tableau> - (is_fsal<Tableau>() ? 1 : 0) == static_cast<std::size_t>(Tableau::order);
    const double room = no_more_terms ? 1e-15 : term * h;
    CHECK(std::abs(path.state(1)[0] - series) < room);
}

TEST_CASE_TEMPLATE("ode/tableaus: halving the step divides the error by 2^order", Tableau, ALL_TABLEAUS) {
    const std::vector<double> z0{1.0};
    const auto error = [&](index_t steps) {
        const auto path = solve_fixed<Tableau>(swinging{}, {0.0, 2.0}, z0, equal_steps{steps});
        return std::abs(path.state(path.nodes() - 1)[0] - swinging::exact(2.0));
    };
    const double order = std::log2(error(64) / error(128));
    CHECK(order > Tableau::order - 0.15);
    CHECK(order < Tableau::order + 0.6);
}

TEST_CASE("ode/tableaus: a rule of one's own chooses its steps too") {
    const std::vector<double> z0{1.0};
    std::vector<double> z(1);
    const auto path = solve_adaptive<shu_osher3>(swinging{}, {0.0, 2.0}, z0, {.tolerance = {1e-7, 1e-7}});
    REQUIRE(path.status() == solve_status::success);
    for (const double t : {0.3, 1.1, 2.0}) {
        path.at(t, z);
        CHECK(std::abs(z[0] - swinging::exact(t)) < 1e-5);
    }
}

// Here and not beside the definitions: the proofs take longer to compile than all other headers of ode/.
TEST_CASE_TEMPLATE("ode/tableaus: the coefficients have the order that the rule names", Tableau, ALL_TABLEAUS) {
    static_assert(is_proved<Tableau>());
    if constexpr (has_error_weights<Tableau>) static_assert(order_of_embedded<Tableau>() == Tableau::embedded_order);
}

TEST_CASE("ode/tableaus: interpolants have the order of their sources, straight lines order 1") {
    static_assert(order_of_interpolant<bosh3>() == 3);
    static_assert(order_of_interpolant<dopri5>() == 4);
    static_assert(order_of_interpolant<tsit5>() == 4);
    static_assert(is_proved<linear_output<rk4_38>>() && order_of_interpolant<linear_output<rk4_38>>() == 1);
}

TEST_CASE("ode/tableaus: the names are those of the literature, each once") {
    CHECK(euler::name == "euler");
    CHECK(rk4_classic::name == "rk4_classic");
    CHECK(rk4_38::name == "rk4_38");
    CHECK(dopri5::name == "dopri5");
    CHECK(tsit5::name == "tsit5");
}

TEST_CASE("ode/tableaus: the order is proved from the coefficients, so that a misprint does not compile") {
    static_assert(butcher_tableau<misprinted> && !is_proved<misprinted>() && order_of_solution<misprinted>() == 1);
    static_assert(!butcher_tableau<solve_status>);
    static_assert(!is_fsal<rk4_classic>() && fsal_form<rk4_classic>::slopes == 5 && fsal_form<dopri5>::slopes == 7);
    CHECK(order_of_solution<midpoint>() == 2);
    CHECK(order_of_interpolant<euler>() == 1);
    CHECK(order_of_interpolant<rk4_classic>() == 3);
    CHECK(order_of_interpolant<tsit5>() == 4);
}

TEST_CASE("ode/tableaus: linear_output: the nodes are the rule's, with linear interpolation in between") {
    const std::vector<double> z0{1.0};
    const auto plain = solve_fixed<rk4_38>(swinging{}, {0.0, 2.0}, z0, equal_steps{8});
    const auto straight = solve_fixed<linear_output<rk4_38>>(swinging{}, {0.0, 2.0}, z0, equal_steps{8});
    std::vector<double> z(1), slope(1);
    for (std::size_t n = 0; n < 8; ++n) {
        CHECK(straight.state(n)[0] == plain.state(n)[0]);
        const double left = straight.state(n)[0], right = straight.state(n + 1)[0];
        for (const double s : {0.25, 0.9}) {
            straight.at((static_cast<double>(n) + s) * 0.25, z);
            CHECK(z[0] == doctest::Approx((1.0 - s) * left + s * right).epsilon(1e-14));
            straight.slope_at((static_cast<double>(n) + s) * 0.25, slope);
            CHECK(slope[0] == doctest::Approx((right - left) / 0.25).epsilon(1e-13));
        }
    }
}

TEST_CASE("ode/tableaus: linear_output: a rule whose last stage is the next one's first is read in the same way") {
    const std::vector<double> z0{1.0};
    const auto path = solve_fixed<linear_output<dopri5>>(swinging{}, {0.0, 1.0}, z0, equal_steps{2});
    std::vector<double> z(1);
    path.at(0.125, z);
    CHECK(z[0] == doctest::Approx(0.75 * path.state(0)[0] + 0.25 * path.state(1)[0]).epsilon(1e-15));
}
