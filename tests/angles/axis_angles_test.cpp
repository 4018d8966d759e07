// SPDX-License-Identifier: MIT
#include "cordage/angles/axis_angles.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cordage/positions/sections.hpp"
#include "cordage/rotate/cos_sin_table.hpp"
#include "pair/exact_phase.hpp"
#include "tolerances.hpp"

using namespace cordage;
using namespace cordage_test;

static_assert(differentiable_angle_source<axis_angles<std::int32_t>>);

namespace {

const basis b({1.0, 0.5, -0.3, 7.0, 0.01, 1e-4}, 1.25);
const std::vector<std::uint8_t> alternating = interleaved_axes({2, 2, 2});

template <class P>
void check_exact(const std::vector<P>& ids) {
    const axis_angles angles(b, alternating, axis_major(ids.data(), 3, 1, 2));
    for (index_t token = 0; token < 2; ++token) {
        for (index_t pair = 0; pair < 6; ++pair) {
            const P position = ids[static_cast<std::size_t>(2 * (pair % 3) + token)];
            const long double exact = exact_angle(position, b.inv_freq()[static_cast<std::size_t>(pair)]);
            const double far = rotation<double>.per_position * std::fabs(static_cast<double>(position));
            const auto at = cos_sin_at<double>(angles, 0, token, pair);
            const auto rounded = cos_sin_at<float>(angles, 0, token, pair);
            CHECK(std::fabs(at.cos - static_cast<double>(1.25L * std::cos(exact))) < 1.25 * cos_sin_double + 2 * far);
            CHECK(std::fabs(at.sin - static_cast<double>(1.25L * std::sin(exact))) < 1.25 * cos_sin_double + 2 * far);
            CHECK(rounded.cos == static_cast<float>(at.cos));
            CHECK(rounded.sin == static_cast<float>(at.sin));
        }
    }
}

}  // namespace

TEST_CASE("angles/axis_angles: every pair is rotated by its own axis, exactly, for positions of every type") {
    check_exact<std::int32_t>({0, 1'000'000, -7, 131071, std::numeric_limits<std::int32_t>::max(), 3});
    check_exact<std::int64_t>({5, std::int64_t{1} << 33, -9, 12, 0, 1});
    check_exact<float>({0.5f, -3.25f, 1.0f, 16777215.0f, 2.0f, 0.0f});
    check_exact<double>({0.5, -0.25, 100000.125, 2147483646.75, 3.0, 1.0 / 3.0});
}

TEST_CASE("angles/axis_angles: equal positions on all axes are one position, as text has under M-RoPE") {
    const std::vector<std::int32_t> one{3, 77, 100'000}, thrice{3, 77, 100'000, 3, 77, 100'000, 3, 77, 100'000};
    const axis_angles axes(b, alternating, axis_major(thrice.data(), 3, 1, 3));
    const exact_angles plain(b, one);
    for (index_t token = 0; token < 3; ++token) {
        for (index_t pair = 0; pair < 6; ++pair) {
            CHECK(cos_sin_at<double>(axes, 0, token, pair).cos == cos_sin_at<double>(plain, 0, token, pair).cos);
            CHECK(cos_sin_at<double>(axes, 0, token, pair).sin == cos_sin_at<double>(plain, 0, token, pair).sin);
        }
    }
}

