// SPDX-License-Identifier: MIT
#include "cordage/scaling/tempered.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "cordage/attention/score_factors.hpp"
#include "cordage/basis/gradient.hpp"
#include "cordage/clex/clex.hpp"
#include "cordage/kernels.hpp"
#include "cordage/models/head_temperatures.hpp"
#include "cordage/scaling/any_policy.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/learned_table.hpp"
#include "cordage/scaling/lerope.hpp"
#include "cordage/scaling/longrope.hpp"
#include "cordage/scaling/yarn.hpp"

using namespace cordage;

static_assert(learned_policy<tempered<by_parts>> && has_attention_factor_vjp<tempered<by_parts>>);
static_assert(learned_policy<tempered<any_policy>> && !has_attention_factor_vjp<learned_table<>>);

namespace {

const rope_config config{6, 6, 10000.0, 64.0};
const score_temperature law{0.3, 1.7};
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

std::vector<double> wave(std::size_t size, double step) {
    std::vector<double> out(size);
    for (std::size_t i = 0; i < size; ++i) out[i] = 0.1 * std::sin(step * static_cast<double>(i + 1));
    return out;
}
learned_table<yarn> table() { return learned_table<yarn>(config, {2.0, 8.0}).with_parameters(wave(6, 0.7)); }
clex<log_length_field<by_parts>> ode() {
    return {config, {.hidden = 4, .pairs = 3, .up = wave(12, 0.7), .down = wave(12, 1.3)}, {.t_max = 8.0}, by_parts{}};
}

/// A loss of everything that a basis is: sum of weights times log inv_freq, and 0.6 m.
double loss(const auto& policy, double t) {
    const basis b = make_basis(config, policy, t);
    double sum = 0.6 * b.attention_factor();
    for (std::size_t i = 0; i < 3; ++i) sum += (0.5 - static_cast<double>(i)) * std::log(b.inv_freq()[i]);
    return sum;
}

/// Its gradient to the parameters, by add_grad_parameters on top of 10, against central differences.
void check_gradient(const auto& policy, double t) {
    const basis b = make_basis(config, policy, t);
    std::vector<double> grad_inv_freq(3), numbers = policy.parameters(), sums(numbers.size(), 10.0);
    for (std::size_t i = 0; i < 3; ++i) grad_inv_freq[i] = (0.5 - static_cast<double>(i)) / b.inv_freq()[i];
    add_grad_parameters(policy, config, t, grad_inv_freq, sums, 0.6);
    for (std::size_t k = 0; k < numbers.size(); ++k) {
        const auto at = [&](double step) {
            std::vector<double> moved = numbers;
            moved[k] += step;
            return loss(policy.with_parameters(moved), t);
        };
        CHECK_MESSAGE(sums[k] - 10.0 == doctest::Approx((at(1e-5) - at(-1e-5)) / 2e-5).epsilon(1e-6), k);
    }
}

}  // namespace

TEST_CASE("scaling/tempered: log scaling, YaRN's, LongRoPE's and DeepSeek's factors are temperatures") {
    for (const double t : {1.0, 1.5, 4.0, 40.0}) {
        CHECK(log_scaling_temperature(64.0).at(t) == doctest::Approx(log_scaling(64.0 * t, 64.0)).epsilon(1e-14));
        CHECK(yarn_temperature().at(t) == doctest::Approx(deepseek_score_factor(t, 1.0)).epsilon(1e-14));
        const tempered by_log{by_parts{}, log_scaling_temperature(64.0)}, as_yarn{by_parts{}, yarn_temperature()};
        CHECK(by_log.attention_factor(config, t) == doctest::Approx(longrope_attention_factor(t, 64.0)).epsilon(1e-14));
        CHECK(as_yarn.attention_factor(config, t) ==
              doctest::Approx(yarn{}.attention_factor(config, t)).epsilon(1e-14));
    }
    CHECK_THROWS_WITH_AS(log_scaling_temperature(1.0),
                         "log_scaling_temperature: original_length 1 must be finite and > 1", value_error);
}

