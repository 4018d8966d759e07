// SPDX-License-Identifier: MIT
#include "../../examples/own_methods/dynamic_longrope.hpp"

#include <limits>

#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace own;
using namespace cordage_test;

namespace {

const rope_config model{.head_dim = 8, .rotary_dim = 8, .original_length = 4096};
const dynamic_longrope grown{{0.9, 4.0, 16.0, 64.0}, 32.0};
const double nan_value = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("examples/dynamic_longrope: it grows from alpha 1 to its table at t_max and stays there") {
    for (index_t pair = 0; pair < 4; ++pair) {
        const double factor = grown.factor[static_cast<std::size_t>(pair)];
        CHECK(grown.log_alpha(model, pair, 1.0) == 0.0);
        CHECK(close_relative(std::exp(-grown.log_alpha(model, pair, 16.5)), 1.0 + (factor - 1.0) / 2.0, closed_form));
        for (const double t : {32.0, 100.0}) {
            CHECK(close_relative(std::exp(-grown.log_alpha(model, pair, t)), factor, closed_form));
        }
        CHECK(grown.log_alpha_rate(model, pair, 33.0) == 0.0);
    }
    CHECK(attention_factor(grown, model, 1.0) == 1.0);
    CHECK(attention_factor(grown, model, 100.0) == longrope_attention_factor(32.0, 4096.0));
    CHECK(attention_factor_rate(grown, model, 100.0) == 0.0);
}

TEST_CASE("examples/dynamic_longrope: derivatives") {
    for (const double t : {1.7, 4.0, 7.25, 30.0}) {
        for (index_t pair = 0; pair < 4; ++pair) {
            const double rate = difference([&](double at) { return grown.log_alpha(model, pair, at); }, t);
            CHECK(close(grown.log_alpha_rate(model, pair, t), rate, first_difference));
        }
        const double rate = difference([&](double at) { return attention_factor(grown, model, at); }, t);
        CHECK(close(attention_factor_rate(grown, model, t), rate, first_difference));
    }
}

TEST_CASE("examples/dynamic_longrope: settings out of their domain are named") {
    CHECK_THROWS_WITH_AS(validate(dynamic_longrope{{1, 1, 1, 1}, 1.0}, model),
                         "dynamic_longrope: t_max 1 must be finite and > 1", value_error);
    CHECK_THROWS_AS(validate(dynamic_longrope{{1, 1, nan_value, 1}, 4.0}, model), value_error);
    rope_config one = model;
    one.original_length = 1.0;
    CHECK_THROWS_WITH_AS(validate(grown, one), "dynamic_longrope: original_length 1 must be > 1", value_error);
}
