// SPDX-License-Identifier: MIT
// Learned policies, each taught the basis of by_parts at t = 4 and t = 16 alone: the pictures show what they make of
// the lengths between.
#include <cmath>
#include <cordage/clex/clex.hpp>
#include <cordage/clex/initial_weights.hpp>
#include <cordage/scaling/by_parts.hpp>
#include <cordage/scaling/learned_table.hpp>

#include "alpha_panels.hpp"
#include "pictures.hpp"

namespace {

constexpr double taught_t[] = {4, 16};

/// Adam on the mean squared difference of log alpha.
template <cordage::learned_policy Policy>
Policy taught(Policy policy, double rate, int steps) {
    const auto pairs = static_cast<std::size_t>(pictured_model.pairs());
    std::vector<double> numbers = policy.parameters(), mean(numbers.size()), square(numbers.size());
    std::vector<double> wanted(pairs), seen(pairs);
    for (int step = 1; step <= steps; ++step) {
        std::vector<double> gradient(numbers.size());
        for (const double t : taught_t) {
            cordage::log_alpha(cordage::by_parts{}, pictured_model, t, wanted);
            cordage::log_alpha(policy, pictured_model, t, seen);
            for (std::size_t i = 0; i < pairs; ++i) seen[i] = (seen[i] - wanted[i]) / static_cast<double>(pairs);
            policy.log_alpha_vjp(pictured_model, t, seen, gradient);
        }
        const double now = rate * (1.0 - static_cast<double>(step - 1) / steps);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            mean[i] = 0.9 * mean[i] + 0.1 * gradient[i];
            square[i] = 0.99 * square[i] + 0.01 * gradient[i] * gradient[i];
            numbers[i] -= now * mean[i] / (std::sqrt(square[i]) + 1e-6);
        }
        policy = policy.with_parameters(numbers);
    }
    return policy;
}

}  // namespace

std::vector<picture> pictures_of_learned_policies() {
    using namespace cordage;
    const clex_weights start = clex_initial_weights(pictured_model, 1, 0);
    const clex_options exact{.t_max = 16, .tolerance = {1e-6, 1e-6}};
    const learned_table<ntk_aware> table = taught(learned_table<ntk_aware>(pictured_model, {4, 16}), 0.02, 400);
    const auto paper = taught(clex<>(pictured_model, start, exact), 0.004, 400);
    const clex_weights means = log_length_initial_weights(pictured_model, 1, 0);
    const auto in_log_length = taught(clex<log_length_field<>>(pictured_model, means, exact), 0.3, 400);
    const auto released = taught(clex_released<>(pictured_model, start, released_options(16, 0.25)), 0.004, 400);
    const alpha_range range{.lowest = 1.0 / 32};
    return {
        {"learned_table",
         {alpha_over_t("learned_table: α over t", table), alpha_over_pairs("and over the pairs", table)}},
        {"clex",
         {alpha_over_t("clex: α over t", paper, range), alpha_over_t("clex in ln t: α over t", in_log_length, range)}},
        {"clex_released",
         {alpha_over_t("clex_released: α over t", released, range),
          alpha_over_pairs("and over the pairs", released, range)}}};
}
