// SPDX-License-Identifier: MIT
#include "cordage/scaling/longrope.hpp"

#include "cordage/scaling/learned_table.hpp"
#include "cordage/scaling/masked.hpp"
#include "cordage/schedule/schedules.hpp"
#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

const rope_config model{.head_dim = 8, .rotary_dim = 8, .original_length = 4096};
const longrope tables{{1.0, 1.5, 2.0, 2.5}, {1.0, 4.0, 16.0, 64.0}, 1.19};

}  // namespace

TEST_CASE("scaling/longrope: short factors up to the original length, long factors from the next token on") {
    const two_regimes schedule{32.0};
    for (index_t pair = 0; pair < 4; ++pair) {
        const auto i = static_cast<std::size_t>(pair);
        for (const double length : {1.0, 4096.0}) {
            const double alpha = std::exp(tables.log_alpha(model, pair, ratio_at(schedule, model, length)));
            CHECK(close_relative(alpha, 1.0 / tables.short_factor[i], closed_form));
        }
        for (const double length : {4097.0, 100000.0}) {
            const double alpha = std::exp(tables.log_alpha(model, pair, ratio_at(schedule, model, length)));
            CHECK(close_relative(alpha, 1.0 / tables.long_factor[i], closed_form));
        }
        CHECK(tables.log_alpha_rate(model, pair, 2.0) == 0.0);
    }
}

// Engines with a factor for each regime changed the scores at the switch.
// CLEX integrates a prior's rate, and the jump has none: with zero weights it kept the short factors at every t.
static_assert(!prior_policy<longrope> && !prior_policy<masked<longrope>> && !prior_policy<learned_table<longrope>>);

TEST_CASE("scaling/longrope: the attention factor is one number in both regimes") {
    CHECK(attention_factor(tables, model, 1.0) == 1.19);
    CHECK(attention_factor(tables, model, 32.0) == 1.19);
    CHECK(attention_factor_rate(tables, model, 32.0) == 0.0);
    // transformers 5.24 for 128k over 4k; golden/policies.json.
    CHECK(close_relative(longrope_attention_factor(32.0, 4096.0), 1.1902380714238083, closed_form));
    CHECK(longrope_attention_factor(1.0, 4096.0) == 1.0);
    CHECK(longrope_attention_factor(0.5, 4096.0) == 1.0);
}

TEST_CASE("scaling/longrope: settings out of their domain are named") {
    longrope bad = tables;
    bad.long_factor[2] = -1.0;
    CHECK_THROWS_WITH_AS(validate(bad, model), "longrope: long_factor[2] -1 must be finite and > 0", value_error);
    bad.long_factor[2] = 0.0;
    CHECK_THROWS_WITH_AS(validate(bad, model), "longrope: long_factor[2] 0 must be finite and > 0", value_error);
    bad = tables;
    bad.short_factor.pop_back();
    CHECK_THROWS_WITH_AS(validate(bad, model), "longrope: short_factor size 3 must be rotary_dim/2 = 4", shape_error);
    bad = tables;
    bad.given_attention_factor = 0.0;
    CHECK_THROWS_WITH_AS(validate(bad, model), "longrope: given_attention_factor 0 must be finite and > 0",
                         value_error);
    CHECK_THROWS_WITH_AS(longrope_attention_factor(2.0, 1.0),  // was once infinite, and NaN below 1
                         "longrope_attention_factor: original_length 1 must be finite and > 1", value_error);
}
