// SPDX-License-Identifier: MIT
#include "cordage/basis/rope_scaling.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/yarn.hpp"
#include "cordage/schedule/schedules.hpp"

using namespace cordage;

namespace {
const rope_config llama2{.head_dim = 128, .rotary_dim = 128, .original_length = 4096};
}

TEST_CASE("basis/rope_scaling: a schedule maps a length to t, and a policy maps t to a basis") {
    const rope_scaling model(llama2, ntk_aware{}, continuous{});
    CHECK(model.ratio(16384.0) == 4.0);
    CHECK(std::ranges::equal(model.at_length(16384.0).inv_freq(), make_basis(llama2, ntk_aware{}, 4.0).inv_freq()));
    CHECK(std::ranges::equal(model.at_ratio(2.5).inv_freq(), make_basis(llama2, ntk_aware{}, 2.5).inv_freq()));
    CHECK(model.config() == llama2);
}

TEST_CASE("basis/rope_scaling: policy and schedule chosen at run time give the same bits as at compile time") {
    const rope_scaling compiled(llama2, yarn{}, nearest_upper_bound({1.0, 2.0, 4.0}));
    const rope_scaling<> chosen(llama2, yarn{}, nearest_upper_bound({1, 2, 4}));
    for (const double seq_len : {100.0, 5000.0, 1e6}) {
        CHECK(chosen.ratio(seq_len) == compiled.ratio(seq_len));
        const basis a = compiled.at_length(seq_len), b = chosen.at_length(seq_len);
        CHECK(std::ranges::equal(a.inv_freq(), b.inv_freq()));
        CHECK(a.attention_factor() == b.attention_factor());
    }
}

// Once, an invalid schedule was detected only at the first length, while serving.
TEST_CASE("basis/rope_scaling: a bad model, policy or schedule is refused when the rope is made") {
    const auto make = [](const rope_config& c, any_policy p, any_schedule s) { return rope_scaling<>(c, p, s); };
    CHECK_THROWS_AS(make(rope_config{}, linear{}, fixed{}), value_error);
    CHECK_THROWS_WITH_AS(make(llama2, yarn{.beta_slow = 0.0}, fixed{}), "yarn: beta_slow 0 must be finite and > 0",
                         value_error);
    CHECK_THROWS_WITH_AS(make(llama2, linear{}, fixed{0.5}), "fixed: t 0.5 must be finite and >= 1", value_error);
    CHECK_THROWS_AS(rope_scaling(llama2, linear{}, dynamic{0.0}), value_error);
}

TEST_CASE("basis/rope_scaling: an invalid length or ratio is rejected") {
    const rope_scaling model(llama2, linear{}, continuous{});
    CHECK_THROWS_AS(model.at_length(-5.0), value_error);
    CHECK_THROWS_WITH_AS(model.at_ratio(0.9), "make_basis: t 0.9 must be finite and >= 1", value_error);
}
