// SPDX-License-Identifier: MIT
#include "../../benchmarks/clex/continuous_adjoint.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "cordage/ode/solve_fixed.hpp"
#include "cordage/ode/tableaus.hpp"
#include "ode/order_conditions.hpp"
#include "ode/test_fields.hpp"

using namespace cordage;
using namespace cordage_test;
using benchmarks::continuous_adjoint;
using vector = std::vector<double>;

namespace {

const std::vector<gradient_seed<double>> seeds{
    {0.77, grad_first}, {0.0, grad_second}, {2.0, grad_third}, {0.77, grad_third}};
const adaptive_options tight{.tolerance = {1e-12, 1e-12}};

struct gradients {
    vector z0 = vector(2), parameters = vector(3);
};

gradients continuous(const auto& path, const adaptive_options& options = tight) {
    gradients out;
    continuous_adjoint(path, knotted{}, seeds, {out.z0, out.parameters}, options);
    return out;
}

gradients discrete(const auto& path) {
    gradients out;
    discrete_adjoint(path, knotted{}, seeds, {out.z0, out.parameters});
    return out;
}

double difference(const gradients& x, const gradients& y) {
    double largest = 0.0;
    const auto look = [&](const vector& a, const vector& b) {
        for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
    };
    look(x.z0, y.z0), look(x.parameters, y.parameters);
    return largest;
}

/// knotted with reversed time: dz/dt = -f(-t, z).
struct turned_round : knotted {
    void operator()(double t, std::span<const double> z, std::span<double> dz) const {
        knotted::operator()(-t, z, dz);
        for (double& slope : dz) slope = -slope;
    }
    void vjp(double t, std::span<const double> z, std::span<const double> g, std::span<double> grad_z,
             std::span<double> grad_p) const {
        knotted::vjp(-t, z, vector{-g[0], -g[1]}, grad_z, grad_p);
    }
};

static_assert(recording_field<recording, double> && !recording_field<knotted, double>);

}  // namespace

TEST_CASE("benchmarks/continuous_adjoint: where both solves are tight it is the discrete gradient") {
    const auto path = solve_adaptive(knotted{}, {0.0, 2.0}, z_start, tight);
    CHECK(difference(continuous(path), discrete(path)) < 1e-9);
}

TEST_CASE("benchmarks/continuous_adjoint: backwards in time too") {
    const auto path = solve_adaptive(knotted{}, {2.0, 0.0}, z_start, tight);
    CHECK(difference(continuous(path), discrete(path)) < 1e-9);
}

TEST_CASE("benchmarks/continuous_adjoint: reversed time changes signs and no number, at any tolerance") {
    const adaptive_options loose{.tolerance = {1e-3, 1e-3}};
    auto turned_seeds = seeds;
    for (auto& seed : turned_seeds) seed.t = -seed.t;
    gradients turned;
    continuous_adjoint(solve_adaptive(turned_round{}, {0.0, -2.0}, z_start, loose), turned_round{}, turned_seeds,
                       {turned.z0, turned.parameters}, loose);
    CHECK(difference(turned, continuous(solve_adaptive(knotted{}, {0.0, 2.0}, z_start, loose), loose)) < 1e-13);
}

TEST_CASE_TEMPLATE("benchmarks/continuous_adjoint: its error has the order of the interpolant of z", Tableau,
                   rk4_classic, tsit5, linear_output<rk4_38>) {
    const gradients exact = continuous(solve_adaptive(knotted{}, {0.0, 2.0}, z_start, tight));
    const auto error = [&](index_t steps) {
        return difference(continuous(solve_fixed<Tableau>(knotted{}, {0.0, 2.0}, z_start, equal_steps{steps})), exact);
    };
    // An interpolant of order p has error h^(p+1) within a step, and so has the integral over it.
    const int expected = std::min(Tableau::order, order_of_interpolant<Tableau>() + 1);
    CHECK(std::log2(error(20) / error(40)) > expected - 0.5);
    CHECK(std::log2(error(20) / error(40)) < expected + 1.2);
}

TEST_CASE("benchmarks/continuous_adjoint: its error follows the tolerance") {
    const auto path = solve_adaptive(knotted{}, {0.0, 2.0}, z_start, tight);
    const gradients exact = continuous(path);
    double before = 1.0;
    for (const double allowed : {1e-3, 1e-5, 1e-7}) {
        const double error = difference(continuous(path, {.tolerance = {allowed, allowed}}), exact);
        CHECK(error < 10.0 * allowed);
        CHECK(error < before);
        before = error;
    }
}

TEST_CASE("benchmarks/continuous_adjoint: a field that records gives the same, and results are added") {
    const auto path = solve_adaptive(knotted{}, {0.0, 2.0}, z_start, tight);
    gradients plain = continuous(path), recorded;
    recorded.z0 = {10.0, 20.0}, recorded.parameters = {1.0, 2.0, 3.0};
    continuous_adjoint(path, recording{}, seeds, {recorded.z0, recorded.parameters}, tight);
    for (std::size_t i = 0; i < 2; ++i) recorded.z0[i] -= 10.0 * static_cast<double>(i + 1);
    for (std::size_t i = 0; i < 3; ++i) recorded.parameters[i] -= static_cast<double>(i + 1);
    CHECK(difference(recorded, plain) < 1e-13);
}

TEST_CASE("benchmarks/continuous_adjoint: a backward solve that fails is an error with the status and the remedy") {
    const auto path = solve_adaptive(knotted{}, {0.0, 2.0}, z_start, tight);
    CHECK_THROWS_WITH_AS(
        continuous(path, {.tolerance = {1e-12, 1e-12}, .max_steps = 2}),
        "continuous_adjoint: the backward solve from t 2 to 0.77 failed: "
        "max_steps_reached; raise max_steps or loosen the tolerance; a trajectory holds at most 2^28 numbers",
        cordage::error);
    CHECK_THROWS_AS(continuous(path, {.tolerance = {0.0, 1e-12}}), value_error);
    gradients out;
    const std::vector<gradient_seed<double>> outside{{2.5, grad_first}};
    CHECK_THROWS_WITH_AS(continuous_adjoint(path, knotted{}, outside, {out.z0, out.parameters}),
                         "continuous_adjoint: t 2.5 must be in [0, 2], the solved interval", value_error);
    continuous_adjoint(path, knotted{}, {}, {out.z0, out.parameters});
    CHECK(out.parameters == vector(3, 0.0));
}

// Once, the gradients of successful solves had already been added to the caller's sums.
TEST_CASE("benchmarks/continuous_adjoint: where a solve back fails nothing has been added") {
    const auto path = solve_adaptive(knotted{}, {0.0, 2.0}, z_start, tight);
    const std::vector<gradient_seed<double>> close_ones{{2.0, grad_third}, {2.0 - 1e-6, grad_first}};
    gradients out;
    // One step suffices for the first backward solve, over 1e-6, and not for the second, over 2.
    CHECK_THROWS_AS(continuous_adjoint(path, knotted{}, close_ones, {out.z0, out.parameters},
                                       {.tolerance = {1e-12, 1e-12}, .max_steps = 1}),
                    cordage::error);
    CHECK(out.z0 == vector(2, 0.0));
    CHECK(out.parameters == vector(3, 0.0));
}
