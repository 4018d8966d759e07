// SPDX-License-Identifier: MIT
#include "cordage/scaling/yarn.hpp"

#include <limits>

#include "cordage/basis/rope_scaling.hpp"
#include "cordage/schedule/schedules.hpp"
#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {
const rope_config qwen{.head_dim = 128, .rotary_dim = 128, .theta_base = 1e6, .original_length = 32768};
const rope_config gpt_oss{.head_dim = 64, .rotary_dim = 64, .theta_base = 150000.0, .original_length = 4096};

double theta(const yarn& policy, const rope_config& config, index_t pair, double t) {
    return std::exp(policy.log_alpha(config, pair, t)) * config.inv_freq(pair);
}
}  // namespace

TEST_CASE("scaling/yarn: derivatives, and alpha 1 at the original length") {
    check_derivatives(yarn{}, llama2());
    check_derivatives(yarn{.truncate = false}, gpt_oss);
    check_starts_at_one_and_falls(yarn{}, llama2());
}

// transformers 5.24 "yarn" in 50-digit arithmetic; golden/policies.json, Qwen2.5-7B yarn factor 4.
TEST_CASE("scaling/yarn: its defaults are Qwen2.5's at t = 4") {
    const yarn_ramp ramp = yarn{}.ramp(qwen);
    CHECK(ramp.low == 23.0);
    CHECK(ramp.high == 40.0);
    CHECK(close_relative(theta({}, qwen, 20, 4.0), 0.01333521432163324, closed_form));
    CHECK(close_relative(theta({}, qwen, 25, 4.0), 0.004131738022518393, closed_form));
    CHECK(close_relative(theta({}, qwen, 30, 4.0), 0.0010643609812470017, closed_form));
    CHECK(close_relative(theta({}, qwen, 63, 4.0), 3.102344401879299e-07, closed_form));
    CHECK(close_relative(yarn{}.attention_factor(qwen, 4.0), 1.138629436111989, closed_form));
}

// golden/policies.json, gpt-oss-20b yarn factor 32; engines that ignored `truncate` had different low and high.
TEST_CASE("scaling/yarn: without truncation the ramp of gpt-oss ends between pairs") {
    const yarn untruncated{.truncate = false};
    CHECK(close_relative(untruncated.ramp(gpt_oss).low, 8.092779115512402, closed_form));
    CHECK(close_relative(untruncated.ramp(gpt_oss).high, 17.398024501588555, closed_form));
    CHECK(close_relative(theta(untruncated, gpt_oss, 9, 32.0), 0.03170569618466377, closed_form));
    CHECK(close_relative(theta({}, gpt_oss, 9, 32.0), 0.03162075227534649, closed_form));
    CHECK(close_relative(theta(untruncated, gpt_oss, 15, 32.0), 0.0010526021013863348, closed_form));
    CHECK(close_relative(yarn{}.attention_factor(gpt_oss, 32.0), 1.3465735902799727, closed_form));
}

TEST_CASE("scaling/yarn: pairs rotating over beta_fast times keep alpha 1, under beta_slow times are divided by t") {
    for (index_t pair = 0; pair < 64; ++pair) {
        const double rotations = qwen.original_length * qwen.inv_freq(pair) / (2.0 * std::acos(-1.0));
        const double alpha = std::exp(yarn{.truncate = false}.log_alpha(qwen, pair, 4.0));
        if (rotations > 32.0) {
            CHECK(alpha == 1.0);
        } else if (rotations < 1.0) {
            CHECK(close_relative(alpha, 0.25, closed_form));
        } else {
            CHECK((alpha < 1.0 && alpha > 0.25));
        }
    }
}

TEST_CASE("scaling/yarn: a ramp of width 0 becomes a step of 0.001 of a pair, as in the reference") {
    const rope_config tiny{.head_dim = 8, .rotary_dim = 8, .original_length = 64};
    const yarn step{.beta_fast = 2.0, .beta_slow = 2.0, .truncate = false};
    CHECK(close(step.ramp(tiny).high - step.ramp(tiny).low, 0.001, closed_form));
    check_alpha(step, tiny, 4.0, {{0, 1.0}, {1, 0.25}, {3, 0.25}});
}

TEST_CASE("scaling/yarn: the ramp begins at pair 0 if no pair rotates beta_fast times") {
    const rope_config short_model{.head_dim = 8, .rotary_dim = 8, .original_length = 64};
    CHECK(yarn{}.ramp(short_model).low == 0.0);  // -1 before
    CHECK(yarn{.truncate = false}.ramp(short_model).low == 0.0);
}

