// SPDX-License-Identifier: MIT
#include "cordage/scaling/masked.hpp"

#include <limits>

#include "cordage/basis/basis.hpp"
#include "cordage/scaling/yarn.hpp"
#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace cordage_test;

static_assert(scaling_policy<masked<>> && prior_policy<masked<>>);

namespace {
const rope_config model{.head_dim = 12, .rotary_dim = 12, .original_length = 4096};
}

TEST_CASE("scaling/masked: a pair that is not rotated has inv_freq 0, the others are the inner policy's") {
    const masked<yarn> policy{yarn{}, {1, 0, 1, 1, 0, 0}};
    const basis masked_basis = make_basis(model, policy, 4.0), inner = make_basis(model, yarn{}, 4.0);
    for (std::size_t pair = 0; pair < 6; ++pair) {
        CHECK(masked_basis.inv_freq()[pair] == (policy.rotates[pair] != 0 ? inner.inv_freq()[pair] : 0.0));
    }
    CHECK(masked_basis.attention_factor() == inner.attention_factor());
    check_derivatives(policy, model);
}

TEST_CASE("scaling/masked: masking all pairs is NoPE, masking none is the inner policy") {
    const basis nope = make_basis(model, masked<>{{}, std::vector<unsigned char>(6, 0)}, 1.0);
    for (const double theta : nope.inv_freq()) CHECK(theta == 0.0);
    const basis all = make_basis(model, masked<>{{}, std::vector<unsigned char>(6, 1)}, 1.0);
    for (index_t pair = 0; pair < 6; ++pair) {
        CHECK(all.inv_freq()[static_cast<std::size_t>(pair)] == model.inv_freq(pair));
    }
    CHECK_THROWS_WITH_AS(validate(masked<>{{}, {1, 1}}, model), "masked: rotates size 2 must be rotary_dim/2 = 6",
                         shape_error);
}

// transformers 5.24 "proportional"; golden/policies.json, p = 0.5, head_dim 128, factor 2.
TEST_CASE("scaling/masked: proportional rotates the fastest share with exponents over the whole width") {
    const rope_config wide{.head_dim = 128, .rotary_dim = 128, .original_length = 131072};
    const basis b = make_basis(wide, proportional{0.5}, 2.0);
    CHECK(close_relative(b.inv_freq()[0], 0.5, closed_form));
    CHECK(close_relative(b.inv_freq()[1], 0.4329821616800327, closed_form));
    CHECK(b.inv_freq()[31] > 0.0);
    CHECK(b.inv_freq()[32] == 0.0);
    CHECK(b.inv_freq()[63] == 0.0);
    check_derivatives(proportional{0.5}, wide);
}

TEST_CASE("scaling/masked: a share that is not a whole number of pairs is rounded down") {
    CHECK(proportional{0.5}.rotated_pairs(model) == 3);
    CHECK(proportional{0.45}.rotated_pairs(model) == 2);
    CHECK(proportional{0.0}.rotated_pairs(model) == 0);
    CHECK(proportional{}.rotated_pairs(model) == 6);
    CHECK_THROWS_WITH_AS(validate(proportional{1.5}, model), "proportional: share 1.5 must be in [0, 1]", value_error);
    CHECK_THROWS_AS(validate(proportional{std::numeric_limits<double>::quiet_NaN()}, model), value_error);
}
