// SPDX-License-Identifier: MIT
#include "cordage/basis/start_tokens.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "cordage/scaling/yarn.hpp"

using namespace cordage;

namespace {
const rope_config model{.head_dim = 8, .rotary_dim = 8, .original_length = 64};
}

TEST_CASE("basis/start_tokens: positions below count keep the model's basis, the others are scaled, with one factor") {
    const start_tokens bases(model, yarn{}, 4.0, 3.0);
    const basis scaled = make_basis(model, yarn{}, 4.0), own = make_basis(model, unscaled{}, 1.0);
    for (const double position : {0.0, 2.0, 2.5})
        CHECK(std::ranges::equal(bases.at(position).inv_freq(), own.inv_freq()));
    for (const double position : {3.0, 100.0})
        CHECK(std::ranges::equal(bases.at(position).inv_freq(), scaled.inv_freq()));
    CHECK(bases.at(0).attention_factor() == scaled.attention_factor());
    CHECK(bases.at(9).attention_factor() == scaled.attention_factor());
    const start_tokens none(model, yarn{}, 4.0, 0.0);
    CHECK(std::ranges::equal(none.at(0).inv_freq(), scaled.inv_freq()));
    CHECK_THROWS_WITH_AS(start_tokens(model, yarn{}, 4.0, -1.0), "start_tokens: count -1 must be finite and >= 0",
                         value_error);
}
