// SPDX-License-Identifier: MIT
#include "cordage/pair/cos_sin.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "pair/exact_phase.hpp"
#include "pair/lanes.hpp"
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

TEST_CASE("pair/cos_sin: right to a double's rounding over the whole circle") {
    double worst = 0.0;
    for (std::uint64_t i = 0; i < (1u << 17); ++i) worst = std::max(worst, error_at(i << 47));
    std::mt19937_64 random(1);
    for (int i = 0; i < 100'000; ++i) worst = std::max(worst, error_at(random()));
    CHECK(worst < cos_sin_double);
}

TEST_CASE("pair/cos_sin: right on both sides of every eighth of a turn, where the reduction changes") {
    double worst = 0.0;
    for (std::uint64_t eighth = 0; eighth < 8; ++eighth) {
        for (const std::uint64_t beside : {0ull, 1ull, 2ull, 1ull << 20, ~0ull, ~1ull, ~0ull << 20}) {
            worst = std::max(worst, error_at((eighth << 61) + beside));
        }
    }
    CHECK(worst < cos_sin_double);
}

TEST_CASE("pair/cos_sin: quarters of a turn are exact, and tiny angles keep their digits") {
    const auto is = [](std::uint64_t phase, double c, double s) {
        return cos_sin_of_phase(phase).cos == c && cos_sin_of_phase(phase).sin == s;
    };
    CHECK(is(0, 1.0, 0.0));
    CHECK(is(1ull << 62, 0.0, 1.0));
    CHECK(is(2ull << 62, -1.0, 0.0));
    CHECK(is(3ull << 62, 0.0, -1.0));
    CHECK(std::fabs(cos_sin_of_phase(1).sin / (2.0 * std::numbers::pi * 0x1p-64) - 1.0) < cos_sin_double);
}

TEST_CASE("pair/cos_sin: the opposite rotation only flips the sine") {
    std::mt19937_64 random(2);
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t phase = random();
        CHECK(cos_sin_of_phase(phase).cos == cos_sin_of_phase(~phase + 1).cos);
        CHECK(cos_sin_of_phase(phase).sin == -cos_sin_of_phase(~phase + 1).sin);
    }
}

TEST_CASE("pair/cos_sin: an angle in radians is reduced exactly, however large") {
    for (const double angle : {0.0, 1.0, -1.0, 3.14159, 1e5, -1e5, 1e15, 6381956970095103.0 * 0x1p+8}) {
        const long double exact = exact_angle(1, angle);
        CHECK(std::fabs(cos_sin_of(angle).cos - static_cast<double>(std::cos(exact))) < cos_sin_double);
        CHECK(std::fabs(cos_sin_of(angle).sin - static_cast<double>(std::sin(exact))) < cos_sin_double);
    }
}

// The doubles nearest to multiples of pi/4 and their neighbours, where the sine or the cosine is smallest and a bad
// reduction has its largest error.
TEST_CASE("pair/cos_sin: near multiples of an eighth of a turn, in float and in double, small ones with all digits") {
    const auto check = []<class Real>(Real angle) {
        const long double exact = exact_angle(1, angle);
        const cos_sin<double> found = cos_sin_of(angle);
        CAPTURE(static_cast<double>(angle));
        CHECK(std::fabs(found.cos - static_cast<double>(std::cos(exact))) < cos_sin_double);
        CHECK(std::fabs(found.sin - static_cast<double>(std::sin(exact))) < cos_sin_double);
    };
    for (std::int64_t k = 1; k < (std::int64_t{1} << 60); k = k * 7 / 5 + 1) {
        for (const double sign : {1.0, -1.0}) {
            const double near = sign * static_cast<double>(k) * (std::numbers::pi / 4.0);
            for (const double away : {0.0, 1e300, -1e300}) {
                const double angle = away == 0.0 ? near : std::nextafter(near, away);
                check(angle);
                check(static_cast<float>(angle));
            }
        }
    }
    for (double tiny = 0.7499; tiny > 1e-300; tiny *= 0.9) {
        for (const double angle : {tiny, -tiny}) {
            CHECK(std::fabs(cos_sin_of(angle).sin / std::sin(angle) - 1.0) < cos_sin_double);
            const auto in_float = static_cast<float>(angle);
            if (tiny > 1e-37) {
                CHECK(std::fabs(cos_sin_of(in_float).sin / std::sin(static_cast<double>(in_float)) - 1.0) <
                      cos_sin_double);
            }
        }
    }
    CHECK(cos_sin_of(0.0).sin == 0.0);
    CHECK(cos_sin_of(-0.0f).cos == 1.0);
}

