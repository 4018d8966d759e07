// SPDX-License-Identifier: MIT
#include "cordage/basis/basis_list.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "cordage/angles/axis_angles.hpp"
#include "cordage/rotate/cos_sin_table.hpp"
#include "cordage/positions/sections.hpp"

using namespace cordage;

static_assert(differentiable_angle_source<row_angles<exact_angles<std::int32_t>>>);

namespace {

const basis near({1.0, 0.5, 0.25}), far({0.5, 0.125, 0.03125}, 1.5);
const std::vector<std::int32_t> ids{0, 7, 100, 3, 4, 5};

}  // namespace

TEST_CASE("angles/row_angles: every row has the angles and the attention factor of its own basis") {
    const std::vector<const basis*> chosen{&near, &far};
    const auto sources = exact_angles_of_rows(chosen, position_view<std::int32_t>(ids.data(), 2, 3, 3));
    const row_angles rows(sources);
    CHECK((rows.batch() == 2 && rows.tokens() == 3 && rows.pairs() == 3 && rows.bases() == 2 && rows.axes() == 1));
    CHECK((rows.attention_factor(0) == 1.0 && rows.attention_factor(1) == 1.5));
    CHECK((rows.inv_freq(0)[2] == 0.25 && rows.inv_freq(1)[2] == 0.03125));
    CHECK(rows.position(1, 2, 0) == 5.0);
    const exact_angles first(near, position_view<std::int32_t>(ids.data(), 1, 3, 0));
    const exact_angles second(far, position_view<std::int32_t>(ids.data() + 3, 1, 3, 0));
    for (index_t token = 0; token < 3; ++token) {
        for (index_t pair = 0; pair < 3; ++pair) {
            CHECK(rows.at<double>(0, token, pair).sin == first.at<double>(0, token, pair).sin);
            CHECK(rows.at<double>(1, token, pair).sin == second.at<double>(0, token, pair).sin);
        }
    }
}

TEST_CASE("angles/row_angles: one row of positions may serve all bases, and bases may repeat") {
    const std::vector<const basis*> chosen{&near, &far, &near};
    const auto sources = exact_angles_of_rows(chosen, position_view<std::int32_t>(ids.data(), 1, 3, 0));
    const row_angles rows(sources);
    CHECK(rows.batch() == 3);
    CHECK(rows.position(2, 1, 0) == 7.0);
    CHECK(rows.at<double>(0, 1, 2).cos == rows.at<double>(2, 1, 2).cos);
    CHECK(rows.at<double>(0, 1, 2).cos != rows.at<double>(1, 1, 2).cos);
    // the stride of a single row means nothing
    const auto strided = exact_angles_of_rows(chosen, position_view<std::int32_t>(ids.data(), 1, 3, 3));
    CHECK(row_angles(strided).position(1, 1, 0) == rows.position(1, 1, 0));
}

TEST_CASE("angles/row_angles: a table keeps every row's angles and attention factor") {
    const std::vector<const basis*> chosen{&near, &far};
    const auto sources = exact_angles_of_rows(chosen, position_view<std::int32_t>(ids.data(), 2, 3, 3));
    const row_angles rows(sources);
    const cos_sin_table<double> table(rows);
    for (index_t row = 0; row < 2; ++row) {
        CHECK(table.view().attention_factor(row) == rows.attention_factor(row));
        CHECK(table.view().at<double>(row, 2, 1).cos == rows.at<double>(row, 2, 1).cos);
    }
}

// Each row's source called itself row 0.
TEST_CASE("angles/row_angles: a position that is none is named with its row of the batch") {
    const std::vector<const basis*> chosen{&near, &far, &near};
    const std::vector<double> bad{0, 1, 2, 3, 4, std::numeric_limits<double>::quiet_NaN()};
    const auto sources = exact_angles_of_rows(chosen, position_view<double>(bad.data(), 3, 2, 2));
    CHECK_THROWS_WITH_AS(row_angles(sources).check_positions("f"),
                         "f: position_ids[2, 1] nan must be finite and below 2^63 in magnitude", value_error);
    const auto blocks = contiguous_axes({2, 1});
    const std::vector<axis_angles<double>> axes{{near, blocks, axis_major(bad.data(), 2, 1, 2)},
                                                {far, blocks, axis_major(bad.data() + 2, 2, 1, 2)}};
    CHECK_THROWS_WITH_AS(row_angles(axes).check_positions("f"),
                         "f: position_ids[1, 1, 1] nan must be finite and below 2^63 in magnitude", value_error);
}

