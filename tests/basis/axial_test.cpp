// SPDX-License-Identifier: MIT
#include "cordage/basis/axial.hpp"

#include <doctest/doctest.h>

#include "cordage/scaling/power_laws.hpp"

using namespace cordage;

TEST_CASE("basis/axial: the frequencies start anew for every axis, the attention factor stays") {
    const basis both = axial_basis(basis({1.0, 0.1}, 1.5), 3);
    CHECK(std::vector<double>(both.inv_freq().begin(), both.inv_freq().end()) ==
          std::vector<double>{1.0, 0.1, 1.0, 0.1, 1.0, 0.1});
    CHECK(both.attention_factor() == 1.5);
}

// theta_base^(-2i/(head_dim/2)) for rows and again for columns; head_dim 16.
TEST_CASE("basis/axial: a vision encoder's frequencies are those of half a head, twice") {
    const rope_config of_an_axis{.head_dim = 16, .rotary_dim = 8, .original_length = 64};
    const basis both = axial_basis(make_basis(of_an_axis, unscaled{}, 1.0), 2);
    REQUIRE(both.pairs() == 8);
    for (std::size_t pair = 0; pair < 8; ++pair) {
        CHECK(both.inv_freq()[pair] == doctest::Approx(std::pow(10.0, -static_cast<double>(pair % 4))).epsilon(1e-14));
    }
}

TEST_CASE("basis/axial: a number of axes that cannot be is refused") {
    const basis one({1.0});
    CHECK_THROWS_WITH_AS(axial_basis(one, 0), "axial_basis: axes 0 must be 1 to 256", value_error);
    CHECK_THROWS_WITH_AS(axial_basis(one, 257), "axial_basis: axes 257 must be 1 to 256", value_error);
}

TEST_CASE("basis/axial: axes of unequal width have frequencies of their own width, or of bases of their own") {
    const basis all = axial_basis({1, 2, 0, 3}, 256.0);
    const std::vector<double> wanted{1.0, 1.0, 1.0 / 16, 1.0, std::pow(256.0, -1.0 / 3), std::pow(256.0, -2.0 / 3)};
    REQUIRE(all.pairs() == 6);
    for (std::size_t i = 0; i < 6; ++i) CHECK(all.inv_freq()[i] == doctest::Approx(wanted[i]).epsilon(1e-15));
    const basis one({1.0, 0.5}, 1.5), other({0.25}, 1.5);
    const basis both = axial_basis({&one, &other, &one});
    CHECK(std::vector<double>(both.inv_freq().begin(), both.inv_freq().end()) ==
          std::vector<double>{1.0, 0.5, 0.25, 1.0, 0.5});
    CHECK(both.attention_factor() == 1.5);
}

TEST_CASE("basis/axial: bases and widths that do not fit are named") {
    const basis one({1.0}), other({1.0}, 2.0);
    CHECK_THROWS_WITH_AS(axial_basis({&one, &other}),
                         "axial_basis: attention factor 2 of axis 1 must be that of axis 0, 1", value_error);
    CHECK_THROWS_WITH_AS(axial_basis(std::vector<const basis*>{}), "axial_basis: bases [] must have at least one entry",
                         value_error);
    CHECK_THROWS_WITH_AS(axial_basis({&one, nullptr}), "axial_basis: bases[1] nullptr must point to a basis",
                         value_error);
    CHECK_THROWS_WITH_AS(axial_basis({2, -1}, 256.0), "axial_basis: sections[1] -1 must be 0 to 1048576 pairs",
                         value_error);
    CHECK_THROWS_WITH_AS(axial_basis({2, 2}, 1.0), "axial_basis: theta_base 1 must be finite and > 1", value_error);
    CHECK_THROWS_AS(axial_basis({0, 0}, 256.0), value_error);
}
