// SPDX-License-Identifier: MIT
#include "cordage/ode/adjoint.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "cordage/ode/solve_adaptive.hpp"
#include "cordage/ode/solve_fixed.hpp"
#include "test_fields.hpp"

using namespace cordage;
using namespace cordage_test;
using vector = std::vector<double>;

namespace {

/// Two seeds inside steps, one of them out of order, and one at the end.
std::vector<gradient_seed<double>> seeds_in(time_interval<double> interval) {
    const auto [begin, end] = interval;
    return {{begin + 0.77 * (end - begin), grad_first}, {begin + 0.13 * (end - begin), grad_second}, {end, grad_third}};
}

double loss_of(const auto& path) {
    double loss = 0.0;
    vector z(2);
    for (const auto& seed : seeds_in(path.interval())) {
        path.at(seed.t, z);
        loss += std::inner_product(z.begin(), z.end(), seed.grad_z.begin(), 0.0);
    }
    return loss;
}

double central_difference(const auto& loss, double x) {
    const double h = 1e-5;
    return (loss(x + h) - loss(x - h)) / (2 * h);
}

static_assert(recording_field<recording, double> && !recording_field<knotted, double>);

}  // namespace

TEST_CASE("ode/field: the discrete gradient is the same with a field that records, and is added") {
    const auto path = solve_fixed<rk4_38>(knotted{}, {0.0, 2.0}, z_start, equal_steps{150});  // more than one record
    vector plain_z0(2), plain_parameters(3), z0{10.0, 20.0}, parameters{1.0, 2.0, 3.0};
    const auto seeds = seeds_in(path.interval());
    discrete_adjoint(path, knotted{}, seeds, {plain_z0, plain_parameters});
    discrete_adjoint(path, recording{}, seeds, {z0, parameters});
    for (std::size_t i = 0; i < 2; ++i)
        CHECK(std::abs(z0[i] - 10.0 * static_cast<double>(i + 1) - plain_z0[i]) < 1e-13);
    for (std::size_t i = 0; i < 3; ++i)
        CHECK(std::abs(parameters[i] - static_cast<double>(i + 1) - plain_parameters[i]) < 1e-13);
}

TEST_CASE("ode/adjoint: the test field's vjp is its Jacobian transposed") {
    const vector g{0.7, -1.1};
    vector grad_z(2), grad_p(3);
    knotted{}.vjp(0.4, z_start, g, grad_z, grad_p);
    const auto pulled = [&](const vector& z) {
        vector dz(2);
        knotted{}(0.4, z, dz);
        return g[0] * dz[0] + g[1] * dz[1];
    };
    for (std::size_t i = 0; i < 2; ++i) {
        const auto moved = [&](double x) { return vector{i == 0 ? x : z_start[0], i == 1 ? x : z_start[1]}; };
        CHECK(grad_z[i] == doctest::Approx(central_difference([&](double x) { return pulled(moved(x)); }, z_start[i])));
    }
}

TEST_CASE_TEMPLATE("ode/adjoint: gradients of a fixed solve are exact for its numbers, seeds between nodes included",
                   Tableau, euler, midpoint, ralston2, heun3, rk4_classic, rk4_38, bosh3, dopri5, tsit5) {
    const double begin = 0.3, end = 2.0;
    const index_t steps = 5;  // coarse: the gradient of the exact flow differs much
    const auto loss = [&](const knotted& f, const vector& z0) {
        return loss_of(solve_fixed<Tableau>(f, {begin, end}, z0, equal_steps{steps}));
    };
    const auto path = solve_fixed<Tableau>(knotted{}, {begin, end}, z_start, equal_steps{steps});
    vector grad_z0(2), grad_p(3);
    discrete_adjoint(path, knotted{}, seeds_in(path.interval()), {grad_z0, grad_p});
    for (std::size_t i = 0; i < 2; ++i) {
        const double expected = central_difference(
            [&](double x) {
                vector z0 = z_start;
                z0[i] = x;
                return loss({}, z0);
            },
            z_start[i]);
        CHECK(grad_z0[i] == doctest::Approx(expected).epsilon(1e-8));
    }
    for (std::size_t i = 0; i < 3; ++i) {
        const double expected = central_difference(
            [&](double x) {
                knotted f;
                f.p[i] = x;
                return loss(f, z_start);
            },
            knotted{}.p[i]);
        CHECK(grad_p[i] == doctest::Approx(expected).epsilon(1e-8));
    }
}

