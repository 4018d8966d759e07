// SPDX-License-Identifier: MIT
// Fuzzes CLEX with arbitrary weights, settings and lengths: one error, or a finite solution that starts at its prior,
// is reproducible, and has a gradient linear in its seed.
#include <algorithm>
#include <concepts>
#include <span>
#include <type_traits>
#include <vector>

#include "cordage/clex/clex.hpp"
#include "cordage/ode/tableaus.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "input.hpp"
#include "run_counter.hpp"

namespace {

using namespace cordage;
using fuzz::expect;
using fuzz::input;

using clex_of_floats = clex<paper_field<ntk_aware, silu, float>, dopri5>;

/// low to high, sometimes any number.
double number(input& in, double low, double high) {
    if (in.rarely(128)) return in.hostile_number();
    return low + (high - low) * in.share();
}

rope_config random_config(input& in) {
    const index_t rotary_dim = 2 * in.between(1, 6);
    return {rotary_dim, rotary_dim, number(in, 2.0, 1e6), number(in, 1.0, 1e5)};
}

clex_weights random_weights(input& in, const rope_config& config) {
    const index_t hidden = in.rarely() ? in.hostile_integer() : in.between(1, 12);
    const auto size = static_cast<std::size_t>(config.pairs() * std::clamp<index_t>(hidden, 0, 12));
    clex_weights weights{hidden, config.pairs(), std::vector<double>(size), std::vector<double>(size)};
    // Few are arbitrary, or no run would get past the checks.
    auto random = in.generator();
    const double scale = std::ldexp(1.0, static_cast<int>(in.between(-8, 3)));
    for (auto* matrix : {&weights.up, &weights.down}) {
        for (double& weight : *matrix) weight = fuzz::uniform(random, -scale, scale);
        if (in.rarely(16) && !matrix->empty()) matrix->back() = in.hostile_number();
    }
    return weights;
}

/// At most some hundred steps, so that a run takes milliseconds.
clex_options random_options(input& in) {
    clex_options options{.t_max = number(in, 1.0, 40.0), .max_steps = in.between(1, 256)};
    const double exponent = number(in, -10.0, -2.0);
    options.tolerance = {std::pow(10.0, exponent), in.coin() ? std::pow(10.0, exponent) : number(in, 0.0, 1e-2)};
    if (in.coin()) options.fixed_steps = in.coin() ? in.between(1, 20) : in.between(240, 260);
    if (in.rarely(8)) options.step_size = (options.t_max - 1.0) / static_cast<double>(in.between(1, 255));
    if (in.rarely()) options.fixed_steps = -in.between(0, 255);
    if (in.rarely()) options.step_size = -options.step_size;
    return options;
}

std::vector<double> log_alpha_at(const auto& policy, const rope_config& config, double t) {
    std::vector<double> out(static_cast<std::size_t>(config.pairs()));
    policy.log_alpha(config, t, out);
    return out;
}

/// grad_parameters for one seed.
std::vector<double> gradient_of(const auto& policy, double t, const std::vector<double>& seed) {
    std::vector<double> out(policy.parameters().size());
    policy.log_alpha_vjp(policy.config(), t, seed, out);
    return out;
}

void check(input& in, const auto& policy) {
    const rope_config& config = policy.config();
    const double t = std::min(1.0 + in.share() * (policy.options().t_max - 1.0), policy.options().t_max);
    const std::vector<double> here = log_alpha_at(policy, config, t), start = log_alpha_at(policy, config, 1.0);
    std::vector<double> rate(here.size());
    policy.log_alpha_rate(config, t, rate);
    for (std::size_t i = 0; i < here.size(); ++i) {
        expect(is_finite(here[i]) && is_finite(rate[i]), "log alpha and its rate are finite");
        const double prior = policy.prior().log_alpha(config, static_cast<index_t>(i), 1.0);
        expect(std::fabs(start[i] - prior) <= 1e-12, "at t = 1 CLEX is its prior");
    }
    expect(log_alpha_at(policy.with_parameters(policy.parameters()), config, t) == here, "solved again it is the same");

    std::vector<double> seed(here.size(), 0.75), twice(here.size(), 1.5);
    const std::vector<double> once = gradient_of(policy, t, seed), doubled = gradient_of(policy, t, twice);
    if constexpr (std::same_as<std::remove_cvref_t<decltype(policy)>, clex_of_floats>) {
        // A float that underflows is rounded, and twice the number by another share of itself: at most some 1e-44 off,
        // which two weights up to 1e6 multiply.
        for (const double weight : policy.parameters()) {
            if (!(std::fabs(weight) <= 1e6)) return;
        }
    }
    double largest = 1.0;
    for (const double x : once) {
        if (!(std::fabs(x) <= 1e30)) return;  // sums may overflow for twice the seed
        largest = std::max(largest, std::fabs(x));
    }
    for (std::size_t i = 0; i < once.size(); ++i) {
        const double apart = std::fabs(doubled[i] - 2.0 * once[i]);
        expect(apart <= 1e-12 * std::fabs(once[i]) + 1e-30 * largest, "twice the seed has twice the gradient");
    }
}

template <class Policy>
bool run(input& in, const rope_config& config) {
    try {
        const clex_weights weights = random_weights(in, config);
        const Policy policy(config, weights, random_options(in));
        check(in, policy);
    } catch (const error&) {
        return false;
    }
    return true;
}

bool run(input& in) {
    const auto kind = in.between(0, 3);
    const rope_config config = random_config(in);
    if (kind == 0) return run<clex<>>(in, config);
    if (kind == 1) return run<clex<log_length_field<by_parts, tanh_activation>>>(in, config);
    if (kind == 2) return run<clex_of_floats>(in, config);
    return run<clex_released<silu>>(in, config);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static fuzz::run_counter counter("solved a CLEX");
    input in(data, size);
    run(in) ? counter.passed() : counter.refused();
    return 0;
}
