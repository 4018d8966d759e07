// SPDX-License-Identifier: MIT
#include "cordage/pair/cos_sin.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "basis/exact_phase.hpp"
#include "tolerances.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

double error_at(std::uint64_t phase) {
    const long double angle =
        static_cast<long double>(static_cast<std::int64_t>(phase)) * 0x1p-63L * std::numbers::pi_v<long double>;
    const cos_sin<double> found = cos_sin_of_phase(phase);
    return static_cast<double>(std::max(std::fabs(static_cast<long double>(found.cos) - std::cos(angle)),
                                        std::fabs(static_cast<long double>(found.sin) - std::sin(angle))));
}

}  // namespace

TEST_CASE("angles/cos_sin: right to a double's rounding over the whole circle") {
    double worst = 0.0;
    for (std::uint64_t i = 0; i < (1u << 17); ++i) worst = std::max(worst, error_at(i << 47));
    std::mt19937_64 random(1);
    for (int i = 0; i < 100'000; ++i) worst = std::max(worst, error_at(random()));
    CHECK(worst < cos_sin_double);
}

TEST_CASE("angles/cos_sin: right on both sides of every eighth of a turn, where the reduction changes") {
    double worst = 0.0;
    for (std::uint64_t eighth = 0; eighth < 8; ++eighth) {
        for (const std::uint64_t beside : {0ull, 1ull, 2ull, 1ull << 20, ~0ull, ~1ull, ~0ull << 20}) {
            worst = std::max(worst, error_at((eighth << 61) + beside));
        }
    }
    CHECK(worst < cos_sin_double);
}

TEST_CASE("angles/cos_sin: quarters of a turn are exact, and tiny angles keep their digits") {
    const auto is = [](std::uint64_t phase, double c, double s) {
        return cos_sin_of_phase(phase).cos == c && cos_sin_of_phase(phase).sin == s;
    };
    CHECK(is(0, 1.0, 0.0));
    CHECK(is(1ull << 62, 0.0, 1.0));
    CHECK(is(2ull << 62, -1.0, 0.0));
    CHECK(is(3ull << 62, 0.0, -1.0));
    CHECK(std::fabs(cos_sin_of_phase(1).sin / (2.0 * std::numbers::pi * 0x1p-64) - 1.0) < cos_sin_double);
}

TEST_CASE("angles/cos_sin: turning back only flips the sine") {
    std::mt19937_64 random(2);
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t phase = random();
        CHECK(cos_sin_of_phase(phase).cos == cos_sin_of_phase(~phase + 1).cos);
        CHECK(cos_sin_of_phase(phase).sin == -cos_sin_of_phase(~phase + 1).sin);
    }
}

TEST_CASE("angles/cos_sin: an angle in radians is reduced exactly, however large") {
    for (const double angle : {0.0, 1.0, -1.0, 3.14159, 1e5, -1e5, 1e15, 6381956970095103.0 * 0x1p+8}) {
        const long double exact = exact_angle(1, angle);
        CHECK(std::fabs(cos_sin_of(angle).cos - static_cast<double>(std::cos(exact))) < cos_sin_double);
        CHECK(std::fabs(cos_sin_of(angle).sin - static_cast<double>(std::sin(exact))) < cos_sin_double);
    }
}