namespace {

// Phases over the whole circle, and at and beside every eighth of a turn.
std::vector<std::uint32_t> phases() {
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < (1u << 12); ++i) all.push_back(i << 20);
    for (std::uint32_t eighth = 0; eighth < 8; ++eighth) {
        for (const std::uint32_t beside : {0u, 1u, 2u, 1u << 10, ~0u, ~1u, ~0u << 10}) {
            all.push_back((eighth << 29) + beside);
        }
    }
    std::mt19937 random(8);
    for (int i = 0; i < 20'000; ++i) all.push_back(static_cast<std::uint32_t>(random()));
    return all;
}

// Results for lanes of 32-bit phases; a word lane is as wide as a float lane.
template <class Lane>
void check_phase32(double allowed) {
    using word = typename lane_traits<Lane>::word;
    constexpr std::size_t size = lane_of<Lane>::size;
    const auto all = phases();
    double worst = 0.0;
    for (std::size_t first = 0; first + size <= all.size(); first += size) {
        const cos_sin<Lane> at = cos_sin_of_phase32<Lane>(lane_of<word>::load(all.data() + first));
        float c[size], s[size];
        lane_of<Lane>::store(at.cos, c);
        lane_of<Lane>::store(at.sin, s);
        for (std::size_t i = 0; i < size; ++i) {
            const cos_sin<double> exact = cos_sin_of_phase(std::uint64_t{all[first + i]} << 32);
            worst = std::max({worst, std::fabs(static_cast<double>(c[i]) - exact.cos),
                              std::fabs(static_cast<double>(s[i]) - exact.sin)});
        }
    }
    CHECK(worst < allowed);
}

// The same of doubles and 64-bit phases: against long double, and small sines with all digits.
template <class Lane>
void check_phase64() {
    using word = typename lane_traits<Lane>::word;
    constexpr std::size_t size = lane_of<Lane>::size;
    std::vector<std::uint64_t> all;
    for (const std::uint32_t phase : phases()) all.push_back((std::uint64_t{phase} << 32) | (phase * 0x9e37'79b9u));
    for (const std::uint32_t phase : phases()) all.push_back(std::uint64_t{phase} << 32);
    for (int bit = 0; bit < 61; ++bit) all.push_back(1ull << bit), all.push_back(~0ull << bit);
    while (all.size() % size != 0) all.push_back(1);
    for (std::size_t first = 0; first + size <= all.size(); first += size) {
        const cos_sin<Lane> at = cos_sin_of_phase<Lane>(lane_of<word>::load(all.data() + first));
        double c[size], s[size];
        lane_of<Lane>::store(at.cos, c);
        lane_of<Lane>::store(at.sin, s);
        for (std::size_t i = 0; i < size; ++i) {
            const auto phase = static_cast<std::int64_t>(all[first + i]);
            const long double angle = static_cast<long double>(phase) * 0x1p-63L * std::numbers::pi_v<long double>;
            const auto cosine = static_cast<double>(std::cos(angle)), sine = static_cast<double>(std::sin(angle));
            CAPTURE(phase);
            REQUIRE(std::fabs(c[i] - cosine) < cos_sin_double);
            REQUIRE(std::fabs(s[i] - sine) < cos_sin_double);
            if (std::fabs(sine) < 0.5 && cosine > 0.0)
                REQUIRE(std::fabs(s[i] - sine) <= cos_sin_double * std::fabs(sine));
        }
    }
}

}  // namespace

TEST_CASE("pair/cos_sin: doubles of a 64-bit phase are right over the whole circle, one by one and in every vector") {
    for_each_lane_type<double>([]<class Lane>() { check_phase64<Lane>(); });
}

TEST_CASE("pair/cos_sin: floats of a 32-bit phase are right over the whole circle, one by one and in every vector") {
    check_phase32<float>(cos_sin_float);
#if defined(CORDAGE_HAS_SIMD)
    for_each_arch([]<class Arch>(Arch) {  // kernels use them if products and sums are fused
        constexpr bool is_fused = backend::simd_detail::has_fused_multiply_add<Arch>;
        check_phase32<xsimd::batch<float, Arch>>(is_fused ? cos_sin_float : 1.25 * cos_sin_float);
    });
#endif
    const auto is = [](std::uint32_t phase, float c, float s) {
        const auto at = cos_sin_of_phase32<float>(phase);
        return at.cos == c && at.sin == s;
    };
    CHECK(is(0, 1.0f, 0.0f));
    CHECK(is(1u << 30, 0.0f, 1.0f));
    CHECK(is(2u << 30, -1.0f, 0.0f));
    CHECK(is(3u << 30, 0.0f, -1.0f));
}
