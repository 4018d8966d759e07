// SPDX-License-Identifier: MIT
#include "model/recipes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/tempered.hpp"

using namespace demo;

namespace {

reading with_temperature(own_numbers own) {
    return {.policy = cordage::tempered{cordage::linear{}, cordage::log_scaling_temperature(128.0)}, .own = own};
}

}  // namespace

TEST_CASE("study/recipes: at one t, the budget pays for the steps of the settings") {
    const settings s = settings_of("small");
    generator draw = stream(1, 1);
    const learning_step step = draw_step(draw, s, {8.0, 8.0});
    CHECK(step.t == 8.0);
    CHECK(step.length == 1024);
    CHECK(step.windows == 2);
    CHECK(step.token_forwards() * s.learning.steps == s.budget());
}

TEST_CASE("study/recipes: over a range of t, every octave comes alike, in steps of about as many tokens") {
    const settings s = settings_of("small");
    const learned_t by{1.0, 16.0};
    generator draw = stream(1, 1);
    std::map<int, int> octaves;
    constexpr int steps = 4000;
    for (int i = 0; i < steps; ++i) {
        const learning_step step = draw_step(draw, s, by);
        REQUIRE(step.t >= 1.0);
        REQUIRE(step.t <= 16.0);
        CHECK(static_cast<double>(step.length) == step.t * 128.0);  // the basis is that of the very length
        CHECK(step.length * step.windows <= 2048);
        CHECK(2 * step.length * step.windows > 2048);
        ++octaves[std::min(3, std::ilogb(step.t))];
    }
    for (int octave = 0; octave < 4; ++octave) CHECK(std::abs(octaves[octave] - steps / 4) < steps / 20);
}

TEST_CASE("study/recipes: numbers are the policy's, once or by layer, and exponents by head that begin at 0") {
    const settings s = settings_of("small");
    const std::vector<double> own = with_temperature(own_numbers::none).policy.parameters();
    REQUIRE(own.size() == 2);
    CHECK(first_numbers(s, with_temperature(own_numbers::none)) == own);
    std::vector<double> by_head = own;
    by_head.resize(2 + 16);
    CHECK(first_numbers(s, with_temperature(own_numbers::temperature_of_head)) == by_head);
    CHECK(first_numbers(s, with_temperature(own_numbers::all_of_layer)) ==
          std::vector<double>{own[0], own[1], own[0], own[1], own[0], own[1], own[0], own[1]});
}

TEST_CASE("study/recipes: what is usual adds nothing to settings' line, anything else does") {
    const settings s = settings_of("small");
    CHECK(described(s, learned_t{8.0, 8.0}).empty());
    CHECK(described(s, learned_t{8.0, 16.0}) == " t 8,16");

    CHECK(described(s, reading{cordage::linear{}}).empty());
    CHECK(described(s, reading{cordage::linear{}, cordage::fixed{4.0}}) == " t at L 4");
    CHECK(described(s, with_temperature(own_numbers::all_of_layer)) == " own 2");
}
