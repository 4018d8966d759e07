// SPDX-License-Identifier: MIT
#include "cordage/clex/clex.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "clex/field_checks.hpp"
#include "clex/golden.hpp"
#include "cordage/clex/initial_weights.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/yarn.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

const rope_config small{16, 12, 10000.0, 64.0};

/// One field type for all priors, which limits compile time.
template <class Tableau = tsit5>
using over_any = clex<paper_field<any_prior>, Tableau>;

/// c . log alpha(t) for two seeds.
const vector first_seed{1.0, -0.5, 0.3, 0.8, -1.2, 0.4}, second_seed{0.2, 0.9, -0.7, 0.1, 0.6, -0.3};
template <class Policy>
double loss_of(const Policy& policy, double t_first, double t_second) {
    const vector x = log_alpha_at(policy, policy.config(), t_first),
                 y = log_alpha_at(policy, policy.config(), t_second);
    return std::inner_product(x.begin(), x.end(), first_seed.begin(), 0.0) +
           std::inner_product(y.begin(), y.end(), second_seed.begin(), 0.0);
}

// Compares the gradient to up, down and z(1) with a golden case, each within `allowed`.
void check_gradient(const clex_gradient& grad, const nlohmann::json& expected, double allowed) {
    const auto parameters = std::span(grad.parameters);
    const std::size_t half = parameters.size() / 2;
    CHECK(relative_difference(parameters.first(half), matrix_of(expected.at("up"))) < allowed);
    CHECK(relative_difference(parameters.last(half), matrix_of(expected.at("down"))) < allowed);
    CHECK(relative_difference(grad.z1, expected.at("z1").get<vector>()) < allowed);
}

template <class Policy>
void check_between_nodes(const typename Policy::prior_type& prior) {
    // Equal steps: the mesh must not depend on the differentiated numbers.
    const clex_options options{.t_max = 16.0, .fixed_steps = 6};
    const Policy policy(small, dense_weights_for(small), options, prior);
    const double t_first = 5.3, t_second = 14.1, step = 1e-5;
    const std::vector<clex_seed> seeds{{t_first, first_seed}, {t_second, second_seed}};
    const clex_gradient grad = policy.gradient(seeds);

    vector flat(policy.parameters().size());
    policy.log_alpha_vjp(small, t_first, first_seed, flat);
    policy.log_alpha_vjp(small, t_second, second_seed, flat);
    CHECK(relative_difference(flat, grad.parameters) < 1e-13);

    const vector center = policy.parameters();
    for (std::size_t i = 0; i < center.size(); i += 7) {
        vector moved = center;
        moved[i] = center[i] + step;
        const double above = loss_of(policy.with_parameters(moved), t_first, t_second);
        moved[i] = center[i] - step;
        const double below = loss_of(policy.with_parameters(moved), t_first, t_second);
        CHECK(std::abs(flat[i] - (above - below) / (2 * step)) < 1e-8 * (1.0 + std::abs(flat[i])));
    }
}

}  // namespace

TEST_CASE("clex/clex: the discrete gradient to up, down and z(1) is the golden one") {
    for (const auto& item : golden_cases("gradient")) {
        const auto& expected = item.at("discrete");
        const double t_max = item.at("T");
        const auto c = item.at("c").get<vector>();
        const auto check = [&]<class Tableau>(Tableau) {
            const over_any<Tableau> policy(config_of(item), weights_of(item),
                                           {.t_max = t_max, .fixed_steps = expected.at("N")}, ntk_aware{});
            const clex_seed seed{t_max, c};
            check_gradient(policy.gradient({&seed, 1}), expected, 1e-12);
        };
        if (expected.at("method") == "rk4") {
            check(rk4_classic{});
        } else {
            REQUIRE(expected.at("method") == "rk4_38");
            check(rk4_38{});
        }
    }
}

TEST_CASE("clex/clex: at tight tolerance the gradient and the rate are those of the exact flow") {
    for (const auto& item : golden_cases("gradient")) {
        const auto& expected = item.at("truth");
        const double t_max = item.at("T");
        const auto c = item.at("c").get<vector>();
        const over_any<> policy(config_of(item), weights_of(item), {.t_max = t_max, .tolerance = {1e-12, 1e-12}},
                                ntk_aware{});
        const clex_seed seed{t_max, c};
        check_gradient(policy.gradient({&seed, 1}), expected, 1e-11);
        vector rate(c.size());
        policy.log_alpha_rate(policy.config(), t_max, rate);
        CHECK(relative_difference(vector{std::inner_product(c.begin(), c.end(), rate.begin(), 0.0)},
                                  vector{expected.at("T")}) < 1e-11);
    }
}

TEST_CASE("clex/clex: gradients from seeds between nodes equal finite differences") {
    for (const any_prior& prior : {any_prior(by_parts{}), any_prior(yarn{}), any_prior(square_root{})}) {
        check_between_nodes<over_any<>>(prior);
        check_between_nodes<clex<log_length_field<any_prior, tanh_activation>, dopri5>>(prior);
    }
    check_between_nodes<clex<log_length_field<any_prior>, rk4_38>>(ntk_aware{});
    check_between_nodes<clex<log_length_field<any_prior>, rk4_38>>(linear{});
}