TEST_CASE("angles/axis_angles: strides in any order, rows of a batch with their own positions or one row for all") {
    const std::vector<double> ids{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
    const axis_angles own(b, alternating, axis_minor(ids.data(), 3, 3, 2));  // [3 rows, 2 tokens, 3 axes]
    CHECK((own.batch() == 3 && own.tokens() == 2 && own.pairs() == 6 && own.axes() == 3 && own.bases() == 1));
    CHECK(own.position(2, 1, 0) == 15.0);
    CHECK(own.position(1, 0, 2) == 8.0);
    CHECK(cos_sin_at<double>(own, 1, 0, 5).cos == doctest::Approx(1.25 * std::cos(8.0 * 1e-4)));
    const axis_angles shared(b, alternating, axis_minor(ids.data(), 3, 1, 2));
    CHECK(shared.position(2, 1, 0) == 3.0);
}

TEST_CASE("angles/axis_angles: a table keeps its angles") {
    const std::vector<std::int32_t> ids{0, 1, 5, 9, 20, 31, 7, 8, 100, 2, 3, 4};  // [3 axes, 2 rows, 2 tokens]
    const axis_angles angles(b, alternating, axis_major(ids.data(), 3, 2, 2));
    const cos_sin_table<double> table(angles);
    for (index_t row = 0; row < 2; ++row) {
        for (index_t token = 0; token < 2; ++token) {
            for (index_t pair = 0; pair < 6; ++pair) {
                const auto kept = table.view().at<double>(row, token, pair),
                           made = cos_sin_at<double>(angles, row, token, pair);
                CHECK(std::fabs(kept.cos - made.cos) <= 1.25 * cos_sin_double);
                CHECK(std::fabs(kept.sin - made.sin) <= 1.25 * cos_sin_double);
            }
        }
    }
    CHECK(table.view().attention_factor(1, 0) == 1.25);
}

TEST_CASE("angles/axis_angles: positions and axes that do not fit are refused") {
    const std::vector<double> ids(12);
    using view = position_view<double>;
    const auto strided = [&](index_t axes, index_t rows, index_t tokens, index_t axis_stride, index_t row_stride) {
        view v(ids.data(), rows, tokens, row_stride);
        v.axes = axes;
        v.axis_stride = axis_stride;
        return v;
    };
    const auto refused = [&](const std::vector<std::uint8_t>& axes, const view& positions) {
        return [&, positions] { axis_angles(b, axes, positions); };
    };
    const view good = axis_major(ids.data(), 3, 2, 2);
    CHECK_NOTHROW(refused(alternating, good)());
    CHECK_THROWS_WITH_AS(refused({0, 1, 2}, good)(),
                         "axis_angles: axis_of_pair has 3 entries, must have rotary_dim/2 = 6", shape_error);
    CHECK_THROWS_WITH_AS(refused({0, 1, 2, 0, 3, 2}, good)(),
                         "axis_angles: axis_of_pair[4] 3 must be below position_ids.axes 3", value_error);
    CHECK_THROWS_WITH_AS(refused(alternating, axis_major<double>(nullptr, 3, 2, 2))(),
                         "axis_angles: position_ids.data nullptr must point to the positions", shape_error);
    CHECK_THROWS_WITH_AS(refused(alternating, strided(3, 2, 2, -4, 2))(),
                         "axis_angles: position_ids [3, 2, 2] with strides [-4, 2, 1] must have axes >= 1, batch >= 1, "
                         "tokens >= 0 and no negative stride",
                         shape_error);
    CHECK_THROWS_AS(refused(alternating, axis_major(ids.data(), 0, 2, 2))(), shape_error);
    CHECK_THROWS_AS(refused(alternating, axis_major(ids.data(), 3, 0, 2))(), shape_error);
    CHECK_THROWS_AS(refused(alternating, axis_major(ids.data(), 3, 2, -2))(), shape_error);
    CHECK_NOTHROW(refused(alternating, axis_major<double>(nullptr, 3, 2, 0))());
    CHECK_THROWS_AS(refused(alternating, strided(3, 2, 2, index_t{1} << 62, 2))(), shape_error);
    // A vector backend keeps a row of axes on the stack; more than 256 axes overran it.
    CHECK_THROWS_WITH_AS(refused(alternating, strided(257, 2, 2, 4, 2))(),
                         "axis_angles: position_ids has 257 axes, must have at most 256", shape_error);
    CHECK_NOTHROW(refused(alternating, strided(256, 2, 2, 0, 2))());
    static_assert(!std::is_constructible_v<axis_angles<double>, basis, const std::vector<std::uint8_t>&, view>);
}

// Kernels read a token's positions once: integers as steps, others for each pair.
TEST_CASE("angles/axis_angles: a token's phases are the phases of its pairs") {
    const std::vector<double> ids{5.0, 7.5, 0.5, 3.0, -3.0, 2.0, 2.0, 2.0, 1e6, -0.25, 4.0, 9.0};
    const axis_angles angles(b, alternating, axis_major(ids.data(), 3, 1, 4));
    for (index_t token = 0; token < 4; ++token) {
        const auto of = angles.of_token(0, token);
        for (index_t pair = 0; pair < 6; ++pair) CHECK(of.phase(pair) == angles.phase(0, token, pair));
    }
}

TEST_CASE("angles/axis_angles: bases of rows and of tokens, with positions of several axes") {
    const basis far({0.5, 0.25, -0.1, 3.5, 0.005, 1e-5}, 0.5);
    const basis_list list({&b, &far});
    const std::vector<std::int32_t> ids{0, 1, 5, 9, 20, 31, 7, 8, 100, 2, 3, 4};  // [3 axes, 2 rows, 2 tokens]
    const auto view = axis_major(ids.data(), 3, 2, 2);
    const std::vector<std::int32_t> of_token{1, 0, 0, 1};
    const axis_angles by_row(list.of_rows(), alternating, view), by_token(list.of(of_token, 2), alternating, view);
    const axis_angles near_only(b, alternating, view), far_only(far, alternating, view);
    for (index_t token = 0; token < 2; ++token) {
        for (index_t pair = 0; pair < 6; ++pair) {
            CHECK(by_row.phase(0, token, pair) == near_only.phase(0, token, pair));
            CHECK(by_row.phase(1, token, pair) == far_only.phase(1, token, pair));
            CHECK(by_row.of_token(1, token).phase(pair) == far_only.phase(1, token, pair));
            CHECK(by_token.phase(0, token, pair) == (token == 0 ? far_only : near_only).phase(0, token, pair));
            CHECK(by_token.of_token(1, token).phase(pair) == (token == 0 ? near_only : far_only).phase(1, token, pair));
        }
        CHECK(by_token.attention_factor(1, token) == (token == 0 ? 1.25 : 0.5));
    }
    CHECK((by_row.bases() == 2 && by_row.batch() == 2));
}
