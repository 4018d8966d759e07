// SPDX-License-Identifier: MIT
#include "cordage/clex/clex.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "clex/field_checks.hpp"
#include "clex/golden.hpp"
#include "cordage/basis/basis_cache.hpp"
#include "cordage/clex/initial_weights.hpp"
#include "cordage/schedule/schedules.hpp"

using namespace cordage;
using namespace cordage_test;

static_assert(learned_policy<clex_released<>> && learned_policy<clex_released<silu>>);

namespace {

const rope_config small{16, 12, 10000.0, 64.0};
const vector weights_of_loss{1.0, -0.5, 0.3, 0.8, -1.2, 0.4};

template <class Policy>
double loss_of(const Policy& policy, double t) {
    vector out(6);
    policy.log_alpha(small, t, out);
    return std::inner_product(out.begin(), out.end(), weights_of_loss.begin(), 0.0);
}

}  // namespace

TEST_CASE("clex/released: t = 1 is the unscaled basis, and W_down = 0 is NTK-aware scaling by 2t - 1") {
    const clex_released<> policy(small, clex_initial_weights(small, 1, 5), released_options(16.0, 0.01));
    const basis at_one = make_basis(small, policy, 1.0);
    for (index_t pair = 0; pair < 6; ++pair) {
        CHECK(at_one.inv_freq()[static_cast<std::size_t>(pair)] ==
              doctest::Approx(small.inv_freq(pair)).epsilon(1e-15));
    }
    vector out(6);
    for (const double t : {2.0, 5.0, 16.0}) {  // nodes: the 3/8 rule is exact to 1e-8 here
        policy.log_alpha(small, t, out);
        for (index_t pair = 0; pair < 6; ++pair) {
            const double wanted = ntk_aware{}.log_alpha(small, pair, 2.0 * t - 1.0);
            CHECK(std::abs(out[static_cast<std::size_t>(pair)] - wanted) < 1e-8);
        }
    }
    CHECK(policy.attention_factor(small, 4.0) == 1.0);
}

TEST_CASE("clex/released: between steps of time_dt, counted from 1, z is interpolated linearly") {
    const clex_released<> policy(small, dense_weights_for(small), released_options(4.3, 0.5));
    CHECK(largest_difference(policy.path().times(), vector{1, 1.5, 2, 2.5, 3, 3.5, 4, 4.3}) < 1e-15);
    vector left(6), right(6), between(6), rate(6);
    policy.log_alpha(small, 2.5, left);
    policy.log_alpha(small, 3.0, right);
    policy.log_alpha(small, 2.6, between);
    policy.log_alpha_rate(small, 2.6, rate);
    for (std::size_t i = 0; i < 6; ++i) {
        CHECK(between[i] == doctest::Approx(0.8 * left[i] + 0.2 * right[i]).epsilon(1e-13));
        CHECK(rate[i] == doctest::Approx((right[i] - left[i]) / 0.5).epsilon(1e-12));
    }
}

TEST_CASE_TEMPLATE("clex/released: the gradient to the weights is that of finite differences", Activation,
                   tanh_activation, silu) {
    const clex_released<Activation> policy(small, dense_weights_for(small), released_options(8.0, 0.3));
    for (const double t : {2.0, 3.37, 8.0}) {  // a node but for rounding, between nodes, the end
        vector grad(policy.parameters().size());
        policy.log_alpha_vjp(small, t, weights_of_loss, grad);
        const vector center = policy.parameters();
        for (std::size_t i = 0; i < center.size(); i += 5) {
            vector moved = center;
            moved[i] = center[i] + 1e-5;
            const double above = loss_of(policy.with_parameters(moved), t);
            moved[i] = center[i] - 1e-5;
            const double below = loss_of(policy.with_parameters(moved), t);
            CHECK(std::abs(grad[i] - (above - below) / 2e-5) < 1e-8 * (1.0 + std::abs(grad[i])));
        }
    }
}

TEST_CASE("clex/released: with parameters of another training step it is solved by the same steps again") {
    const clex_released<> policy(small, dense_weights_for(small), released_options(8.0, 0.3));
    const auto again = policy.with_parameters(policy.parameters());
    CHECK(std::ranges::equal(again.path().times(), policy.path().times()));
    CHECK(again.options().step_size == 0.3);
    CHECK(loss_of(again, 8.0) == loss_of(policy, 8.0));
}