TEST_CASE("ode/adjoint: an adaptive solve at tight tolerance has the gradient of the flow") {
    const adaptive_options tight{.tolerance = {1e-12, 1e-12}};
    const auto loss = [&](const vector& z0) { return loss_of(solve_adaptive(knotted{}, {0.0, 2.0}, z0, tight)); };
    vector grad_z0(2), grad_p(3);
    const auto path = solve_adaptive(knotted{}, {0.0, 2.0}, z_start, tight);
    discrete_adjoint(path, knotted{}, seeds_in(path.interval()), {grad_z0, grad_p});
    const double first = central_difference(
                     [&](double x) {
                         return loss({x, z_start[1]});
                     },
                     z_start[0]),
                 second = central_difference(
                     [&](double x) {
                         return loss({z_start[0], x});
                     },
                     z_start[1]);
    CHECK(grad_z0[0] == doctest::Approx(first).epsilon(1e-6));
    CHECK(grad_z0[1] == doctest::Approx(second).epsilon(1e-6));
}

TEST_CASE("ode/adjoint: one sweep over many seeds is the sum of one sweep each, and results are added") {
    const auto path = solve_fixed<tsit5>(knotted{}, {0.0, 2.0}, z_start, equal_steps{4});
    // At both ends, at a node, twice in one step.
    const std::vector<gradient_seed<double>> seeds{{0.5, grad_first}, {0.0, grad_second}, {2.0, grad_third},
                                                   {1.2, grad_first}, {1.1, grad_third},  {1.0, grad_second}};
    vector together_z(2, 10.0), together_p(3, 20.0), apart_z(2, 10.0), apart_p(3, 20.0);
    discrete_adjoint(path, knotted{}, seeds, {together_z, together_p});
    for (const auto& seed : seeds) discrete_adjoint(path, knotted{}, {{seed}}, {apart_z, apart_p});
    for (std::size_t i = 0; i < 2; ++i) CHECK(together_z[i] == doctest::Approx(apart_z[i]).epsilon(1e-14));
    for (std::size_t i = 0; i < 3; ++i) CHECK(together_p[i] == doctest::Approx(apart_p[i]).epsilon(1e-14));
}

TEST_CASE("ode/adjoint: a seed at the start passes straight through, and nothing past the last seed is touched") {
    const auto path = solve_fixed<rk4_38>(knotted{}, {0.0, 2.0}, z_start, equal_steps{4});
    vector grad_z0(2), grad_p(3);
    const std::vector<gradient_seed<double>> at_start{{0.0, grad_first}};
    discrete_adjoint(path, knotted{}, at_start, {grad_z0, grad_p});
    CHECK(grad_z0 == grad_first);
    CHECK(grad_p == vector(3, 0.0));
    discrete_adjoint(path, knotted{}, {}, {grad_z0, grad_p});
    CHECK(grad_z0 == grad_first);

    struct differentiable_until_one : knotted {
        void vjp(double t, std::span<const double> z, std::span<const double> g, std::span<double> grad_z,
                 std::span<double> grad_p) const {
            CHECK(t <= 1.0);
            knotted::vjp(t, z, g, grad_z, grad_p);
        }
    };
    const std::vector<gradient_seed<double>> inside{{0.75, grad_first}};
    discrete_adjoint(path, differentiable_until_one{}, inside, {grad_z0, grad_p});

    const auto empty = solve_fixed<rk4_38>(knotted{}, {1.0, 1.0}, z_start, equal_steps{4});
    const std::vector<gradient_seed<double>> at_one{{1.0, grad_second}};
    vector grad(2);
    discrete_adjoint(empty, knotted{}, at_one, {grad, grad_p});
    CHECK(grad == grad_second);
}

TEST_CASE("ode/adjoint: wrong sizes, times and failed solves are errors that add nothing") {
    const auto path = solve_fixed<rk4_38>(knotted{}, {0.0, 2.0}, z_start, equal_steps{4});
    vector grad_z0(2), grad_p(3), wrong(1);
    const std::vector<gradient_seed<double>> outside{{1.0, grad_first}, {2.5, grad_first}};
    CHECK_THROWS_WITH_AS(discrete_adjoint(path, knotted{}, outside, {grad_z0, grad_p}),
                         "discrete_adjoint: t 2.5 must be in [0, 2], the solved interval", value_error);
    const std::vector<gradient_seed<double>> fine{{1.0, grad_first}}, narrow{{1.0, wrong}};
    CHECK_THROWS_WITH_AS(discrete_adjoint(path, knotted{}, narrow, {grad_z0, grad_p}),
                         "discrete_adjoint: a seed's grad_z size 1 must be 2", shape_error);
    CHECK_THROWS_AS(discrete_adjoint(path, knotted{}, fine, {wrong, grad_p}), shape_error);
    CHECK_THROWS_AS(discrete_adjoint(path, knotted{}, fine, {grad_z0, wrong}), shape_error);
    const auto failed = solve_adaptive(knotted{}, {0.0, 2.0}, z_start, {.max_steps = 1, .first_step = 0.1});
    for (const auto& some : {fine, {}}) {  // once without an error if there were no seeds
        CHECK_THROWS_AS(discrete_adjoint(failed, knotted{}, some, {grad_z0, grad_p}), cordage::error);
    }
    CHECK(grad_z0 == vector(2, 0.0));
    CHECK(grad_p == vector(3, 0.0));
}
