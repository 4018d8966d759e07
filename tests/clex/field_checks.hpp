// SPDX-License-Identifier: MIT
// Checks that hold for every CLEX field, for the tests of the stage clex.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "cordage/clex/initial_weights.hpp"
#include "cordage/clex/weights.hpp"
#include "cordage/scaling/policy.hpp"

namespace cordage_test {

/// Weights without zeros, large enough for the network to matter.
inline cordage::clex_weights dense_weights_for(const cordage::rope_config& config) {
    cordage::clex_weights weights = cordage::clex_initial_weights(config, 1, 11);
    weights.down = cordage::clex_initial_weights(config, 1, 12).up;
    for (double& weight : weights.down) weight *= 0.1;  // keeps the ODE well behaved up to t = 16
    return weights;
}

/// <J v, w> = <v, J^T w> for the state, against central differences; both gradients are added to existing values.
template <class Field>
void check_vjp(Field field, double t) {
    const auto size = static_cast<std::size_t>(field.size());
    std::vector<double> z(size), v(size), w(size), moved(size), above(size), below(size), grad_z(size);
    std::vector<double> grad_parameters(static_cast<std::size_t>(field.parameter_count()));
    for (std::size_t i = 0; i < size; ++i) {
        const auto x = static_cast<double>(i);
        z[i] = std::sin(1.0 + x), v[i] = std::cos(2.0 * x), w[i] = std::sin(3.0 * x + 0.5);
    }
    field.vjp(t, z, w, grad_z, grad_parameters);
    std::vector<double> twice_z = grad_z, twice_parameters = grad_parameters;
    field.vjp(t, z, w, twice_z, twice_parameters);
    const auto is_double = [](double twice, double once) { return twice == 2.0 * once; };
    CHECK(std::ranges::equal(twice_z, grad_z, is_double));
    CHECK(std::ranges::equal(twice_parameters, grad_parameters, is_double));
    const double step = 1e-5;
    const auto pulled = [&](double along, std::vector<double>& out) {
        for (std::size_t i = 0; i < size; ++i) moved[i] = z[i] + along * v[i];
        field(t, moved, out);
        return std::inner_product(out.begin(), out.end(), w.begin(), 0.0);
    };
    const double along_v = (pulled(step, above) - pulled(-step, below)) / (2 * step);
    CHECK(std::inner_product(v.begin(), v.end(), grad_z.begin(), 0.0) == doctest::Approx(along_v).epsilon(1e-8));
}

/// States recorded together give the same as vjp at each, whichever of them the field was evaluated at before, with
/// others in between.
template <class Field>
void check_recorded(const Field& fresh) {
    const auto size = static_cast<std::size_t>(fresh.size());
    constexpr std::size_t count = 150;
    std::vector<double> times(count), states(count * size), dz(size), w(size);
    for (std::size_t i = 0; i < count; ++i) {
        times[i] = 1.0 + 0.05 * static_cast<double>(i);
        for (std::size_t k = 0; k < size; ++k) states[i * size + k] = std::sin(0.1 * static_cast<double>(i * k + 1));
    }
    const auto state = [&](std::size_t i) { return std::span<const double>(states).subspan(i * size, size); };
    for (std::size_t k = 0; k < size; ++k) w[k] = std::cos(static_cast<double>(k));
    for (const std::size_t evaluated_from : {std::size_t{0}, std::size_t{60}, std::size_t{141}, count}) {
        Field field = fresh, one = fresh;
        for (std::size_t i = evaluated_from; i < count; ++i) {
            field(times[i], state(i), dz);
            if (i % 9 == 0) field(times[i], state(3), dz);
        }
        std::vector<double> parameters(static_cast<std::size_t>(fresh.parameter_count())), expected = parameters;
        field.record(std::span<const double>(times), std::span<const double>(states));
        for (std::size_t i = 0; i < count; ++i) {
            std::vector<double> grad(size), expected_grad(size);
            field.pull_back(static_cast<cordage::index_t>(i), std::span<const double>(w), std::span<double>(grad));
            one.vjp(times[i], state(i), w, expected_grad, expected);
            for (std::size_t k = 0; k < size; ++k) {
                REQUIRE(std::fabs(grad[k] - expected_grad[k]) <= 1e-13 * (1.0 + std::fabs(expected_grad[k])));
            }
        }
        field.collect(std::span<double>(parameters));
        for (std::size_t k = 0; k < parameters.size(); ++k) {
            REQUIRE(std::fabs(parameters[k] - expected[k]) <= 1e-12 * (1.0 + std::fabs(expected[k])));
        }
    }
}

/// A field in double and in float, with weights of 5 pairs: equal to float's precision.
template <class Exact, class Narrow>
void check_narrow(Exact exact, Narrow narrow) {
    const std::vector<double> z{0.1, -0.9, 0.5, -2.0, 1.5};
    const std::vector<float> z_narrow(z.begin(), z.end());
    std::vector<double> dz(5);
    std::vector<float> dz_narrow(5);
    exact(1.5, z, dz);
    narrow(1.5f, z_narrow, dz_narrow);
    for (std::size_t i = 0; i < 5; ++i) CHECK(double{dz_narrow[i]} == doctest::Approx(dz[i]).epsilon(1e-5));
}

/// Any closed form as one type, so that its fields are compiled once.
class any_prior {
 public:
    template <cordage::prior_policy Prior>
    any_prior(Prior prior)  // NOLINT: implicit
        : log_alpha_([prior](const auto& c, auto i, double t) { return prior.log_alpha(c, i, t); }),
          rate_([prior](const auto& c, auto i, double t) { return prior.log_alpha_rate(c, i, t); }),
          factor_([prior](const auto& c, auto, double t) { return cordage::attention_factor(prior, c, t); }),
          factor_rate_([prior](const auto& c, auto, double t) { return cordage::attention_factor_rate(prior, c, t); }) {
    }

    double log_alpha(const cordage::rope_config& c, cordage::index_t i, double t) const { return log_alpha_(c, i, t); }
    double log_alpha_rate(const cordage::rope_config& c, cordage::index_t i, double t) const { return rate_(c, i, t); }
    double attention_factor(const cordage::rope_config& c, double t) const { return factor_(c, 0, t); }
    double attention_factor_rate(const cordage::rope_config& c, double t) const { return factor_rate_(c, 0, t); }

 private:
    std::function<double(const cordage::rope_config&, cordage::index_t, double)> log_alpha_, rate_, factor_,
        factor_rate_;
};

/// A user's rule with an attention factor.
struct square_root {
    double log_alpha(const cordage::rope_config&, cordage::index_t, double t) const { return -0.5 * std::log(t); }
    double log_alpha_rate(const cordage::rope_config&, cordage::index_t, double t) const { return -0.5 / t; }
    double attention_factor(const cordage::rope_config&, double t) const { return 1.0 + 0.2 * std::log(t); }
    double attention_factor_rate(const cordage::rope_config&, double t) const { return 0.2 / t; }
};

template <class Policy>
std::vector<double> log_alpha_at(const Policy& policy, const cordage::rope_config& config, double t) {
    std::vector<double> out(static_cast<std::size_t>(config.pairs()));
    cordage::log_alpha(policy, config, t, out);
    return out;
}

}  // namespace cordage_test
