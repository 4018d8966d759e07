// SPDX-License-Identifier: MIT
#include "cordage/basis/start_tokens.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "cordage/angles/exact_angles.hpp"
#include "cordage/scaling/yarn.hpp"

using namespace cordage;

namespace {
const rope_config model{.head_dim = 8, .rotary_dim = 8, .original_length = 64};
}

TEST_CASE("basis/start_tokens: positions below count keep the model's basis, the others are scaled, with one factor") {
    const start_tokens chosen(model, yarn{}, 4.0, 3.0);
    const basis scaled = make_basis(model, yarn{}, 4.0), own = make_basis(model, unscaled{}, 1.0);
    const std::vector<double> positions{0.0, 3.0, 2.0, 100.0, 2.5};
    const std::vector<std::int32_t> of_token = chosen.indices(positions);
    CHECK(of_token == std::vector<std::int32_t>{1, 0, 1, 0, 1});
    const exact_angles angles(chosen.bases().of(of_token), positions);
    for (index_t token = 0; token < 5; ++token) {
        const basis& expected = token % 2 == 0 ? own : scaled;
        const double* found = angles.inv_freq(angles.basis_index(0, token));
        CHECK(std::equal(found, found + 4, expected.inv_freq().begin()));
        CHECK(angles.attention_factor(0, token) == scaled.attention_factor());
        for (index_t pair = 0; pair < 4; ++pair) {
            CHECK(angles.phase(0, token, pair) == expected.phase(pair, positions[static_cast<std::size_t>(token)]));
        }
    }
    CHECK(scaled.attention_factor() != 1.0);
    CHECK(chosen.count() == 3.0);
    const start_tokens none(model, yarn{}, 4.0, 0.0);
    CHECK(none.indices(std::vector<std::int32_t>{0, 1, 5}) == std::vector<std::int32_t>{0, 0, 0});
}

TEST_CASE("basis/start_tokens: rows of a batch are read one after the other") {
    const start_tokens chosen(model, yarn{}, 4.0, 2.0);
    const std::vector<std::int64_t> ids{0, 5, 99, 1, 2, 99};
    CHECK(chosen.indices(position_view<std::int64_t>(ids.data(), 2, 2, 3)) == std::vector<std::int32_t>{1, 0, 1, 0});
}

TEST_CASE("basis/start_tokens: a count that is no number of tokens is refused") {
    CHECK_THROWS_WITH_AS(start_tokens(model, yarn{}, 4.0, -1.0), "start_tokens: count -1 must be finite and >= 0",
                         value_error);
    CHECK_THROWS_AS(start_tokens(model, yarn{}, 4.0, std::numeric_limits<double>::quiet_NaN()), value_error);
}
