// SPDX-License-Identifier: MIT
#include "cordage/angles/angle_difference.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "cordage/angles/exact_angles.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/yarn.hpp"

using namespace cordage;

namespace {

const rope_config model{.head_dim = 128, .rotary_dim = 128, .original_length = 4096};

}  // namespace

TEST_CASE("angles/angle_difference: many changes of basis and of positions add up to the one change exactly") {
    std::vector<basis> bases;
    std::vector<std::vector<std::int64_t>> ids;
    for (const double t : {1.0, 1.3, 9.0, 4.7, 16.0, 2.0}) {
        bases.push_back(make_basis(model, yarn{}, t));
        ids.push_back({77, -3, static_cast<std::int64_t>(1e9 * t), 0});
    }
    const auto at = [&](std::size_t i) { return exact_angles(bases[i], ids[i]); };
    const auto whole = at(bases.size() - 1) - at(0);
    for (index_t token = 0; token < 4; ++token) {
        for (index_t pair = 0; pair < 64; ++pair) {
            std::uint64_t sum = 0;
            for (std::size_t i = 1; i < bases.size(); ++i) sum += (at(i) - at(i - 1)).phase(0, token, pair);
            CHECK(sum == whole.phase(0, token, pair));
            CHECK(whole.of_token(0, token).phase(pair) == whole.phase(0, token, pair));
        }
    }
    CHECK(whole.attention_factor(0, 1) == bases.back().attention_factor() / bases.front().attention_factor());
}

TEST_CASE("angles/angle_difference: fast frequencies and fractional positions are right too") {
    const basis fast({100.0, 3.0}), slow({1.0, 50.0});
    const std::vector<double> ids{0.5, -0.25, 1234.75};
    const auto change = exact_angles(fast, ids) - exact_angles(slow, ids);
    for (index_t token = 0; token < 3; ++token) {
        for (index_t pair = 0; pair < 2; ++pair) {
            const auto i = static_cast<std::size_t>(pair);
            const auto found = cos_sin_of_phase(change.phase(0, token, pair));
            const double angle = ids[static_cast<std::size_t>(token)] * (fast.inv_freq()[i] - slow.inv_freq()[i]);
            CHECK(found.cos == doctest::Approx(std::cos(angle)).epsilon(1e-11));
            CHECK(found.sin == doctest::Approx(std::sin(angle)).epsilon(1e-11));
        }
    }
}

TEST_CASE("angles/angle_difference: attention factors whose ratio leaves its domain are refused by the check") {
    const basis large({1.0}, 0x1p50), small({1.0}, 0x1p-50);
    const std::vector<std::int32_t> ids{1};
    for (const auto& change :
         {exact_angles(large, ids) - exact_angles(small, ids), exact_angles(small, ids) - exact_angles(large, ids)}) {
        CHECK_THROWS_AS(change.check("test"), value_error);
    }
    CHECK_NOTHROW((exact_angles(large, ids) - exact_angles(large, ids)).check("test"));
}
