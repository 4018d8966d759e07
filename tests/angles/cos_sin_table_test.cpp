// SPDX-License-Identifier: MIT
#include "cordage/angles/cos_sin_table.hpp"

#include <doctest/doctest.h>

#include <numeric>

using namespace cordage;

namespace {

const basis b({1.0, 0.3, 0.004}, 1.25);
std::vector<std::int32_t> count_up(std::size_t n) {
    std::vector<std::int32_t> p(n);
    std::iota(p.begin(), p.end(), 0);
    return p;
}

template <class T>
void check_equal(const auto& table, const auto& angles) {
    REQUIRE((table.tokens() == angles.tokens() && table.pairs() == angles.pairs() && table.batch() == angles.batch()));
    CHECK(table.attention_factor() == angles.attention_factor());
    for (index_t row = 0; row < angles.batch(); ++row) {
        for (index_t token = 0; token < angles.tokens(); ++token) {
            for (index_t pair = 0; pair < angles.pairs(); ++pair) {
                const auto kept = table.template at<T>(row, token, pair),
                           made = angles.template at<T>(row, token, pair);
                REQUIRE(kept.cos == made.cos);
                REQUIRE(kept.sin == made.sin);
            }
        }
    }
}

}  // namespace

TEST_CASE("angles/cos_sin_table: it holds what the angles give, each rounded once, attention factor folded in") {
    const auto positions = count_up(67);
    const exact_angles angles(b, positions);
    const cos_sin_table<float> in_float(angles);
    const cos_sin_table<double> in_double(angles);
    check_equal<float>(in_float.view(), angles);
    check_equal<double>(in_double.view(), angles);
    CHECK(in_double.view().at<double>(0, 0, 0).cos == 1.25);
    // Rounded once: the float table is the double table, rounded.
    CHECK(in_float.view().at<float>(0, 66, 1).sin == in_double.view().at<float>(0, 66, 1).sin);
}

TEST_CASE("angles/cos_sin_table: rows of a batch keep their own angles, a single row serves every row") {
    const std::vector<double> positions{0.0, 1.0, 2.5, 100.0, 101.0, 102.5};
    const exact_angles angles(b, position_view<double>(positions.data(), 2, 3, 3));
    const cos_sin_table<double> table(angles);
    check_equal<double>(table.view(), angles);
    const cos_sin_table<double> single(exact_angles(b, positions));
    CHECK(single.view().at<double>(5, 4, 2).cos == single.view().at<double>(0, 4, 2).cos);
}

TEST_CASE("angles/cos_sin_table: the same bits whoever fills it, and from either way of making angles") {
    const auto positions = count_up(1000);
    const exact_angles exact(b, positions);
    const float32_angles rounded(b, positions);
    check_equal<float>(cos_sin_table<float>(exact, threads{3}).view(), cos_sin_table<float>(exact).view());
    check_equal<float>(cos_sin_table<float>(rounded).view(), rounded);
}

TEST_CASE("angles/cos_sin_table: no tokens make an empty table") {
    const std::vector<std::int32_t> none;
    const cos_sin_table<float> table(exact_angles(b, none));
    CHECK((table.view().tokens() == 0 && table.view().pairs() == 3));
}
