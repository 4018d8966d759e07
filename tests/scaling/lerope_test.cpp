// SPDX-License-Identifier: MIT
#include "cordage/scaling/lerope.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "../../examples/own_methods/tabulated.hpp"
#include "cordage/basis/gradient.hpp"
#include "cordage/scaling/any_policy.hpp"
#include "cordage/scaling/masked.hpp"
#include "cordage/scaling/yarn.hpp"
#include "tolerances.hpp"

using namespace cordage;

static_assert(learned_policy<lerope<yarn>> && learned_policy<lerope<any_policy>>);

namespace {

const rope_config config{8, 6, 10000.0, 512.0};
const std::vector<double> offsets{0.1, -0.2, 0.3};
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

lerope<yarn> example() { return {yarn{}, offsets}; }

std::vector<double> numbers(const auto& policy, double t, const auto& read) {
    std::vector<double> out(3);
    read(policy, config, t, std::span<double>(out));
    return out;
}
std::vector<double> log_alphas(const auto& policy, double t) {
    return numbers(policy, t, [](const auto&... all) { log_alpha(all...); });
}
std::vector<double> rates(const auto& policy, double t) {
    return numbers(policy, t, [](const auto&... all) { log_alpha_rate(all...); });
}

}  // namespace

TEST_CASE("scaling/lerope: every frequency of the base is multiplied by the same factor at every t") {
    for (const double t : {1.0, 3.0, 2048.0}) {
        const basis of_base = make_basis(config, yarn{}, t), learned = make_basis(config, example(), t);
        for (std::size_t pair = 0; pair < 3; ++pair) {
            CHECK(learned.inv_freq()[pair] ==
                  doctest::Approx(of_base.inv_freq()[pair] * std::exp(offsets[pair])).epsilon(1e-14));
        }
        CHECK(learned.attention_factor() == of_base.attention_factor());
        CHECK(attention_factor_rate(example(), config, t) == attention_factor_rate(yarn{}, config, t));
        CHECK(rates(example(), t) == rates(yarn{}, t));
        CHECK(log_alphas(lerope<any_policy>{yarn{}, offsets}, t) == log_alphas(example(), t));
        CHECK(log_alphas(lerope<yarn>{yarn{}, {0, 0, 0}}, t) == log_alphas(yarn{}, t));
    }
}

TEST_CASE("scaling/lerope: dL/doffset is dL/dinv_freq times inv_freq, added to") {
    const std::vector<double> grad_inv_freq{0.7, -1.5, 2.0};
    std::vector<double> sums(3, 10.0);
    add_grad_parameters(example(), config, 4.0, grad_inv_freq, sums);
    for (std::size_t pair = 0; pair < 3; ++pair) {
        const auto loss = [&](double step) {
            std::vector<double> moved = offsets;
            moved[pair] += step;
            const basis b = make_basis(config, example().with_parameters(moved), 4.0);
            return grad_inv_freq[pair] * b.inv_freq()[pair];
        };
        CHECK(sums[pair] - 10.0 == doctest::Approx((loss(1e-4) - loss(-1e-4)) / 2e-4).epsilon(1e-8));
    }
    CHECK(example().parameters() == offsets);
}

TEST_CASE("scaling/lerope: offsets of another policy at a t give its basis over any base") {
    const own::tabulated measured({2.0, 8.0}, {0.9, 0.8, 0.7, 0.6, 0.5, 0.25});
    const yarn unmagnified{.given_attention_factor = 1.0};
    for (const double t : {2.0, 5.0, 8.0}) {
        const lerope<yarn> policy{unmagnified, lerope_offsets(config, measured, t, unmagnified, 2048.0)};
        const basis wanted = make_basis(config, measured, t), found = make_basis(config, policy, 2048.0);
        for (std::size_t pair = 0; pair < 3; ++pair) {
            CHECK(found.inv_freq()[pair] ==
                  doctest::Approx(wanted.inv_freq()[pair]).epsilon(cordage_test::closed_form));
        }
    }
    CHECK_THROWS_WITH_AS(lerope_offsets(config, measured, 2.0, yarn{}, std::exp(1.0)),
                         "lerope_offsets: attention factor 1 at t 2 must be that of the base, 1.1", value_error);
    CHECK_THROWS_WITH_AS(lerope_offsets(config, measured, 2.0, proportional{0.5}, 1.0),
                         doctest::Contains("lerope_offsets: offset[1] "), value_error);
}

TEST_CASE("scaling/lerope: offsets that do not fit are named") {
    CHECK_THROWS_WITH_AS(make_basis(config, lerope<>{{}, {0.0, 0.0}}, 1.0),
                         "lerope: offsets size 2 must be rotary_dim/2 = 3", shape_error);
    CHECK_THROWS_WITH_AS(make_basis(config, lerope<>{{}, {0.0, nan_value, 0.0}}, 1.0),
                         "lerope: offset[1] nan must be finite and within -40 ... 40", value_error);
    CHECK_THROWS_WITH_AS(example().with_parameters(std::vector<double>{0.0, 0.0, -40.5}),
                         "lerope: offset[2] -40.5 must be finite and within -40 ... 40", value_error);
    CHECK_THROWS_WITH_AS(example().with_parameters(std::vector<double>(4)),
                         "lerope: parameters size 4 must be the number of offsets, 3", shape_error);
    std::vector<double> sums(3), short_sums(2);
    CHECK_THROWS_WITH_AS(example().log_alpha_vjp(config, 1.0, short_sums, sums),
                         "lerope: grad_log_alpha size 2 must be the number of offsets, 3", shape_error);
    CHECK_THROWS_WITH_AS(example().log_alpha_vjp(config, 1.0, sums, short_sums),
                         "lerope: grad_parameters size 2 must be the number of offsets, 3", shape_error);
    CHECK_THROWS_AS(make_basis(config, lerope<yarn>{yarn{.beta_fast = -1.0}, offsets}, 1.0), value_error);
}
