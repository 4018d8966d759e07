// SPDX-License-Identifier: MIT
#include "cordage/angles/exact_angles.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cordage/core/config.hpp"
#include "pair/exact_phase.hpp"
#include "tolerances.hpp"

using namespace cordage;
using namespace cordage_test;

/// Unsigned positions, in types that no other test uses: an index whose largest value says that there is none, and a
/// number in units of 2^-16.
template <>
struct cordage::position_traits<char16_t> {
    static constexpr split_position split(char16_t p) noexcept { return {p, 0, false, p != 0xffff}; }
    static constexpr double value(char16_t p) noexcept { return p; }
};
template <>
struct cordage::position_traits<char32_t> {
    static constexpr split_position split(char32_t p) noexcept { return {p >> 16, std::uint64_t{p & 0xffffu} << 48}; }
    static constexpr double value(char32_t p) noexcept { return static_cast<double>(p) / 65536.0; }
};

static_assert(differentiable_angle_source<exact_angles<std::int32_t>>);
static_assert(differentiable_angle_source<float32_angles<double>>);

namespace {

std::vector<double> llama_frequencies() {
    const rope_config llama{.head_dim = 128, .rotary_dim = 128, .original_length = 4096};
    std::vector<double> theta;
    for (index_t pair = 0; pair < llama.pairs(); ++pair) theta.push_back(llama.inv_freq(pair));
    return theta;
}

// Largest error of cos or sin over all tokens and pairs, against the exact product position * theta.
template <class T, class Position>
double worst_error(const auto& angles, const basis& b, const std::vector<Position>& positions) {
    double worst = 0.0;
    for (index_t token = 0; token < angles.tokens(); ++token) {
        for (index_t pair = 0; pair < angles.pairs(); ++pair) {
            const Position position = positions[static_cast<std::size_t>(token)];
            const long double exact = exact_angle(position, b.inv_freq()[static_cast<std::size_t>(pair)]);
            const cos_sin<T> found = cos_sin_at<T>(angles, 0, token, pair);
            worst = std::max({worst, std::fabs(static_cast<double>(found.cos - std::cos(exact))),
                              std::fabs(static_cast<double>(found.sin - std::sin(exact)))});
        }
    }
    return worst;
}

template <class Position>
void check_exact(const std::vector<Position>& positions) {
    const basis b(llama_frequencies());
    double furthest = 0.0;
    for (const Position p : positions) furthest = std::max(furthest, std::fabs(static_cast<double>(p)));
    const exact_angles angles(b, positions);
    CHECK(worst_error<double>(angles, b, positions) < cos_sin_double + rotation<double>.per_position * furthest);
    CHECK(worst_error<float>(angles, b, positions) < cos_sin_float);
}

}  // namespace

TEST_CASE("angles/exact_angles: exact angles are right at every position of every type, to 2^31-1 and beyond") {
    check_exact<std::int32_t>({0, 1, -1, 4095, 131071, 1'000'000, std::numeric_limits<std::int32_t>::max(),
                               std::numeric_limits<std::int32_t>::min()});
    check_exact<std::int64_t>({7, std::int64_t{1} << 31, -(std::int64_t{1} << 33)});
    check_exact<double>({0.5, -0.25, 100000.125, 2147483646.75});
    check_exact<float>({0.5f, -3.25f, 16777215.0f});
}

TEST_CASE("angles/exact_angles: exact angles are right for frequencies of whole turns and for negative ones") {
    const basis b({7.0, -0.3, 100.5, -6.5});
    const std::vector<double> positions{0.5, -1.25, 1000.75, 1e6 + 0.125};
    const double bound = cos_sin_double + rotation<double>.per_position * 1e6;
    CHECK(worst_error<double>(exact_angles(b, positions), b, positions) < bound);
}

TEST_CASE("angles/exact_angles: the attention factor multiplies cos and sin") {
    const basis plain({0.3, 0.02}), scaled({0.3, 0.02}, -1.5);
    const std::vector<int> positions{0, 5, 77};
    for (index_t token = 0; token < 3; ++token) {
        for (index_t pair = 0; pair < 2; ++pair) {
            const auto one = cos_sin_at<double>(exact_angles(plain, positions), 0, token, pair);
            const auto m = cos_sin_at<double>(exact_angles(scaled, positions), 0, token, pair);
            CHECK(m.cos == -1.5 * one.cos);
            CHECK(m.sin == -1.5 * one.sin);
        }
    }
    CHECK(exact_angles(scaled, positions).attention_factor(0, 0) == -1.5);
}

