// SPDX-License-Identifier: MIT
#include "cordage/pair/rotate.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "pair/lanes.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

// Six random numbers in columns: c, s, x0, x1, g0, g1; (c, s) is not a unit vector, as with an attention factor.
template <class Real>
struct random_pairs {
    std::vector<Real> c, s, x0, x1, g0, g1;

    explicit random_pairs(std::size_t count) {
        std::mt19937_64 random(7);
        std::uniform_real_distribution<double> number(-2.0, 2.0);
        for (auto* column : {&c, &s, &x0, &x1, &g0, &g1}) {
            for (std::size_t i = 0; i < count; ++i) column->push_back(static_cast<Real>(number(random)));
        }
    }
};
constexpr std::size_t count = 1003;

// A sum of products of numbers up to 2: a few roundings of up to 16.
template <class Real>
constexpr double allowed = 64.0 * std::numeric_limits<Real>::epsilon();

template <class Real>
bool is_close(Real found, long double expected) {
    return std::fabs(static_cast<double>(static_cast<long double>(found) - expected)) <= allowed<Real>;
}

template <class Lane>
void check_formulas() {
    using real = typename lane_of<Lane>::real;
    const random_pairs<real> r(count);
    const auto y0 = by_lanes<Lane>(
        [](Lane c, Lane s, Lane x0, Lane x1) {
            return rotated(cos_sin<Lane>{c, s}, lane_pair<Lane>{x0, x1}).first;
        },
        r.c, r.s, r.x0, r.x1);
    const auto y1 = by_lanes<Lane>(
        [](Lane c, Lane s, Lane x0, Lane x1) {
            return rotated(cos_sin<Lane>{c, s}, lane_pair<Lane>{x0, x1}).second;
        },
        r.c, r.s, r.x0, r.x1);
    const auto only_first = by_lanes<Lane>(
        [](Lane c, Lane s, Lane x0, Lane x1) {
            return rotated_first(cos_sin<Lane>{c, s}, x0, x1);
        },
        r.c, r.s, r.x0, r.x1);
    const auto minus_s = by_lanes<Lane>([](Lane c, Lane s) { return transposed(cos_sin<Lane>{c, s}).sin; }, r.c, r.s);
    const auto same_c = by_lanes<Lane>([](Lane c, Lane s) { return transposed(cos_sin<Lane>{c, s}).cos; }, r.c, r.s);
    const auto angle = by_lanes<Lane>(
        [](Lane sum, Lane g0, Lane g1, Lane a0, Lane a1) {
            return plus_grad_angle(sum, lane_pair<Lane>{g0, g1}, lane_pair<Lane>{a0, a1});
        },
        r.c, r.g0, r.g1, r.x0, r.x1);
    const auto factor = by_lanes<Lane>(
        [](Lane sum, Lane g0, Lane g1, Lane a0, Lane a1) {
            return plus_grad_factor(sum, lane_pair<Lane>{g0, g1}, lane_pair<Lane>{a0, a1});
        },
        r.c, r.g0, r.g1, r.x0, r.x1);
    for (std::size_t i = 0; i < count; ++i) {
        const long double c = r.c[i], s = r.s[i], x0 = r.x0[i], x1 = r.x1[i], g0 = r.g0[i], g1 = r.g1[i];
        REQUIRE(is_close(y0[i], c * x0 - s * x1));
        REQUIRE(is_close(y1[i], s * x0 + c * x1));
        REQUIRE(only_first[i] == y0[i]);
        REQUIRE(minus_s[i] == -r.s[i]);
        REQUIRE(same_c[i] == r.c[i]);
        REQUIRE(is_close(angle[i], c + g1 * x0 - g0 * x1));
        REQUIRE(is_close(factor[i], c + g0 * x0 + g1 * x1));
    }
}

// <R x, g> = <x, R^T g>, and y = R x keeps d<y, g>/dangle = g1 y0 - g0 y1.
template <class Lane>
void check_adjoint() {
    using real = typename lane_of<Lane>::real;
    const random_pairs<real> r(count);
    const auto forth = by_lanes<Lane>(
        [](Lane c, Lane s, Lane x0, Lane x1, Lane g0, Lane g1) {
            const auto y = rotated(cos_sin<Lane>{c, s}, lane_pair<Lane>{x0, x1});
            return plus_grad_factor(Lane(0), lane_pair<Lane>{g0, g1}, y);
        },
        r.c, r.s, r.x0, r.x1, r.g0, r.g1);
    const auto back = by_lanes<Lane>(
        [](Lane c, Lane s, Lane x0, Lane x1, Lane g0, Lane g1) {
            const auto gx = rotated(transposed(cos_sin<Lane>{c, s}), lane_pair<Lane>{g0, g1});
            return plus_grad_factor(Lane(0), lane_pair<Lane>{x0, x1}, gx);
        },
        r.c, r.s, r.x0, r.x1, r.g0, r.g1);
    const auto along = by_lanes<Lane>(  // dR/dangle x = (-y1, y0)
        [](Lane c, Lane s, Lane x0, Lane x1, Lane g0, Lane g1) {
            const auto y = rotated(cos_sin<Lane>{c, s}, lane_pair<Lane>{x0, x1});
            return plus_grad_angle(Lane(0), lane_pair<Lane>{g0, g1}, y);
        },
        r.c, r.s, r.x0, r.x1, r.g0, r.g1);
    for (std::size_t i = 0; i < count; ++i) {
        const long double c = r.c[i], s = r.s[i], x0 = r.x0[i], x1 = r.x1[i], g0 = r.g0[i], g1 = r.g1[i];
        REQUIRE(std::fabs(static_cast<double>(forth[i] - back[i])) <= 4.0 * allowed<real>);
        // (c, s) -> (-s, c) is the derivative by the angle
        REQUIRE(std::fabs(static_cast<double>(along[i]) -
                          static_cast<double>(g0 * (-s * x0 - c * x1) + g1 * (c * x0 - s * x1))) <=
                4.0 * allowed<real>);
    }
}

}  // namespace

TEST_CASE("pair/rotate: every formula, on numbers and on vectors of every instruction set, is that of the paper") {
    const auto check = []<class Lane>() { check_formulas<Lane>(); };
    for_each_lane_type<float>(check);
    for_each_lane_type<double>(check);
}

TEST_CASE("pair/rotate: the transpose is the adjoint, and dL/dangle the derivative along the rotation") {
    const auto check = []<class Lane>() { check_adjoint<Lane>(); };
    for_each_lane_type<float>(check);
    for_each_lane_type<double>(check);
}
