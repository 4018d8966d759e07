// SPDX-License-Identifier: MIT
#include "cordage/rotate/cos_sin_table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cordage/basis/basis_list.hpp"
#include "cordage/core/threads.hpp"
#include "tolerances.hpp"

using namespace cordage;

static_assert(angle_source<cos_sin_view<float>> && angle_source<cos_sin_view<double>>);

namespace {

// A view for the statement in which its table is made.
template <class T>
cos_sin_view<T> view_of(const cos_sin_table<T>& table) {
    return table.view();
}

const basis b({1.0, 0.3, 0.004}, 1.25);
std::vector<std::int32_t> count_up(std::size_t n) {
    std::vector<std::int32_t> p(n);
    std::iota(p.begin(), p.end(), 0);
    return p;
}

// Bit for bit; doubles against a source to its stated precision, since a compiler may contract other products and sums
// in a vectorised loop.
template <class T, class Angles>
void check_equal(const auto& table, const Angles& angles) {
    const double allowed = std::same_as<T, double> && !has_cos_sin<Angles> ? 1.25 * cordage_test::cos_sin_double : 0.0;
    REQUIRE((table.tokens() == angles.tokens() && table.pairs() == angles.pairs() && table.batch() == angles.batch()));
    for (index_t row = 0; row < angles.batch(); ++row) {
        for (index_t token = 0; token < angles.tokens(); ++token) {
            CHECK(table.attention_factor(row, token) == angles.attention_factor(row, token));
            for (index_t pair = 0; pair < angles.pairs(); ++pair) {
                const auto kept = table.template at<T>(row, token, pair),
                           made = cos_sin_at<T>(angles, row, token, pair);
                REQUIRE(std::fabs(double{kept.cos} - double{made.cos}) <= allowed);
                REQUIRE(std::fabs(double{kept.sin} - double{made.sin}) <= allowed);
            }
        }
    }
}

}  // namespace

TEST_CASE(
    "rotate/cos_sin_table: with the scalar backend it holds the cos and sin of the angles, each rounded once, times "
    "m") {
    const auto positions = count_up(67);
    const exact_angles angles(b, positions);
    const cos_sin_table<float> in_float(angles, serial{}, backend::scalar{});
    const cos_sin_table<double> in_double(angles, serial{}, backend::scalar{});
    check_equal<float>(in_float.view(), angles);
    check_equal<double>(in_double.view(), angles);
    CHECK(in_double.view().at<double>(0, 0, 0).cos == 1.25);
    // Rounded once: the float table is the double table, rounded.
    CHECK(in_float.view().at<float>(0, 66, 1).sin == in_double.view().at<float>(0, 66, 1).sin);
}

TEST_CASE_TEMPLATE("rotate/cos_sin_table: every backend is correct for all positions and numbers of pairs", P,
                   std::int32_t, std::int64_t, float, double) {
    for (const std::size_t pairs : {1u, 15u, 16u, 64u, 77u, 150u}) {
        std::vector<double> inv_freq;
        for (std::size_t i = 0; i < pairs; ++i) inv_freq.push_back(std::pow(10000.0, -double(i) / double(pairs)));
        const basis many(inv_freq, 1.25);
        std::vector<P> positions{0, 1, -1, 4095, 16'777'215, -16'777'216};
        if constexpr (std::is_floating_point_v<P>) positions.insert(positions.end(), {P(0.5), P(-1000.25), P(0.001)});
        if constexpr (sizeof(P) == 8) positions.insert(positions.end(), {P(2'147'483'647), P(-4'000'000'000)});
        const exact_angles angles(many, positions);
        const auto worst_of = [&](const auto& table) {
            double worst = 0.0;
            for (index_t token = 0; token < angles.tokens(); ++token) {
                for (index_t pair = 0; pair < angles.pairs(); ++pair) {
                    const auto found = table.view().template at<double>(0, token, pair),
                               expected = cos_sin_at<double>(angles, 0, token, pair);
                    worst = std::max({worst, std::fabs(found.cos - expected.cos), std::fabs(found.sin - expected.sin)});
                }
            }
            return worst;
        };
        // and the rounding of the product with m
        CHECK(worst_of(cos_sin_table<float>(angles)) <= 1.25 * cordage_test::cos_sin_float + 0x1p-24);
        CHECK(worst_of(cos_sin_table<double>(angles)) <= 1.25 * cordage_test::cos_sin_double);
    }
}

TEST_CASE("rotate/cos_sin_table: rows of a batch keep their own angles, a single row serves every row") {
    const std::vector<double> positions{0.0, 1.0, 2.5, 100.0, 101.0, 102.5};
    const exact_angles angles(b, position_view<double>(positions.data(), 2, 3, 3));
    const cos_sin_table<double> table(angles);
    check_equal<double>(table.view(), angles);
    check_equal<double>(view_of(cos_sin_table<double>(angles, serial{}, backend::scalar{})), angles);
    const cos_sin_table<double> single(exact_angles(b, positions));
    CHECK(single.view().at<double>(5, 4, 2).cos == single.view().at<double>(0, 4, 2).cos);
}

TEST_CASE("rotate/cos_sin_table: the same bits for every executor and form of the angles") {
    const auto positions = count_up(1000);
    const exact_angles exact(b, positions);
    const float32_angles rounded(b, positions);
    check_equal<float>(view_of(cos_sin_table<float>(exact, threads{3, 1})), view_of(cos_sin_table<float>(exact)));
    check_equal<float>(view_of(cos_sin_table<float>(rounded)), rounded);
}

TEST_CASE("rotate/cos_sin_table: whole positions in floating point have the bits of integers") {
    const std::vector<std::int32_t> integers{0, 5, -7, 100'000};
    const std::vector<float> floats(integers.begin(), integers.end());
    check_equal<float>(view_of(cos_sin_table<float>(exact_angles(b, floats))),
                       view_of(cos_sin_table<float>(exact_angles(b, integers))));
}

TEST_CASE("rotate/cos_sin_table: no tokens make an empty table") {
    const std::vector<std::int32_t> none;
    const cos_sin_table<float> table(exact_angles(b, none));
    CHECK((table.view().tokens() == 0 && table.view().pairs() == 3));
}

TEST_CASE("rotate/cos_sin_table: every row, and every token, keeps its own basis and attention factor") {
    const basis far({0.5, 0.15, 0.002}, 0.75);
    const basis_list list({&b, &far});
    const std::vector<std::int32_t> ids{0, 7, 100, 3, 4, 5}, of_token{0, 1, 0, 1, 1, 0};
    const position_view<std::int32_t> two_rows(ids.data(), 2, 3, 3);
    const exact_angles rows(list.of_rows(), two_rows), tokens(list.of(of_token, 2), two_rows);
    check_equal<double>(view_of(cos_sin_table<double>(rows)), rows);
    check_equal<double>(view_of(cos_sin_table<double>(tokens)), tokens);
    CHECK(view_of(cos_sin_table<float>(rows)).attention_factor(1, 2) == 0.75);
    CHECK(view_of(cos_sin_table<float>(tokens)).attention_factor(0, 1) == 0.75);
    const exact_angles one_row(list.of(std::span(of_token).first(3)), std::span(ids).first(3));
    const cos_sin_table<double> shared(one_row);
    CHECK(shared.view().attention_factor(5, 1) == 0.75);  // a single row serves every row
}
