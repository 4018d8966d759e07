// SPDX-License-Identifier: MIT
#include "../../examples/own_methods/xpos.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace cordage;
using namespace own;

namespace {
const rope_config model{.head_dim = 16, .rotary_dim = 16, .original_length = 64};
}

// golden/baselines.json, d=16 scale_base=512.
TEST_CASE("examples/xpos: zeta and the factor on q are the published ones") {
    CHECK(xpos{}.zeta(model, 0) == doctest::Approx(0.4 / 1.4).epsilon(1e-15));
    CHECK(xpos{}.query_scale(model, 0, 1.0) == doctest::Approx(0.9975561883088727).epsilon(1e-14));
    CHECK(xpos{}.query_scale(model, 7, 512.0) == doctest::Approx(0.9107142857142857).epsilon(1e-14));
}

TEST_CASE("examples/xpos: a score depends on the distance alone and decays with it") {
    const xpos magnitudes;
    for (index_t pair = 0; pair < 8; ++pair) {
        const auto score = [&](double m, double n) {
            return magnitudes.query_scale(model, pair, m) * magnitudes.key_scale(model, pair, n);
        };
        CHECK(score(100.0, 60.0) == doctest::Approx(score(40.0, 0.0)).epsilon(1e-13));
        CHECK(score(7.0, 7.0) == doctest::Approx(1.0).epsilon(1e-15));
        CHECK(score(300.0, 0.0) < score(30.0, 0.0));
    }
}

TEST_CASE("examples/xpos: settings out of their domain are named") {
    CHECK_NOTHROW(xpos{}.validate(model));
    CHECK_THROWS_WITH_AS((xpos{0.0, 512.0}.validate(model)), "xpos: gamma 0 must be finite and > 0", value_error);
    CHECK_THROWS_WITH_AS((xpos{0.4, -1.0}.validate(model)), "xpos: scale_base -1 must be finite and > 0", value_error);
    CHECK_THROWS_AS((xpos{std::numeric_limits<double>::infinity(), 1.0}.validate(model)), value_error);
}
