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

TEST_CASE("clex/weights: rows and columns are each other's transposes, there and back") {
    const clex_row_weights rows{3, 2, {1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}};
    const clex_weights columns = to_columns(rows);
    CHECK(columns == clex_weights{3, 2, {1, 4, 2, 5, 3, 6}, {7, 9, 11, 8, 10, 12}});
    CHECK(to_rows(columns) == rows);
}

TEST_CASE("clex/weights: matrices of another size are named") {
    CHECK_THROWS_WITH_AS(to_columns({3, 2, {1, 2, 3, 4, 5}, {7, 8, 9, 10, 11, 12}}),
                         "to_columns: up size 5 must be 2 * 3", shape_error);
    CHECK_THROWS_WITH_AS(to_rows({3, 2, {1, 2, 3, 4, 5, 6}, {7}}), "to_rows: down size 1 must be 2 * 3", shape_error);
    CHECK_THROWS_AS(to_columns({-3, -2, {1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}}), shape_error);
}
