// SPDX-License-Identifier: MIT
#include "../../examples/own_methods/clipped.hpp"

#include <cmath>
#include <numbers>

#include "cordage/basis/basis.hpp"
#include "cordage/scaling/longrope.hpp"
#include "cordage/scaling/yarn.hpp"
#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace own;
using namespace cordage_test;

static_assert(prior_policy<clipped<>> && !prior_policy<clipped<longrope>>);

namespace {
const rope_config model{.head_dim = 128, .rotary_dim = 128, .theta_base = 1e7, .original_length = 65536};
}

TEST_CASE("examples/clipped: a raised cosine over the slow pairs, from its onset to the last pair") {
    const basis b = make_basis(model, clipped<>{{}, 44}, 1.0);
    for (index_t pair = 0; pair < 64; ++pair) {
        const double weight =
            pair < 44 ? 1.0 : 0.5 * (1.0 + std::cos(std::numbers::pi * static_cast<double>(pair - 44) / 19.0));
        const double found = b.inv_freq()[static_cast<std::size_t>(pair)], expected = weight * model.inv_freq(pair);
        CHECK((pair == 63 ? found == 0.0 : close_relative(found, expected, closed_form)));
    }
    check_derivatives(clipped<>{{}, 44}, model);
}

// The authors' code (modeling_cope.py at ed52ba5, torch in float64): base 1e7, 64 pairs, the last 20 clipped.
TEST_CASE("examples/clipped: numbers of the authors' code") {
    const basis b = make_basis(model, clipped<>{{}, 44}, 1.0);
    CHECK(close_relative(b.inv_freq()[43], 1.9809567785503387e-05, 1e-12));
    CHECK(close_relative(b.inv_freq()[44], 1.5399265260594922e-05, 1e-12));
    CHECK(close_relative(b.inv_freq()[54], 5.692309663484704e-07, 1e-12));
    CHECK(close_relative(b.inv_freq()[62], 1.1284774175055993e-09, 1e-9));
    CHECK(b.inv_freq()[63] == 0.0);
}

TEST_CASE("examples/clipped: without an onset, the pairs that do not complete a turn are clipped") {
    const rope_config qwen{.head_dim = 64, .rotary_dim = 64, .theta_base = 1e7, .original_length = 262144};
    CHECK(clipped<>{}.first_clipped(qwen) == 22);
    const double turn = 2.0 * std::numbers::pi;
    CHECK(turn / qwen.inv_freq(21) < qwen.original_length);
    CHECK(turn / qwen.inv_freq(22) > qwen.original_length);
    const rope_config long_one{.head_dim = 64, .rotary_dim = 64, .original_length = 1e9};
    CHECK(clipped<>{}.first_clipped(long_one) == 32);
    CHECK(make_basis(long_one, clipped<>{}, 1.0).inv_freq()[31] == long_one.inv_freq(31));
    const rope_config tiny{.head_dim = 64, .rotary_dim = 64, .original_length = 2};
    CHECK(clipped<>{}.first_clipped(tiny) == 0);
    CHECK(make_basis(tiny, clipped<>{}, 1.0).inv_freq()[0] == 1.0);
}

TEST_CASE("examples/clipped: over a policy, whose factor on cos and sin it keeps") {
    const clipped<yarn> policy{yarn{}, 44};
    const basis both = make_basis(model, policy, 4.0), inner = make_basis(model, yarn{}, 4.0),
                alone = make_basis(model, clipped<>{{}, 44}, 4.0);
    for (index_t i = 0; i < 64; ++i) {
        const auto pair = static_cast<std::size_t>(i);
        CHECK(close(both.inv_freq()[pair], inner.inv_freq()[pair] * alone.inv_freq()[pair] / model.inv_freq(i),
                    closed_form));
    }
    CHECK(both.attention_factor() == inner.attention_factor());
    check_derivatives(policy, model);
}

TEST_CASE("examples/clipped: one last pair is not clipped, and an onset is a pair") {
    for (const index_t onset : {63, 64}) {
        CHECK(make_basis(model, clipped<>{{}, onset}, 1.0).inv_freq()[63] == model.inv_freq(63));
    }
    CHECK_THROWS_WITH_AS(validate(clipped<>{{}, 65}, model), "clipped: onset 65 must be a pair, 0 to rotary_dim/2 = 64",
                         value_error);
    CHECK_THROWS_AS(validate(clipped<>{{}, -1}, model), value_error);
}