TEST_CASE("angles/exact_angles: rows of a batch have their own positions, one row serves all") {
    const basis b({0.1});
    const std::vector<std::int64_t> positions{0, 1, 2, 10, 11, 12};
    const exact_angles own(b, position_view<std::int64_t>(positions.data(), 2, 3, 3));
    const exact_angles shared(b, position_view<std::int64_t>(positions.data(), 1, 3, 0));
    CHECK((own.batch() == 2 && own.tokens() == 3 && shared.batch() == 1));
    CHECK(own.position(1, 2, 0) == 12.0);
    CHECK(shared.position(1, 2, 0) == 2.0);
    CHECK(cos_sin_at<double>(own, 1, 0, 0).cos == doctest::Approx(std::cos(1.0)));
    const exact_angles first_row(b, position_view<std::int64_t>(positions.data(), 1, 3, 3));
    CHECK(first_row.position(1, 2, 0) == 2.0);  // the stride of a single row is ignored
}

// As computed by other frameworks: both numbers rounded to float32, then their product.
TEST_CASE("angles/exact_angles: float32_angles has the float32 angle bit for bit") {
    const basis b(llama_frequencies());
    const std::vector<std::int64_t> positions{0, 1, 3, 4097, 16777217, 2147483647, -5};
    const float32_angles angles(b, positions);
    for (std::size_t token = 0; token < positions.size(); ++token) {
        for (std::size_t pair = 0; pair < 64; ++pair) {
            volatile float position = static_cast<float>(positions[token]),
                           theta = static_cast<float>(b.inv_freq()[pair]);
            const float product = position * theta;
            const auto i = static_cast<index_t>(token), j = static_cast<index_t>(pair);
            REQUIRE(std::bit_cast<std::uint32_t>(angles.angle(0, i, j)) == std::bit_cast<std::uint32_t>(product));
            const auto found = cos_sin_at<float>(angles, 0, i, j);
            const double exact_cos = std::cos(static_cast<double>(product)),
                         exact_sin = std::sin(static_cast<double>(product));
            REQUIRE(std::fabs(static_cast<double>(found.cos) - exact_cos) <= unit_in_last_place<float>(exact_cos));
            REQUIRE(std::fabs(static_cast<double>(found.sin) - exact_sin) <= unit_in_last_place<float>(exact_sin));
        }
    }
}

TEST_CASE("angles/exact_angles: float32_angles rounds a position of any type to float32 before it multiplies") {
    const basis b({0.7, 0.3});
    const std::vector<double> positions{0.1, 16777217.0, 1e9 + 0.3};
    const float32_angles angles(b, positions);
    for (index_t token = 0; token < 3; ++token) {
        for (index_t pair = 0; pair < 2; ++pair) {
            volatile float position = static_cast<float>(positions[static_cast<std::size_t>(token)]),
                           theta = static_cast<float>(b.inv_freq()[static_cast<std::size_t>(pair)]);
            CHECK(angles.angle(0, token, pair) == position * theta);
        }
    }
}