TEST_CASE("scaling/tempered: the temperature is exactly 1 up to t = 1, and everywhere at power 0") {
    CHECK(law.at(1.0) == 1.0);
    CHECK(law.at(0.01) == 1.0);
    CHECK(law.at(8.0) > 1.3);
    CHECK(score_temperature{0.3, 0.0}.at(8.0) == 1.0);
    CHECK(make_basis(config, tempered{by_parts{}, law}, 1.0).attention_factor() == 1.0);
    CHECK(make_basis(config, tempered{yarn{}, score_temperature{0.3, 0.0}}, 5.0).attention_factor() ==
          yarn{}.attention_factor(config, 5.0));
}

TEST_CASE("scaling/tempered: scores are multiplied by the temperature, and the angles stay the policy's") {
    const double t = 5.0;
    const basis plain = make_basis(config, table(), t), hot = make_basis(config, tempered{table(), law}, t);
    CHECK(std::equal(plain.inv_freq().begin(), plain.inv_freq().end(), hot.inv_freq().begin()));
    const std::vector<double> x = wave(12, 2.9);
    const std::vector<int> position_ids{3, 40};
    const auto score = [&](const basis& b) {
        std::vector<double> y(12);
        const heads_shape shape{.tokens = 2, .heads = 1, .head_dim = 6};
        rotate_forward<half_split>(exact_angles(b, position_ids),
                                   from_to(token_major(x.data(), shape), token_major(y.data(), shape)));
        return std::inner_product(y.begin(), y.begin() + 6, y.begin() + 6, 0.0);
    };
    CHECK(score(hot) == doctest::Approx(law.at(t) * score(plain)).epsilon(1e-12));
}

TEST_CASE("scaling/tempered: rates are the derivatives in t") {
    const tempered policy{table(), law};
    std::vector<double> rates(3), of_policy(3);
    for (const double t : {1.3, 5.0, 20.0}) {
        const double h = 1e-5;
        CHECK(law.rate(t) == doctest::Approx((law.at(t + h) - law.at(t - h)) / (2 * h)).epsilon(1e-8));
        const double rate = (policy.attention_factor(config, t + h) - policy.attention_factor(config, t - h)) / (2 * h);
        CHECK(policy.attention_factor_rate(config, t) == doctest::Approx(rate).epsilon(1e-8));
        log_alpha_rate(policy, config, t, rates);
        log_alpha_rate(table(), config, t, of_policy);
        CHECK(rates == of_policy);
    }
}

TEST_CASE("scaling/tempered: the policy's parameters and the temperature's learn together, whatever the policy") {
    for (const double t : {1.0, 1.7, 8.0}) {
        check_gradient(tempered{by_parts{}, law}, t);
        check_gradient(tempered{yarn{}, log_scaling_temperature(64.0)}, t);
        check_gradient(tempered{table(), law}, t);
        check_gradient(tempered{lerope<yarn>{yarn{}, {0.1, -0.2, 0.3}}, law}, t);
        check_gradient(tempered{ode(), law}, t);
        check_gradient(tempered{tempered{table(), law}, score_temperature{0.7, -0.4}}, t);
        check_gradient(any_policy(tempered{table(), law}), t);
        check_gradient(any_policy(table()), t);
        check_gradient(any_policy(tempered{any_policy(tempered{any_policy(table()), law}), law}), t);
    }
}

TEST_CASE("scaling/tempered: parameters are the policy's, then ln slope and power") {
    const std::vector<double> numbers = tempered{table(), law}.parameters();
    REQUIRE(numbers.size() == 8);
    CHECK(std::vector<double>(numbers.begin(), numbers.begin() + 6) == wave(6, 0.7));
    CHECK(numbers[6] == std::log(0.3));
    CHECK(numbers[7] == 1.7);
    std::vector<double> moved = numbers;
    moved[0] = 0.25, moved[6] = std::log(0.5), moved[7] = -1.0;
    const auto other = tempered{table(), law}.with_parameters(moved);
    CHECK(other.policy.parameters()[0] == 0.25);
    CHECK(other.temperature.slope == doctest::Approx(0.5).epsilon(1e-15));
    CHECK(other.temperature.power == -1.0);
    const auto fixed_basis = tempered{by_parts{}, law}.with_parameters(std::vector<double>{0.0, 2.0});
    CHECK(fixed_basis.temperature.slope == 1.0);
}