TEST_CASE("clex/released: a server holds one basis for each whole t") {
    const clex_released<> policy(small, dense_weights_for(small), released_options(4.0, 0.1));
    const basis_cache cache(small, policy, nearest_upper_bound({1, 2, 3, 4}));
    for (const double seq_len : {1.0, 64.0, 65.0, 200.0, 1e6}) {
        const double t = ratio_at(rounded_up{4.0}, small, seq_len);
        CHECK(std::ranges::equal(cache.at_length(seq_len).inv_freq(), make_basis(small, policy, t).inv_freq()));
    }
}

TEST_CASE("clex/released: steps out of their domain are named") {
    const auto weights = dense_weights_for(small);
    CHECK_THROWS_WITH_AS(clex_released<>(small, weights, released_options(0.5, 0.1)),
                         "clex: t_max 0.5 must be finite and >= 1", value_error);
    CHECK_THROWS_WITH_AS(clex_released<>(small, weights, released_options(4.0, -0.1)),
                         "clex: step_size -0.1 must be finite and >= 0", value_error);
    CHECK_THROWS_WITH_AS(clex_released<>(small, weights, released_options(4.0, 0.0)),
                         "clex: fixed_steps 0 must be >= 1, or step_size 0 must be > 0: tableau rk4_38 has no "
                         "error weights to choose steps by",
                         value_error);
    CHECK_THROWS_AS(clex_released<>(small, weights, released_options(4.0, 1e-12)), value_error);
    CHECK_THROWS_WITH_AS(clex_released<>(small, weights, {.t_max = 4.0, .fixed_steps = 3, .step_size = 0.5}),
                         "clex: fixed_steps 3 and step_size 0.5 must not both be given", value_error);
}

// Once, path() depended on the number of steps: z up to 249 of them, other coordinates from 250 on.
TEST_CASE("clex/released: any number of steps is solved in log inv_freq, as the field is by solve_fixed") {
    const clex_released<> few(small, dense_weights_for(small), released_options(8.0, 0.05));
    const clex_released<> there(small, dense_weights_for(small), released_options(8.0, 0.02));
    released_field<> field(small, dense_weights_for(small));
    vector z1(6), z(6), expected(6), grad_z1(6), grad_weights(144);
    for (index_t i = 0; i < 6; ++i) z1[static_cast<std::size_t>(i)] = small.log_inv_freq(i);
    for (const auto* policy : {&few, &there}) CHECK(std::ranges::equal(policy->path().state(0), z1));
    const auto path = solve_fixed<linear_output<rk4_38>>(field, {1.0, 8.0}, z1, step_size{0.02});
    for (const double t : {1.0, 3.333, 8.0}) {
        path.at(t, expected);
        there.log_alpha(small, t, z);
        for (std::size_t i = 0; i < 6; ++i) CHECK(z[i] + z1[i] == doctest::Approx(expected[i]).epsilon(1e-13));
    }
    const clex_seed seed{3.333, weights_of_loss};
    const clex_gradient grad = there.gradient({&seed, 1});
    const gradient_seed<double> same{3.333, weights_of_loss};
    discrete_adjoint(path, field, {{same}}, {grad_z1, grad_weights});
    CHECK(relative_difference(grad.z1, grad_z1) < 1e-12);
    CHECK(relative_difference(grad.parameters, grad_weights) < 1e-12);
}

TEST_CASE_TEMPLATE("clex/released: with the network in float the numbers are as good as float", Activation,
                   tanh_activation, silu) {
    const clex_released<Activation> exact(small, dense_weights_for(small), released_options(16.0, 0.01));
    const clex_released<Activation, float> narrow(small, dense_weights_for(small), released_options(16.0, 0.01));
    vector x(6), y(6);
    for (const double t : {1.0, 2.0, 7.77, 16.0}) {
        exact.log_alpha(small, t, x);
        narrow.log_alpha(small, t, y);
        CHECK(largest_difference(x, y) < 5e-6);
    }
    const clex_seed seed{16.0, weights_of_loss};
    const clex_gradient grad = exact.gradient({&seed, 1}), rough = narrow.gradient({&seed, 1});
    CHECK(relative_difference(rough.parameters, grad.parameters) < 1e-5);
    CHECK(relative_difference(rough.z1, grad.z1) < 1e-5);
}
