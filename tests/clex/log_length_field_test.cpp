// SPDX-License-Identifier: MIT
#include "cordage/clex/paper_field.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "clex/field_checks.hpp"
#include "cordage/clex/clex.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/masked.hpp"
#include "cordage/scaling/power_laws.hpp"

using namespace cordage;
using namespace cordage_test;

static_assert(recording_field<log_length_field<>, double>);

namespace {

// The first step of Adam from W_down = 0 moves every log alpha by about s ln t times the rate.
template <class Prior>
void check_step_of_adam(const rope_config& config, index_t lambda, const Prior& prior) {
    constexpr double t = 8.0, rate = 1e-3;
    const clex<log_length_field<Prior>> policy(config, log_length_initial_weights(config, lambda, 3), {.t_max = t},
                                               prior);
    std::vector<double> parameters = policy.parameters(), grad(parameters.size());
    std::vector<double> before(static_cast<std::size_t>(config.pairs())), after(before.size());
    policy.log_alpha(config, t, before);
    policy.log_alpha_vjp(config, t, std::vector<double>(before.size(), 1.0), grad);
    for (std::size_t i = 0; i < grad.size(); ++i) {
        // Adam's first step has the gradient's sign alone; W_up has no gradient yet.
        if (grad[i] != 0.0) parameters[i] += std::copysign(rate, grad[i]);
    }
    policy.with_parameters(parameters).log_alpha(config, t, after);
    for (std::size_t i = 0; i < after.size(); ++i) {
        const double s = config.phase_gate(static_cast<index_t>(i)), moved = (after[i] - before[i]) / rate;
        CAPTURE(i);
        CHECK(moved > 0.6 * s * std::log(t));
        CHECK(moved < 1.4 * s * std::log(t));
    }
}

}  // namespace

TEST_CASE_TEMPLATE(
    "clex/log_length_field: its vjp is the Jacobian transposed, and the derivative in ln t that of the prior", Prior,
    ntk_aware, by_parts) {
    const rope_config config{12, 10, 10000.0, 64.0};
    check_vjp(log_length_field<Prior>(config, dense_weights_for(config)), 0.8);
    check_vjp(log_length_field<Prior, tanh_activation>(config, dense_weights_for(config)), 0.8);
}

TEST_CASE(
    "clex/log_length_field: the prior's part is the paper's times t, the network's are means, damped by the pair's "
    "rotations") {
    const rope_config config{12, 10, 10000.0, 64.0};
    clex_weights zero = dense_weights_for(config);
    std::ranges::fill(zero.down, 0.0);
    std::vector<double> z(5, 0.3), in_t(5), in_log_t(5);
    const double t = 3.0;
    paper_field<>(config, zero)(t, z, in_t);
    log_length_field<>(config, zero)(std::log(t), z, in_log_t);
    for (std::size_t i = 0; i < 5; ++i) CHECK(in_log_t[i] == doctest::Approx(t * in_t[i]).epsilon(1e-14));

    const clex_weights weights = dense_weights_for(config);
    clex_weights of_paper = weights;
    const double size = std::log(10000.0) / std::sqrt(3.0);  // of log theta
    for (double& weight : of_paper.up) weight /= 5.0 * size;
    for (double& weight : of_paper.down) weight *= std::sqrt(2.0 * 3.14159265358979324) / 10.0;
    paper_field<unscaled>(config, of_paper)(t, z, in_t);
    log_length_field<unscaled>(config, weights)(std::log(t), z, in_log_t);
    for (std::size_t i = 0; i < 5; ++i) {
        const double share = 1.0 / (1.0 + 64.0 * config.inv_freq(static_cast<index_t>(i)));
        CHECK(in_log_t[i] == doctest::Approx(share * in_t[i]).epsilon(1e-14));
    }
}

TEST_CASE("clex/log_length_field: a step of Adam moves log alpha by s ln t, a table's by s, at any width, base and t") {
    for (const auto& [config, lambda] : {std::pair{rope_config{64, 64, 100000.0, 8192.0}, index_t{1}},
                                         std::pair{rope_config{128, 128, 10000.0, 4096.0}, index_t{2}}}) {
        check_step_of_adam(config, lambda, unscaled{});
    }
    // The log alpha of pairs that are not rotated, -10^4, once entered W_up z: a step moved the others 1214 times as
    // far.
    const rope_config config{128, 128, 10000.0, 4096.0};
    check_step_of_adam(config, 1, proportional{0.25});
    std::vector<unsigned char> rotates(64, 1);
    std::ranges::fill(std::span(rotates).last(20), static_cast<unsigned char>(0));
    check_step_of_adam(config, 1, masked<by_parts>{by_parts{}, rotates});
}

TEST_CASE(
    "clex/log_length_field: pairs that the prior does not rotate enter W_up z as those of alpha 1, in both fields") {
    const rope_config config{12, 10, 10000.0, 64.0};
    const std::vector<double> z(5, 0.3);
    std::vector<double> hidden = z, out(5), of_hidden(5);
    hidden[4] += log_alpha_unrotated;
    const masked<> four_of_five{unscaled{}, {1, 1, 1, 1, 0}};
    const clex_weights weights = dense_weights_for(config);
    paper_field<unscaled>(config, weights)(2.0, z, out);
    paper_field<masked<>>(config, weights, four_of_five)(2.0, hidden, of_hidden);
    for (std::size_t i = 0; i < 5; ++i) CHECK(of_hidden[i] == doctest::Approx(out[i]).epsilon(1e-10));
    log_length_field<unscaled>(config, weights)(std::log(2.0), z, out);
    log_length_field<masked<>>(config, weights, four_of_five)(std::log(2.0), hidden, of_hidden);
    for (std::size_t i = 0; i < 5; ++i) CHECK(of_hidden[i] == doctest::Approx(out[i]).epsilon(1e-10));
}

TEST_CASE("clex/log_length_field: its gradients to both weights, of clex, are those of finite differences") {
    const rope_config config{12, 12, 10000.0, 64.0};
    clex_weights weights = log_length_initial_weights(config, 1, 3);
    weights.down = clex_initial_weights(config, 1, 4).up;
    const clex<log_length_field<unscaled>> policy(config, weights, {.t_max = 8.0, .tolerance = {1e-13, 1e-13}});
    const std::vector<double> ones(6, 1.0);
    std::vector<double> parameters = policy.parameters(), grad(parameters.size(), 0.5);  // sums: += into what is there
    policy.log_alpha_vjp(config, 4.0, ones, grad);
    for (const std::size_t i : {std::size_t{1}, std::size_t{40}, parameters.size() / 2 + 5}) {
        constexpr double step = 1e-4;
        const auto sum_at = [&](double change) {
            std::vector<double> moved = parameters, out(6);
            moved[i] += change;
            policy.with_parameters(moved).log_alpha(config, 4.0, out);
            return std::accumulate(out.begin(), out.end(), 0.0);
        };
        CHECK(grad[i] - 0.5 == doctest::Approx((sum_at(step) - sum_at(-step)) / (2.0 * step)).epsilon(1e-5));
    }
}
