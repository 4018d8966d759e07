// SPDX-License-Identifier: MIT
#include "cordage/scaling/policy.hpp"

#include <cmath>

#include "cordage/scaling/any_policy.hpp"
#include "cordage/scaling/longrope.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/yarn.hpp"
#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

// A user's policy with only what the concept requires.
struct half_way {
    double log_alpha(const rope_config&, index_t pair, double t) const { return -std::log(t) / double(pair + 1); }
    double log_alpha_rate(const rope_config&, index_t pair, double t) const { return -1.0 / (t * double(pair + 1)); }
};
// One that is solved for all pairs at once and has an attention factor.
struct solved {
    void log_alpha(const rope_config& c, double t, std::span<double> out) const {
        for (index_t i = 0; i < c.pairs(); ++i) out[std::size_t(i)] = half_way{}.log_alpha(c, i, t);
    }
    void log_alpha_rate(const rope_config& c, double t, std::span<double> out) const {
        for (index_t i = 0; i < c.pairs(); ++i) out[std::size_t(i)] = half_way{}.log_alpha_rate(c, i, t);
    }
    double attention_factor(const rope_config&, double t) const { return t; }
    double attention_factor_rate(const rope_config&, double) const { return 1.0; }
};
struct without_rate {
    double log_alpha(const rope_config&, index_t, double) const { return 0.0; }
};
struct jumping : half_way {
    static constexpr bool jumps = true;
};
struct in_float {
    float log_alpha(const rope_config&, index_t, double) const { return 0.0f; }
    float log_alpha_rate(const rope_config&, index_t, double) const { return 0.0f; }
};

}  // namespace

TEST_CASE("scaling/policy: the concept takes closed and solved forms, in double, with a rate") {
    static_assert(scaling_policy<half_way> && prior_policy<half_way> && !has_attention_factor<half_way>);
    static_assert(scaling_policy<solved> && has_attention_factor<solved> && !has_log_alpha<solved>);
    static_assert(!prior_policy<solved> && !prior_policy<without_rate>);
    static_assert(!scaling_policy<without_rate> && !scaling_policy<in_float> && !scaling_policy<int>);
    static_assert(!learned_policy<half_way>);
    CHECK(!prior_policy<jumping>);
}

TEST_CASE("scaling/policy: both forms give the same") {
    std::vector<double> closed(64), vector(64);
    log_alpha(half_way{}, llama2(), 3.0, closed);
    log_alpha(solved{}, llama2(), 3.0, vector);
    CHECK(closed == vector);
    CHECK(closed[63] == -std::log(3.0) / 64.0);
    log_alpha_rate(half_way{}, llama2(), 3.0, closed);
    log_alpha_rate(solved{}, llama2(), 3.0, vector);
    CHECK(closed == vector);
}

// Once a write beyond out, and a read beyond the factors.
TEST_CASE("scaling/policy: log alpha and its rate need out of the right size and a policy that fits the model") {
    const rope_config four_pairs{.head_dim = 8, .rotary_dim = 8, .original_length = 4};
    std::vector<double> one(1), four(4);
    const longrope two_factors{{1.0, 2.0}, {1.0, 2.0}};
    CHECK_THROWS_WITH_AS(log_alpha(linear{}, four_pairs, 2.0, one), "log_alpha: out size 1 must be rotary_dim/2 = 4",
                         shape_error);
    CHECK_THROWS_WITH_AS(log_alpha_rate(linear{}, four_pairs, 2.0, one),
                         "log_alpha_rate: out size 1 must be rotary_dim/2 = 4", shape_error);
    CHECK_THROWS_AS(log_alpha(two_factors, four_pairs, 2.0, four), shape_error);
    CHECK_THROWS_AS(log_alpha_rate(two_factors, four_pairs, 2.0, four), shape_error);
}

// Once these gave NaN, or the number of another formula.
TEST_CASE("scaling/policy: every call that takes a t refuses one that is no length ratio, and writes nothing") {
    std::vector<double> out(64, -7.0);
    const any_policy held = linear{};
    for (const double t : {-3.0, 0.0, 0.999, std::nan(""), static_cast<double>(INFINITY)}) {
        CHECK_THROWS_AS(log_alpha(linear{}, llama2(), t, out), value_error);
        CHECK_THROWS_AS(log_alpha_rate(linear{}, llama2(), t, out), value_error);
        CHECK_THROWS_AS(log_alpha(solved{}, llama2(), t, out), value_error);
        CHECK_THROWS_AS(held.log_alpha(llama2(), t, out), value_error);
        CHECK_THROWS_AS(held.log_alpha_rate(llama2(), t, out), value_error);
        CHECK_THROWS_AS(held.attention_factor(llama2(), t), value_error);
        CHECK_THROWS_AS(held.attention_factor_rate(llama2(), t), value_error);
        CHECK_THROWS_AS(attention_factor(half_way{}, llama2(), t), value_error);
        CHECK_THROWS_AS(attention_factor_rate(yarn{}, llama2(), t), value_error);
    }
    CHECK(out == std::vector<double>(64, -7.0));
    CHECK_THROWS_WITH_AS(log_alpha(linear{}, llama2(), -3.0, out), "log_alpha: t -3 must be finite and >= 1",
                         value_error);
    CHECK_THROWS_WITH_AS(attention_factor(linear{}, llama2(), 0.5), "attention_factor: t 0.5 must be finite and >= 1",
                         value_error);
}

TEST_CASE("scaling/policy: a policy without a temperature has attention factor 1 and rate 0") {
    CHECK(attention_factor(half_way{}, llama2(), 3.0) == 1.0);
    CHECK(attention_factor_rate(half_way{}, llama2(), 3.0) == 0.0);
    CHECK(attention_factor(solved{}, llama2(), 3.0) == 3.0);
    CHECK(attention_factor_rate(solved{}, llama2(), 3.0) == 1.0);
}

TEST_CASE("scaling/policy: validate looks at the model's numbers too") {
    CHECK_NOTHROW(validate(half_way{}, llama2()));
    CHECK_THROWS_AS(validate(half_way{}, rope_config{.head_dim = 8, .rotary_dim = 10, .original_length = 4}),
                    value_error);
}
