// SPDX-License-Identifier: MIT
#include "cordage/basis/basis_list.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "cordage/angles/axis_angles.hpp"
#include "cordage/angles/exact_angles.hpp"
#include "cordage/positions/sections.hpp"

using namespace cordage;

namespace {

const basis near({1.0, 0.5, 0.25}), far({0.5, 0.125, 7.5}, 1.5);
const std::vector<std::int32_t> ids{0, 7, 100, 3, 4, 5};
const position_view<std::int32_t> two_rows(ids.data(), 2, 3, 3);

}  // namespace

TEST_CASE("basis/basis_list: every row has the angles and the attention factor of its own basis") {
    const basis_list list({&near, &far});
    CHECK((list.count() == 2 && list.pairs() == 3));
    const exact_angles rows(list.of_rows(), two_rows);
    CHECK((rows.batch() == 2 && rows.tokens() == 3 && rows.pairs() == 3 && rows.bases() == 2));
    CHECK((rows.attention_factor(0, 1) == 1.0 && rows.attention_factor(1, 1) == 1.5));
    CHECK((rows.inv_freq(0)[2] == 0.25 && rows.inv_freq(1)[2] == 7.5));
    CHECK((rows.basis_index(0, 2) == 0 && rows.basis_index(1, 2) == 1));
    CHECK_FALSE(rows.has_basis_of_token());
    CHECK(rows.position(1, 2, 0) == 5.0);
    const exact_angles first(near, position_view<std::int32_t>(ids.data(), 1, 3, 0));
    const exact_angles second(far, position_view<std::int32_t>(ids.data() + 3, 1, 3, 0));
    for (index_t token = 0; token < 3; ++token) {
        for (index_t pair = 0; pair < 3; ++pair) {
            CHECK(rows.phase(0, token, pair) == first.phase(0, token, pair));
            CHECK(rows.phase(1, token, pair) == second.phase(0, token, pair));
            CHECK(rows.of_token(1, token).phase(pair) == second.phase(0, token, pair));
            CHECK(cos_sin_at<double>(rows, 1, token, pair).sin == cos_sin_at<double>(second, 0, token, pair).sin);
        }
    }
}

TEST_CASE("basis/basis_list: one row of positions may serve all bases, and bases may repeat") {
    const basis_list list({&near, &far, &near});
    const exact_angles rows(list.of_rows(), position_view<std::int32_t>(ids.data(), 1, 3, 0));
    CHECK(rows.batch() == 3);
    CHECK(rows.position(2, 1, 0) == 7.0);
    CHECK(rows.phase(0, 1, 2) == rows.phase(2, 1, 2));
    CHECK(rows.phase(0, 1, 2) != rows.phase(1, 1, 2));
    // the stride of a single row is ignored
    const exact_angles strided(list.of_rows(), position_view<std::int32_t>(ids.data(), 1, 3, 3));
    CHECK(strided.position(1, 1, 0) == rows.position(1, 1, 0));
    const basis_list one({&far});  // a single basis serves every row
    CHECK(exact_angles(one.of_rows(), two_rows).phase(1, 0, 1) == far.phase(1, 3));
}

TEST_CASE("basis/basis_list: every token has the basis that its index names, one index for all rows or one a row") {
    const basis_list list({&near, &far});
    const std::vector<std::int32_t> for_all{1, 0, 1}, for_each{1, 0, 1, 0, 0, 1};
    const exact_angles all(list.of(for_all), two_rows), each(list.of(for_each, 2), two_rows);
    CHECK((all.batch() == 2 && all.bases() == 2 && all.has_basis_of_token()));
    for (index_t row = 0; row < 2; ++row) {
        for (index_t token = 0; token < 3; ++token) {
            const auto i = static_cast<std::size_t>(token);
            const basis& of_all = for_all[i] == 1 ? far : near;
            const basis& of_each = for_each[static_cast<std::size_t>(row) * 3 + i] == 1 ? far : near;
            CHECK(all.attention_factor(row, token) == of_all.attention_factor());
            CHECK(each.attention_factor(row, token) == of_each.attention_factor());
            for (index_t pair = 0; pair < 3; ++pair) {
                const std::int32_t position = two_rows.at(row, token);
                CHECK(all.phase(row, token, pair) == of_all.phase(pair, position));
                CHECK(each.phase(row, token, pair) == of_each.phase(pair, position));
                CHECK(each.of_token(row, token).phase(pair) == of_each.phase(pair, position));
            }
        }
    }
    // A single row of positions with an index for each row: the positions serve every row.
    const exact_angles flat(list.of(for_each, 2), position_view<std::int32_t>(ids.data(), 1, 3, 0));
    CHECK((flat.batch() == 2 && flat.phase(1, 2, 1) == far.phase(1, 100)));
    const float32_angles rounded(list.of(for_all), two_rows);
    CHECK(rounded.angle(0, 1, 1) == 3.5f);
    CHECK(rounded.angle(0, 2, 1) == 12.5f);
    // Without tokens, a null index was taken for a basis for each row, so that one row of tensors was rejected.
    const std::vector<std::int32_t> none;
    const exact_angles nobody(list.of(none), none);
    CHECK((nobody.tokens() == 0 && nobody.batch() == 1 && nobody.has_basis_of_token()));
}