// transformers 5.24, LlamaRotaryEmbedding in float32, d = 128, base 10000, 32 positions ending here:
// 6.53e-3 at 10^5, 5.84e-2 at 10^6, 0.733 at 10^7 (golden/angles.json, hf_float32_error).
TEST_CASE("angles/exact_angles: float32_angles errs as much as the frameworks do, exact angles do not") {
    const basis b(llama_frequencies());
    const std::initializer_list<std::pair<std::int32_t, double>> recorded{
        {100'000, 0.006532491782670041}, {1'000'000, 0.05841734741969537}, {10'000'000, 0.7328273280636974}};
    for (const auto& [last, error] : recorded) {
        std::vector<std::int32_t> window;
        for (std::int32_t p = last - 31; p <= last; ++p) window.push_back(p);
        CAPTURE(window.back());
        CHECK(worst_error<float>(float32_angles(b, window), b, window) ==
              doctest::Approx(error).epsilon(0.05));  // torch rounds theta at another place
        CHECK(worst_error<float>(exact_angles(b, window), b, window) < cos_sin_float);
    }
}

TEST_CASE("angles/exact_angles: views of positions that cannot be are refused") {
    const basis b({1.0});
    const double one = 0.0;
    using view = position_view<double>;
    CHECK_THROWS_WITH_AS(exact_angles(b, view(nullptr, 1, 3, 0)),
                         "exact_angles: position_ids.data nullptr must point to the positions", shape_error);
    CHECK_THROWS_AS(exact_angles(b, view(&one, 1, -1, 0)), shape_error);
    CHECK_THROWS_AS(float32_angles(b, view(&one, 0, 1, 0)), shape_error);
    CHECK_THROWS_WITH_AS(exact_angles(b, view(&one, 2, 1, -1)),
                         "exact_angles: position_ids [1, 2, 1] with strides [0, -1, 1] must have axes >= 1, batch >= "
                         "1, tokens >= 0 and no negative stride",
                         shape_error);
    CHECK_THROWS_WITH_AS(float32_angles(b, view(&one, 2, 3, index_t{1} << 62)),
                         "float32_angles: position_ids [1, 2, 3] with strides [0, 4611686018427387904, 1] must span at "
                         "most 2^58 entries",
                         shape_error);
    CHECK_THROWS_WITH_AS(exact_angles(b, axis_major(&one, 2, 1, 1)),
                         "exact_angles: position_ids has 2 axes, must have at most 1", shape_error);
    CHECK_THROWS_WITH_AS(exact_angles(basis_view{}, view(&one, 1, 1, 0)),
                         "exact_angles: bases [1, 0] must hold at "
                         "least one basis of one pair",
                         shape_error);
    CHECK_NOTHROW(exact_angles(b, view(nullptr, 1, 0, 0)));
    static_assert(!std::is_constructible_v<exact_angles<double>, basis, view>);  // a temporary basis
}

TEST_CASE("angles/exact_angles: a token's phases are the phases of its pairs") {
    const basis b(llama_frequencies());
    const std::vector<double> positions{3.0, -0.75, 1e6};
    const exact_angles angles(b, positions);
    for (index_t token = 0; token < 3; ++token) {
        const auto of = angles.of_token(0, token);
        for (index_t pair = 0; pair < 64; ++pair) CHECK(of.phase(pair) == angles.phase(0, token, pair));
    }
}

// A basis and positions passed in other forms than as a named variable.
TEST_CASE("angles/exact_angles: positions may be a vector, an array, a span or a view") {
    const basis b({0.1, 0.3});
    const std::vector<int> ids{4, 5};
    const int row[2] = {4, 5};
    const std::span<const int> span = ids;
    const exact_angles by_vector(b, ids), by_view(b, position_view<int>(ids)), by_span(b, span);
    const exact_angles by_array(b, row);
    CHECK(by_vector.phase(0, 1, 1) == by_view.phase(0, 1, 1));
    CHECK(by_vector.phase(0, 1, 1) == by_span.phase(0, 1, 1));
    CHECK(by_vector.phase(0, 1, 1) == by_array.phase(0, 1, 1));
}

TEST_CASE("angles/exact_angles: rows without tokens have no positions to check, however many there are") {
    const basis b({0.1});
    const float none = 0.0f;
    const exact_angles angles(b, position_view<float>(&none, index_t{1} << 57, 0, 1));
    CHECK_NOTHROW(angles.check("test"));
}

TEST_CASE("angles/exact_angles: unsigned positions of one's own are checked and scaled as their traits say") {
    const basis b({1.0, 0.5});
    const std::vector<char16_t> ids{3, 0xffff};
    CHECK_THROWS_WITH_AS(exact_angles(b, ids).check("test"),
                         "test: position_ids[0, 1] 65535 must be finite and below 2^63 in magnitude", value_error);
    const std::vector<char32_t> halves{0x8000u, 0x18000u};
    const std::vector<double> same{0.5, 1.5};
    for (const index_t token : {0, 1}) {
        CHECK(float32_angles(b, halves).angle(0, token, 1) == float32_angles(b, same).angle(0, token, 1));
        CHECK(exact_angles(b, halves).phase(0, token, 1) == exact_angles(b, same).phase(0, token, 1));
    }
    const std::vector<std::int64_t> large{(std::int64_t{1} << 54) + (std::int64_t{1} << 30) + 1};  // rounded once
    CHECK(float32_angles(b, large).angle(0, 0, 0) == static_cast<float>(large[0]));
}