TEST_CASE("angles/row_angles: rows that do not fit each other are refused") {
    const auto row_of = [](index_t tokens) { return position_view<std::int32_t>(ids.data(), 1, tokens, 0); };
    using sources = std::vector<exact_angles<std::int32_t>>;
    const basis two_pairs({1.0, 0.5});
    const auto refused = [](const auto& given) { return [&given] { row_angles{given}; }; };
    const sources none, lengths{{near, row_of(3)}, {far, row_of(2)}}, widths{{near, row_of(3)}, {two_pairs, row_of(3)}},
        batches{{near, position_view<std::int32_t>(ids.data(), 2, 3, 3)}};
    CHECK_THROWS_WITH_AS(refused(none)(), "row_angles: sources [] must have one entry a row", shape_error);
    CHECK_THROWS_WITH_AS(refused(lengths)(),
                         "row_angles: sources[1] [batch 1, tokens 2, pairs 3, axes 1] must be [1, 3, 3, 1], as "
                         "sources[0]",
                         shape_error);
    CHECK_THROWS_WITH_AS(refused(widths)(),
                         "row_angles: sources[1] [batch 1, tokens 3, pairs 2, axes 1] must be [1, 3, 3, 1], as "
                         "sources[0]",
                         shape_error);
    CHECK_THROWS_AS(refused(batches)(), shape_error);

    const auto blocks = contiguous_axes({2, 1}), dealt = interleaved_axes({2, 1});
    const auto on_axes = axis_major(ids.data(), 2, 1, 3);
    const std::vector<axis_angles<std::int32_t>> axes{{near, blocks, on_axes}, {far, dealt, on_axes}};
    CHECK_THROWS_WITH_AS(refused(axes)(),
                         "row_angles: sources[1] turns pair 1 by axis 1, must do so by 0, as sources[0]", shape_error);
    static_assert(!std::is_constructible_v<row_angles<exact_angles<std::int32_t>>, sources&&>);
}

TEST_CASE("angles/row_angles: bases that are missing or too few for their positions are refused") {
    const position_view<std::int32_t> two_rows(ids.data(), 2, 3, 3);
    const auto refused = [&](const std::vector<const basis*>& bases) {
        return [&, bases] { exact_angles_of_rows(bases, two_rows); };
    };
    CHECK_THROWS_WITH_AS(refused({&near, nullptr})(), "exact_angles_of_rows: bases[1] nullptr must point to a basis",
                         shape_error);
    CHECK_THROWS_WITH_AS(refused({&near, &far, &far})(),
                         "exact_angles_of_rows: 3 bases must be at least one, and one for each of 2 rows of "
                         "position_ids",
                         shape_error);
    CHECK_THROWS_AS(refused({})(), shape_error);
    const std::vector<const basis*> two{&near, &far};  // a row before the first was read
    CHECK_THROWS_WITH_AS(exact_angles_of_rows(two, position_view<std::int32_t>(ids.data() + 3, 2, 3, -3)),
                         "angles: position_ids [2, 3] with batch_stride -3 must have batch >= 1, tokens >= 0 and "
                         "batch_stride >= 0",
                         shape_error);
    CHECK_THROWS_WITH_AS(
        exact_angles_of_rows(two, position_view<std::int32_t>(ids.data(), 2, 3, index_t{1} << 62)),
        "angles: position_ids [2, 3] with batch_stride 4611686018427387904 must span at most 2^58 entries",
        shape_error);
    CHECK_THROWS_AS(
        exact_angles_of_rows(std::vector<const basis*>{&near, &far}, position_view<std::int32_t>(nullptr, 2, 3, 3)),
        shape_error);
}