TEST_CASE("basis/basis_list: float32 angles are refused by the fastest basis of all") {
    const basis fast({4.0, 1.0, 1.0});
    const basis_list list({&near, &fast});
    const std::vector<double> far_away{0.0, 0x1p61};
    const float32_angles rows(list.of_rows(), position_view<double>(far_away.data(), 2, 1, 1));
    CHECK_THROWS_WITH_AS(rows.check("f"),
                         "f: position_ids[1, 0] 2.305843009213694e+18 must be such that its angles are at most 2^62",
                         value_error);
}

// Once, each row's source called itself row 0.
TEST_CASE("basis/basis_list: a position that is invalid is named with its row of the batch") {
    const basis_list list({&near, &far, &near});
    const std::vector<double> bad{0, 1, 2, 3, 4, std::numeric_limits<double>::quiet_NaN()};
    CHECK_THROWS_WITH_AS(exact_angles(list.of_rows(), position_view<double>(bad.data(), 3, 2, 2)).check("f"),
                         "f: position_ids[2, 1] nan must be finite and below 2^63 in magnitude", value_error);
    const auto blocks = contiguous_axes({2, 1});
    CHECK_THROWS_WITH_AS(axis_angles(near, blocks, axis_major(bad.data(), 2, 1, 3)).check("f"),
                         "f: position_ids[1, 0, 2] nan must be finite and below 2^63 in magnitude", value_error);
}

TEST_CASE("basis/basis_list: an index that names no basis is refused with its token") {
    const basis_list list({&near, &far});
    for (const std::int32_t wrong : {-1, 2, std::numeric_limits<std::int32_t>::max()}) {
        const std::vector<std::int32_t> of_token{1, 0, 1, 0, wrong, 1};
        const std::string text = message("f: basis index of token [1, 1] ", wrong, " must be 0 to 1");
        CHECK_THROWS_WITH_AS(exact_angles(list.of(of_token, 2), two_rows).check("f"), text.c_str(), value_error);
    }
}

TEST_CASE("basis/basis_list: bases that do not fit each other, or are missing, are refused") {
    const basis two_pairs({1.0, 0.5});
    CHECK_THROWS_WITH_AS(basis_list({&near, nullptr}), "basis_list: bases[1] nullptr must point to a basis",
                         shape_error);
    CHECK_THROWS_WITH_AS(basis_list(std::span<const basis* const>()),
                         "basis_list: bases [] must have at least one entry", shape_error);
    CHECK_THROWS_WITH_AS(basis_list({&near, &far, &two_pairs}),
                         "basis_list: bases[2] has rotary_dim 4, must have 6, as bases[0]", shape_error);
}

TEST_CASE("basis/basis_list: bases and indices that do not fit the positions are refused") {
    const basis_list three({&near, &far, &far});
    CHECK_THROWS_WITH_AS(exact_angles(three.of_rows(), two_rows),
                         "exact_angles: 3 bases must be one, or one for each of 2 rows of position_ids", shape_error);
    const std::vector<std::int32_t> four(4), six(6);
    CHECK_THROWS_WITH_AS(exact_angles(three.of(four), two_rows),
                         "exact_angles: the basis of each token [1, 4] must be [1 or batch, tokens] of position_ids "
                         "[2, 3]",
                         shape_error);
    CHECK_THROWS_WITH_AS(exact_angles(three.of(six, 3), position_view<std::int32_t>(ids.data(), 2, 2, 2)),
                         "exact_angles: the basis of each token [3, 2] must be [1 or batch, tokens] of position_ids "
                         "[2, 2]",
                         shape_error);
    CHECK_THROWS_WITH_AS(three.of(four, 3), "basis_list: of_token has 4 entries, must have rows * tokens, rows 3",
                         shape_error);
    CHECK_THROWS_AS(three.of(four, 0), shape_error);
    CHECK_THROWS_AS(exact_angles(three.of_rows(), position_view<std::int32_t>(nullptr, 3, 3, 3)), shape_error);
    CHECK_THROWS_WITH_AS(  // a row before the first was read
        exact_angles(three.of_rows(), position_view<std::int32_t>(ids.data() + 3, 3, 2, -3)),
        "exact_angles: position_ids [1, 3, 2] with strides [0, -3, 1] must have axes >= 1, batch >= 1, tokens >= 0 and "
        "no negative stride",
        shape_error);
    CHECK_THROWS_WITH_AS(
        exact_angles(three.of_rows(), position_view<std::int32_t>(ids.data(), 3, 2, index_t{1} << 62)),
        "exact_angles: position_ids [1, 3, 2] with strides [0, 4611686018427387904, 1] must span at most 2^58 entries",
        shape_error);
}
