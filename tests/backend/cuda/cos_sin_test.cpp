// SPDX-License-Identifier: MIT
#include "cordage/backend/cuda/cos_sin.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "cordage/pair/phase.hpp"
#include "tolerances.hpp"

using namespace cordage;
using namespace cordage::backend;

TEST_CASE("backend/cuda/cos_sin: within 8e-8 of cos and sin of a phase") {
    const auto check = [](std::uint32_t phase) {
        const cos_and_sin found = cos_sin_of_phase32(phase);
        const long double angle = std::ldexp(static_cast<long double>(phase), -32) * 6.283185307179586476925286766559L;
        REQUIRE(std::fabs(static_cast<double>(found.cos - std::cos(angle))) <= cordage_test::cos_sin_float);
        REQUIRE(std::fabs(static_cast<double>(found.sin - std::sin(angle))) <= cordage_test::cos_sin_float);
    };
    for (std::uint32_t i = 0; i < 50'000; ++i) check(i * 85'899u);
    for (std::uint32_t eighth = 0; eighth < 8; ++eighth) {
        for (std::uint32_t near = 0; near < 64; ++near) check((eighth << 29) + near - 32u);
    }
}

TEST_CASE("backend/cuda/cos_sin: a split position has the phase of the whole one, bit by bit") {
    std::mt19937_64 random(1);
    for (int i = 0; i < 20'000; ++i) {
        const double theta = std::ldexp(static_cast<double>(random() >> 11), i % 60 - 70);
        const turns rate = turns_of(i % 3 == 0 ? -theta : theta);
        const auto whole = static_cast<std::uint64_t>(rate.whole);
        const auto integer = static_cast<std::int64_t>(random()) >> (i % 62);
        REQUIRE(backend::phase_of(split(integer), rate.fraction, &whole) == cordage::phase_of(rate, integer));
        const double real = std::ldexp(static_cast<double>(integer), -(i % 80));
        if (std::fabs(real) >= 0x1p62) continue;
        REQUIRE(backend::phase_of(split(real), rate.fraction, &whole) == cordage::phase_of(rate, real));
    }
}