TEST_CASE("scaling/yarn: the ramp's upper end is clamped to d - 1, not to the last pair, as in the reference") {
    const rope_config tiny{.head_dim = 8, .rotary_dim = 8, .theta_base = 100.0, .original_length = 1e5};
    CHECK(yarn{}.ramp(tiny).low == 5.0);
    CHECK(yarn{}.ramp(tiny).high == 7.0);  // 8.4 before; the pairs are 0 to 3
    check_alpha(yarn{}, tiny, 4.0, {{0, 1.0}, {3, 1.0}});
}

// DeepSeek's configs; golden/policies.json, yarn mscale 1.0 over mscale_all_dim 0.707. Engines that ignored the ratio
// were 27 % off.
TEST_CASE("scaling/yarn: mscale and mscale_all_dim are a ratio of two temperatures, and equal ones are 1 at every t") {
    const yarn ratio{.mscale = 1.0, .mscale_all_dim = 0.707}, same{.mscale = 1.0, .mscale_all_dim = 1.0};
    CHECK(close_relative(attention_factor(ratio, llama2(), 40.0), 1.0857263992561357, closed_form));
    CHECK(attention_factor(same, llama2(), 40.0) == 1.0);
    CHECK(attention_factor_rate(same, llama2(), 40.0) == 0.0);
    check_derivatives(ratio, llama2());
    const yarn alone{.mscale = 0.5};  // without the other it has no effect, as in transformers
    CHECK(attention_factor(alone, llama2(), 4.0) == attention_factor(yarn{}, llama2(), 4.0));
}

TEST_CASE("scaling/yarn: a given attention factor is used with any other settings") {
    const yarn given{.mscale = 1.0, .mscale_all_dim = 0.5, .given_attention_factor = 1.25};
    CHECK(attention_factor(given, llama2(), 1.0) == 1.25);
    CHECK(attention_factor(given, llama2(), 16.0) == 1.25);
    check_derivatives(given, llama2());
}

// transformers 5.24 in float64, Llama-2-7B yarn factor 16, beta 24/2; golden/policies.json.
TEST_CASE("scaling/yarn: dynamic YaRN is yarn at the exact t of every length") {
    const rope_scaling dynamic_yarn(llama2(), yarn{.beta_fast = 24.0, .beta_slow = 2.0}, continuous{});
    CHECK(dynamic_yarn.at_length(4096).inv_freq()[63] == llama2().inv_freq(63));
    CHECK(dynamic_yarn.at_length(4096).attention_factor() == 1.0);
    CHECK(close_relative(dynamic_yarn.at_length(65536).inv_freq()[63], 7.217387404309114e-06, closed_form));
    CHECK(close_relative(dynamic_yarn.at_length(65536).attention_factor(), 1.2772588722239782, closed_form));
    CHECK(dynamic_yarn.ratio(10240) == 2.5);
}

TEST_CASE("scaling/yarn: a ramp clamped to its ends divides no pair of a tiny length, and every pair of a huge one") {
    rope_config model = llama2();
    for (const auto& [length, share] : {std::pair(1.0, 0.0), std::pair(1e12, 1.0)}) {
        model.original_length = length;
        const yarn_ramp r = yarn{}.ramp(model);
        CHECK(r.low > r.high);
        for (const index_t pair : {0, 31, 63}) {
            CHECK(close_relative(yarn{}.log_alpha(model, pair, 4.0), -share * std::log(4.0), closed_form));
        }
    }
}

TEST_CASE("scaling/yarn: settings out of their domain are named") {
    CHECK_THROWS_WITH_AS(validate(yarn{.mscale = -1.0}, llama2()), "yarn: mscale -1 must be finite and >= 0",
                         value_error);
    CHECK_THROWS_WITH_AS(validate(yarn{.mscale_all_dim = -1.0}, llama2()),
                         "yarn: mscale_all_dim -1 must be finite and >= 0", value_error);
    CHECK_THROWS_WITH_AS(validate(yarn{.given_attention_factor = 0.0}, llama2()),
                         "yarn: given_attention_factor 0 must be finite and > 0", value_error);
    CHECK_THROWS_WITH_AS(validate(yarn{.beta_slow = 0.0}, llama2()), "yarn: beta_slow 0 must be finite and > 0",
                         value_error);
    CHECK_THROWS_WITH_AS(validate(yarn{.beta_fast = 0.5}, llama2()),
                         "yarn: beta_fast 0.5 must be finite and >= beta_slow 1", value_error);
    CHECK_THROWS_AS(validate(yarn{.beta_fast = std::numeric_limits<double>::quiet_NaN()}, llama2()), value_error);
}
