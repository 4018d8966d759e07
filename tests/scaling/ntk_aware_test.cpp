// SPDX-License-Identifier: MIT
#include "cordage/scaling/ntk_aware.hpp"

#include "cordage/scaling/base_change.hpp"
#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace cordage_test;

TEST_CASE("scaling/ntk_aware: derivatives, and alpha 1 at the original length") {
    check_derivatives(ntk_aware{}, llama2());
    check_starts_at_one_and_falls(ntk_aware{}, llama2());
}

TEST_CASE("scaling/ntk_aware: the first pair keeps its frequency and the last is divided by t") {
    for (const double t : {1.5, 4.0, 64.0}) check_alpha(ntk_aware{}, llama2(), t, {{0, 1.0}, {63, 1.0 / t}});
}

// 50-digit arithmetic, rounded; golden/policies.json, alpha_table.
TEST_CASE("scaling/ntk_aware: alpha at t = 4 is the published power of t") {
    check_alpha(ntk_aware{}, llama2(), 4.0, {{1, 0.9782356643334578}, {32, 0.49452898406803664}});
    const rope_config small{.head_dim = 64, .rotary_dim = 64, .original_length = 4096};
    check_alpha(ntk_aware{}, small, 4.0, {{1, 0.956265989496255}, {16, 0.48894426816771636}});
}

TEST_CASE("scaling/ntk_aware: it is a change of base by t^(d/(d-2))") {
    for (const double t : {1.3, 4.0, 40.0}) {
        const base_change same{std::pow(t, 128.0 / 126.0)};
        for (index_t pair = 0; pair < 64; ++pair) {
            CHECK(close(ntk_aware{}.log_alpha(llama2(), pair, t), same.log_alpha(llama2(), pair, t), closed_form));
        }
    }
}

TEST_CASE("scaling/ntk_aware: a single pair keeps its frequency instead of dividing by d - 2 = 0") {
    const rope_config one{.head_dim = 4, .rotary_dim = 2, .original_length = 16};
    CHECK(ntk_aware{}.log_alpha(one, 0, 8.0) == 0.0);
    CHECK(ntk_aware{}.log_alpha_rate(one, 0, 8.0) == 0.0);
}

TEST_CASE("scaling/ntk_aware: the exponents run over rotary_dim, not head_dim") {
    const rope_config partial{.head_dim = 128, .rotary_dim = 32, .original_length = 4096};
    check_alpha(ntk_aware{}, partial, 8.0, {{15, 1.0 / 8.0}});
}
