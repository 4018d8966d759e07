// SPDX-License-Identifier: MIT
#include "cordage/basis/basis.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "cordage/pair/cos_sin.hpp"
#include "cordage/scaling/any_policy.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/yarn.hpp"
#include "tolerances.hpp"

using namespace cordage;
using cordage_test::closed_form;

namespace {
const rope_config llama2{.head_dim = 128, .rotary_dim = 128, .original_length = 4096};
constexpr double infinity = std::numeric_limits<double>::infinity();

struct broken {
    double log_alpha(const rope_config&, index_t pair, double) const { return pair == 2 ? infinity : 0.0; }
    double log_alpha_rate(const rope_config&, index_t, double) const { return 0.0; }
};
}  // namespace

TEST_CASE("basis/basis: it keeps its numbers unchanged, and their turns") {
    const basis b({1.0, 0.25, 0.0, -3.0}, 1.25);
    CHECK(b.pairs() == 4);
    CHECK(b.rotary_dim() == 8);
    CHECK(b.attention_factor() == 1.25);
    CHECK(b.inv_freq()[3] == -3.0);
    for (std::size_t i = 0; i < 4; ++i) {
        const auto pair = static_cast<index_t>(i);
        CHECK(b.turns_per_position(pair) == turns_of(b.inv_freq()[i]));
        CHECK(b.phase(pair, 12'345) == phase_of(turns_of(b.inv_freq()[i]), 12'345));
        CHECK(b.phase(pair, -0.75) == phase_of(turns_of(b.inv_freq()[i]), -0.75));
    }
    CHECK(basis({1.0}).attention_factor() == 1.0);
}

TEST_CASE("basis/basis: numbers out of their domain are named") {
    CHECK_THROWS_WITH_AS(basis({}), "basis: inv_freq [] must have at least one entry", value_error);
    CHECK_THROWS_WITH_AS(basis({1.0, -infinity}),
                         "basis: inv_freq[1] -inf must be finite and at most 2^62 in magnitude", value_error);
    CHECK_THROWS_AS(basis({std::numeric_limits<double>::quiet_NaN()}), value_error);
    CHECK_THROWS_AS(basis({0x1.0000000000001p62}), value_error);
    CHECK_NOTHROW(basis({0x1p62, -0x1p62}));
    CHECK_THROWS_WITH_AS(basis({1.0}, 0.0), "basis: attention_factor 0 must be 2^-60 to 2^60 in magnitude",
                         value_error);
    CHECK_THROWS_AS(basis({1.0}, infinity), value_error);
    CHECK_THROWS_AS(basis({1.0}, 1e25), value_error);  // 1/m^2 was 0 in float, so the inverse rotation gave zeros
    CHECK_THROWS_AS(basis({1.0}, -1e-25), value_error);
    CHECK_NOTHROW(basis({1.0}, -0x1p60));
}

TEST_CASE("basis/basis: make_basis is alpha(t) theta with the policy's attention factor") {
    const basis plain = make_basis(llama2, unscaled{}, 8.0), scaled = make_basis(llama2, ntk_aware{}, 8.0);
    for (index_t pair = 0; pair < 64; ++pair) {
        const auto i = static_cast<std::size_t>(pair);
        CHECK(std::fabs(plain.inv_freq()[i] / llama2.inv_freq(pair) - 1.0) < closed_form);
        const double expected = std::pow(8.0, -2.0 * static_cast<double>(pair) / 126.0) * llama2.inv_freq(pair);
        CHECK(std::fabs(scaled.inv_freq()[i] / expected - 1.0) < closed_form);
    }
    CHECK(scaled.attention_factor() == 1.0);
    CHECK(std::fabs(make_basis(llama2, yarn{}, 4.0).attention_factor() - 1.138629436111989) < closed_form);
    CHECK(make_basis(llama2, any_policy(yarn{}), 4.0).inv_freq()[40] == make_basis(llama2, yarn{}, 4.0).inv_freq()[40]);
}

TEST_CASE("basis/basis: make_basis refuses t below 1, bad settings and an alpha that is not finite") {
    CHECK_THROWS_WITH_AS(make_basis(llama2, linear{}, 0.5), "make_basis: t 0.5 must be finite and >= 1", value_error);
    CHECK_THROWS_AS(make_basis(llama2, linear{}, std::numeric_limits<double>::quiet_NaN()), value_error);
    CHECK_THROWS_AS(make_basis(rope_config{.head_dim = 8, .rotary_dim = 7, .original_length = 4}, linear{}, 2.0),
                    value_error);
    CHECK_THROWS_AS(make_basis(llama2, yarn{.beta_slow = -1.0}, 2.0), value_error);
    CHECK_THROWS_WITH_AS(make_basis(llama2, broken{}, 2.0),
                         "basis: inv_freq[2] inf must be finite and at most 2^62 in magnitude", value_error);
}

TEST_CASE("basis/basis: as numbers for angles it is one basis of its pairs, and stays where it is") {
    const basis b({7.0, -0.25, 1e-3}, 1.25);
    const basis_view v = b;
    CHECK((v.pairs == 3 && v.count == 1 && v.of_token == nullptr && v.index(5, 9) == 0));
    for (index_t i = 0; i < 3; ++i) {
        const turns rate = b.turns_per_position(i);
        CHECK(v.fractions[i] == rate.fraction);
        CHECK(v.whole_turns[i] == static_cast<std::uint64_t>(rate.whole));
        CHECK(v.inv_freq[i] == b.inv_freq()[static_cast<std::size_t>(i)]);
    }
    CHECK(v.attention_factors[0] == 1.25);
    static_assert(!std::is_convertible_v<basis, basis_view> && std::is_convertible_v<const basis&, basis_view>);
}
