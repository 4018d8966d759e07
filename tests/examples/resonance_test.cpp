// SPDX-License-Identifier: MIT
#include "../../examples/own_methods/resonance.hpp"

#include <numbers>

#include "cordage/scaling/longrope.hpp"
#include "cordage/scaling/masked.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/yarn.hpp"
#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace own;
using namespace cordage_test;

static_assert(prior_policy<resonance<>> && !prior_policy<resonance<longrope>>);

namespace {

template <class Policy>
double wavelength(const Policy& policy, index_t pair, double t) {
    return 2.0 * std::numbers::pi / (std::exp(policy.log_alpha(llama2(), pair, t)) * llama2().inv_freq(pair));
}

template <class Policy>
void check_rounds(const resonance<Policy>& policy) {
    for (const double t : {1.0, 3.3, 16.0}) {
        for (index_t pair = 0; pair < 64; ++pair) {
            const double whole = wavelength(policy, pair, t), inner = wavelength(policy.policy, pair, t);
            CHECK(close_relative(whole, std::round(inner), closed_form));
            CHECK(policy.log_alpha_rate(llama2(), pair, t) == policy.policy.log_alpha_rate(llama2(), pair, t));
        }
        CHECK(attention_factor(policy, llama2(), t) == attention_factor(policy.policy, llama2(), t));
        CHECK(attention_factor_rate(policy, llama2(), t) == attention_factor_rate(policy.policy, llama2(), t));
    }
}

}  // namespace

TEST_CASE("examples/resonance: every wavelength is the nearest whole number, over any policy, rates straight through") {
    check_rounds(resonance<>{});
    check_rounds(resonance<yarn>{});
    check_rounds(resonance<ntk_aware>{});
    CHECK(close_relative(wavelength(resonance<>{}, 0, 1.0), 6.0, closed_form));  // 2 pi before
}

TEST_CASE("examples/resonance: over many rounding steps its slope is the rate it states") {
    const resonance<ntk_aware> policy;
    const double change = policy.log_alpha(llama2(), 40, 2.5) - policy.log_alpha(llama2(), 40, 1.5);
    double mean_rate = 0.0;
    for (int i = 0; i < 1000; ++i) mean_rate += policy.log_alpha_rate(llama2(), 40, 1.5005 + i / 1000.0) / 1000.0;
    CHECK(std::fabs(change - mean_rate) < 1e-3 * std::fabs(change));
}

TEST_CASE("examples/resonance: a wavelength never becomes 0, and a pair that is not rotated stays so") {
    CHECK(close_relative(wavelength(resonance<base_change>{{1e-300}}, 63, 1.0), 1.0, closed_form));
    const resonance<masked<>> masked_pairs{{{}, std::vector<unsigned char>(64, 0)}};
    CHECK(masked_pairs.log_alpha(llama2(), 5, 2.0) == log_alpha_unrotated);
    CHECK_THROWS_AS(validate(resonance<base_change>{{0.0}}, llama2()), value_error);
}
