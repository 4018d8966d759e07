// SPDX-License-Identifier: MIT
#include "cordage/clex/initial_weights.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <numeric>

using namespace cordage;

TEST_CASE("clex/initial_weights: the first weights are the same everywhere, normal in size, and their W_down is zero") {
    const rope_config config{128, 128, 10000.0, 4096.0};
    const auto weights = clex_initial_weights(config, 2, 7);
    CHECK(weights.hidden == 256);
    CHECK(weights.pairs == 64);
    REQUIRE(weights.up.size() == 256 * 64);
    CHECK(weights.down == std::vector<double>(64 * 256, 0.0));
    const double n = 256 * 64;
    const double mean = std::accumulate(weights.up.begin(), weights.up.end(), 0.0) / n;
    const double square = std::inner_product(weights.up.begin(), weights.up.end(), weights.up.begin(), 0.0) / n;
    CHECK(std::abs(mean) < 4.0 / 8.0 / std::sqrt(n));
    CHECK(std::sqrt(square) == doctest::Approx(1.0 / 8.0).epsilon(0.02));
    CHECK(weights == clex_initial_weights(config, 2, 7));
    CHECK(weights.up != clex_initial_weights(config, 2, 8).up);
    // mt19937_64 with its default seed is fixed by the C++ standard, and so is all arithmetic after it.
    const auto first = clex_initial_weights({2, 2, 10000.0, 64.0}, 1, std::mt19937_64::default_seed).up;
    std::mt19937_64 generator;
    double sum = 0.0;
    for (int i = 0; i < 6; ++i) {
        const auto bits = generator();
        sum += static_cast<double>(bits >> 32) + static_cast<double>(bits & 0xffff'ffffu);
    }
    CHECK(first.at(0) == (sum - 6.0 * 4294967295.0) / 4294967296.0);
}

TEST_CASE("clex/initial_weights: lambda out of its domain is named") {
    const rope_config config{12, 12, 10000.0, 64.0};
    CHECK_THROWS_WITH_AS(clex_initial_weights(config, 0, 1), "clex_initial_weights: lambda 0 must be >= 1 and <= 1024",
                         value_error);
    constexpr index_t huge = std::numeric_limits<index_t>::max();
    CHECK_THROWS_WITH_AS(clex_initial_weights(config, huge, 1),
                         "clex_initial_weights: lambda 9223372036854775807 must be >= 1 and <= 1024", value_error);
}