TEST_CASE("scaling/tempered: a temperature for each head, and where lanes are not rotated, is a factor on queries") {
    const std::vector<double> q = wave(16, 2.3), weights = wave(16, 1.1);
    const std::vector<int> position_ids{3, 40};
    const heads_shape shape{.tokens = 2, .heads = 2, .head_dim = 4};
    const double t = 8.0;
    const auto loss_of = [&](const std::vector<score_temperature>& of_head) {
        std::vector<double> scaled(16);
        const head_temperatures factors{{0.0, 0.0}, {of_head[0].at(t), of_head[1].at(t)}};
        scale_queries(factors, position_ids, from_to(token_major(q.data(), shape), token_major(scaled.data(), shape)));
        return std::inner_product(scaled.begin(), scaled.end(), weights.begin(), 0.0);
    };
    const std::vector<score_temperature> of_head{law, {0.2, -0.5}};
    std::vector<double> grad_factor(2), grad_q(16), grad_parameters(2), scaled(16);
    scale_queries_backward(head_temperatures{{0.0, 0.0}, {of_head[0].at(t), of_head[1].at(t)}}, position_ids,
                           {.bias = grad_factor},
                           grad_through(token_major(weights.data(), shape), token_major(q.data(), shape),
                                        token_major(grad_q.data(), shape)));
    of_head[1].vjp(t, grad_factor[1], grad_parameters);
    for (std::size_t k = 0; k < 2; ++k) {
        const auto at = [&](double step) {
            std::vector<double> moved = of_head[1].parameters();
            moved[k] += step;
            return loss_of({of_head[0], score_temperature::with_parameters(moved)});
        };
        CHECK(grad_parameters[k] == doctest::Approx((at(1e-5) - at(-1e-5)) / 2e-5).epsilon(1e-7));
    }
}

TEST_CASE("scaling/tempered: what does not fit is one clear error") {
    CHECK_THROWS_WITH_AS(make_basis({8, 6, 10000.0, 64.0}, tempered{by_parts{}, law}, 2.0),
                         "tempered: rotary_dim 6 must be head_dim 8: a factor on cos and sin misses the lanes that are "
                         "not rotated; multiply queries or the softmax scale by score_temperature::at(t) instead",
                         value_error);
    const auto refused = [](const score_temperature& bad, const char* text) {
        CHECK_THROWS_WITH_AS(make_basis(config, tempered{by_parts{}, bad}, 2.0), text, value_error);
    };
    refused({0.0, 1.0}, "score_temperature: slope 0 must be finite and within e^-40 ... e^40");
    refused({1e-20, 1.0}, "score_temperature: slope 1e-20 must be finite and within e^-40 ... e^40");
    refused({-0.1, 1.0}, "score_temperature: slope -0.1 must be finite and within e^-40 ... e^40");
    refused({0.1, nan_value}, "score_temperature: power nan must be finite");
    CHECK_THROWS_AS(validate(tempered{by_parts{4.0, 1.0}, law}, config), value_error);

    const tempered policy{table(), law};
    std::vector<double> numbers = policy.parameters(), grad(3);
    CHECK_THROWS_WITH_AS(policy.with_parameters(std::span(numbers).first(7)),
                         "tempered: parameters size 7 must be the policy's 6 + 2", shape_error);
    CHECK_THROWS_AS(policy.log_alpha_vjp(config, 2.0, grad, std::span(numbers).first(7)), shape_error);
    CHECK_THROWS_AS(policy.attention_factor_vjp(config, 2.0, 1.0, std::span(numbers).first(7)), shape_error);
    CHECK_THROWS_AS(policy.attention_factor_vjp(config, 0.5, 1.0, numbers), value_error);
    CHECK(numbers == policy.parameters());
    numbers[6] = 41.0;
    CHECK_THROWS_WITH_AS(policy.with_parameters(numbers),
                         "score_temperature: ln slope 41 must be finite and within -40 ... 40", value_error);
    numbers[6] = 0.0, numbers[7] = nan_value;
    CHECK_THROWS_WITH_AS(policy.with_parameters(numbers), "score_temperature: power nan must be finite", value_error);
    CHECK_THROWS_WITH_AS(law.vjp(2.0, 1.0, grad), "score_temperature: parameters size 3 must be 2: ln slope, power",
                         shape_error);
    CHECK_THROWS_AS(score_temperature::with_parameters(grad), shape_error);
}
