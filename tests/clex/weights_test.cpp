// SPDX-License-Identifier: MIT
#include "cordage/clex/weights.hpp"

#include <doctest/doctest.h>

#include "cordage/clex/clex.hpp"

using namespace cordage;

TEST_CASE("clex/weights: the flat order is up, then down") {
    const clex_weights weights{1, 2, {1, 2}, {3, 4}};
    const auto flat = flat_parameters(weights);
    CHECK(flat == std::vector<double>{1, 2, 3, 4});
    CHECK(with_flat_parameters(weights, flat) == weights);
    CHECK_THROWS_WITH_AS(with_flat_parameters(weights, std::span(flat).first(3)),
                         "clex_weights: parameters size 3 must be 2 * hidden 1 * pairs 2", shape_error);
}
