// SPDX-License-Identifier: MIT
#include "cordage/clex/coordinates.hpp"

#include <doctest/doctest.h>

#include "clex/field_checks.hpp"
#include "clex/golden.hpp"
#include "cordage/clex/released_field.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

const rope_config config{16, 12, 10000.0, 64.0};
const vector origin{0.3, -1.0, 2.0, -2.5, 0.1, -4.0}, z{0.1, -0.9, 0.5, -2.0, 1.5, -3.0};

/// The field of z in the coordinates, and its gradients.
void check_same_field(const clex_weights& weights, double room) {
    const clex_coordinates there(weights, origin);
    released_field<> plain(config, weights), other(config, weights, there);
    const vector y = there.from_z(z);
    CHECK(largest_difference(there.point(y), z) < room);
    vector dz(6), dy(6), grad_z(6), grad_y(6), grad_weights(static_cast<std::size_t>(plain.parameter_count())),
        of_y(grad_weights.size());
    plain(3.3, z, dz);
    other(3.3, y, dy);
    CHECK(largest_difference(there.along(dy), dz) < room);
    const vector g{1.0, -0.5, 0.3, 0.8, -1.2, 0.4};
    const double grad_t = plain.vjp(3.3, z, g, grad_z, grad_weights);
    CHECK(other.vjp(3.3, y, there.gradient(g), grad_y, of_y) == doctest::Approx(grad_t).epsilon(room));
    CHECK(largest_difference(there.gradient_of_z(grad_y), grad_z) < room);
    CHECK(largest_difference(there.parameter_gradient(of_y), grad_weights) < room);
}

}  // namespace

TEST_CASE("clex/coordinates: the field and its gradients are the same ones") {
    check_same_field(dense_weights_for(config), 1e-12);
    CHECK(clex_coordinates(dense_weights_for(config), origin).unit_rows() == 6);
}

TEST_CASE("clex/coordinates: fewer rows of W_up, or only some that differ, leave unit vectors in T") {
    clex_weights narrow{3, 6, vector(18), vector(18, 0.1)};
    for (std::size_t i = 0; i < 18; ++i) narrow.up[i] = std::sin(1.0 + 3.0 * static_cast<double>(i * i));
    check_same_field(narrow, 1e-12);
    CHECK(clex_coordinates(narrow, origin).unit_rows() == 3);

    clex_weights alike = dense_weights_for(config);  // rank 2, and 1 but for a thousandth
    for (std::size_t i = 0; i < alike.up.size(); ++i) {
        const std::size_t of_row = i / 6, of_pair = i % 6;
        const auto row = static_cast<double>(of_row), pair = static_cast<double>(of_pair);
        alike.up[i] = 0.1 * (1.0 + row) * std::cos(pair) + 1e-3 * std::sin(row) * std::sin(pair);
    }
    check_same_field(alike, 1e-12);
    CHECK(clex_coordinates(alike, origin).unit_rows() == 1);

    clex_weights nothing = alike;
    std::ranges::fill(nothing.up, 0.0);
    check_same_field(nothing, 1e-12);
    CHECK(clex_coordinates(nothing, origin).unit_rows() == 0);
}

TEST_CASE("clex/coordinates: the identity coordinates change no bit") {
    const clex_coordinates same(6);
    const auto weights = dense_weights_for(config);
    CHECK(same.weights(weights) == weights);
    CHECK(same.from_z(z) == z);
    CHECK(same.point(z) == z);
    CHECK(same.gradient(z) == z);
}
