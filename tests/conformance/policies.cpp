// SPDX-License-Identifier: MIT
// policies.json: alpha(t) of the closed-form policies, and the basis of a model's config.json.
//
// Relative tolerances are 1e-13. The log of alpha and its derivative are compared relative to the largest entry of
// their table: where a ramp begins, alpha is 1 up to rounding, and its log has no significant digits.
#include <algorithm>

#include "../../examples/own_methods/base_change_power.hpp"
#include "cordage/basis/basis.hpp"
#include "cordage/basis/rope_scaling.hpp"
#include "cordage/models/config/read.hpp"
#include "cordage/scaling/any_policy.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/yarn.hpp"
#include "cordage/schedule/schedules.hpp"
#include "kinds.hpp"

namespace conformance {
namespace {

using namespace cordage;

constexpr double policy_tolerance = 1e-13;

/// A policy of the file as in cordage. Dynamic NTK is ntk_aware at the t of the schedule `dynamic`, which grows
/// `dynamic_factor` times as fast; the others are at their own t.
struct known_policy {
    any_policy policy;
    double dynamic_factor = 1.0;
};

known_policy policy_named(const std::string& name, const value& params) {
    if (name == "pi") return {linear{}};
    if (name == "ntk_aware") return {ntk_aware{}};
    if (name == "base_change_constant") return {base_change{params["multiplier"].number()}};
    if (name == "base_change_power") {
        return {own::base_change_power{params["multiplier_at_t_ref"].number(), params["t_ref"].number()}};
    }
    if (name == "yarn_by_parts") {
        return {yarn{params["beta_fast"].number(), params["beta_slow"].number(), params["truncate"].flag()}};
    }
    if (name == "llama3") return {by_parts{params["low_freq_factor"].number(), params["high_freq_factor"].number()}};
    if (name == "dynamic_ntk") return {ntk_aware{}, params["factor"].number()};
    throw unsupported("cordage has no policy '" + name + "'");
}

void check_share(const value& one_case, const rope_config& config, report& result) {
    const auto expected = one_case["interpolated_share"].numbers(config.pairs());
    const value params = one_case["params"];
    std::vector<double> got;
    for (index_t pair = 0; pair < config.pairs(); ++pair) {
        if (one_case["policy"].text() == "llama3") {
            const by_parts policy{params["low_freq_factor"].number(), params["high_freq_factor"].number()};
            got.push_back(policy.share(config, pair).r);
        } else {
            const yarn policy{params["beta_fast"].number(), params["beta_slow"].number(), params["truncate"].flag()};
            got.push_back(policy.share(config, pair).r);
        }
    }
    result.near("interpolated_share", got, expected, policy_tolerance);
}

void alpha_table(const value& one_case, report& result) {
    const value params = one_case["params"];
    const auto [policy, dynamic_factor] = policy_named(one_case["policy"].text(), params);
    const index_t rotary_dim = one_case["rotary_dim"].size();
    const char* length_field = "original_max_position_embeddings";
    const rope_config config{.head_dim = rotary_dim,
                             .rotary_dim = rotary_dim,
                             .theta_base = one_case["rope_theta"].number(),
                             .original_length = params.has(length_field) ? params[length_field].number() : 4096.0};
    validate(policy, config);
    const auto theta = one_case["theta"].numbers(config.pairs());
    if (one_case.has("interpolated_share")) check_share(one_case, config, result);

    std::vector<double> got(theta.size());
    for (index_t pair = 0; pair < config.pairs(); ++pair) got[static_cast<std::size_t>(pair)] = config.inv_freq(pair);
    result.near_relative("theta", got, theta, policy_tolerance);

    for (const value& table : one_case["tables"].items()) {
        const double t = ratio_at(dynamic{dynamic_factor}, config, table["t"].number() * config.original_length);
        const auto alpha = table["alpha"].numbers(config.pairs());
        const auto log_alphas = table["log_alpha"].numbers(config.pairs());
        const auto rates = table["dlog_alpha_dt"].numbers(config.pairs());

        log_alpha(policy, config, t, got);
        result.near(table.where() + ".log_alpha", got, log_alphas,
                    policy_tolerance * std::max(largest(log_alphas), 1e-3));
        for (double& x : got) x = std::exp(x);
        result.near_relative(table.where() + ".alpha", got, alpha, policy_tolerance);
        log_alpha_rate(policy, config, t, got);
        for (double& x : got) x *= dynamic_factor;
        result.near(table.where() + ".dlog_alpha_dt", got, rates, policy_tolerance * largest(rates));

        const basis b = make_basis(config, policy, t);
        for (std::size_t pair = 0; pair < got.size(); ++pair) got[pair] = alpha[pair] * theta[pair];
        result.near_relative(table.where() + " inv_freq", b.inv_freq(), got, policy_tolerance);

        const double factor = table.has("attention_factor") ? table["attention_factor"].number() : 1.0;
        const double factor_rate = table.has("dattention_factor_dt") ? table["dattention_factor_dt"].number() : 0.0;
        result.near(table.where() + ".attention_factor", attention_factor(policy, config, t), factor,
                    policy_tolerance * factor);
        result.near(table.where() + ".dattention_factor_dt", dynamic_factor * attention_factor_rate(policy, config, t),
                    factor_rate, policy_tolerance * factor_rate);
    }
}

/// Settings after defaults, if the file states them.
void check_resolved(const value& resolved, const hf::layer_rope& rope, report& result) {
    result.require("resolved.head_dim", rope.config.head_dim == resolved["head_dim"].size());
    result.require("resolved.rotary_dim", rope.config.rotary_dim == resolved["rotary_dim"].size());
    result.require("resolved.rope_theta", rope.config.theta_base == resolved["rope_theta"].number());
    result.require("resolved.rope_type", rope.rope_type == resolved["rope_type"].text());
    if (resolved.has("original_max_position_embeddings")) {
        result.require("resolved.original_max_position_embeddings",
                       rope.config.original_length == resolved["original_max_position_embeddings"].number());
    }
}

void check_ramp(const value& one_case, const rope_config& config, report& result) {
    const value resolved = one_case["resolved"], expected = one_case["expected"];
    const yarn policy{resolved["beta_fast"].number(), resolved["beta_slow"].number(), resolved["truncate"].flag()};
    result.near("ramp_low", policy.ramp(config).low, expected["ramp_low"].number(), policy_tolerance * 100.0);
    result.near("ramp_high", policy.ramp(config).high, expected["ramp_high"].number(), policy_tolerance * 100.0);
    std::vector<double> got;
    for (index_t pair = 0; pair < config.pairs(); ++pair) got.push_back(policy.share(config, pair).r);
    result.near("ramp", got, expected["ramp"].numbers(config.pairs()), policy_tolerance);
}

/// From the text of a config to numbers, as in an engine.
void inv_freq(const value& one_case, report& result) {
    const hf::model_ropes model = hf::read_config(one_case["config"].json().dump());
    const hf::layer_rope& rope = model.of(one_case.has("layer_type") ? one_case["layer_type"].text() : "");
    const value resolved = one_case["resolved"], expected = one_case["expected"];
    check_resolved(resolved, rope, result);

    const double seq_len = resolved.has("seq_len") ? resolved["seq_len"].number() : 1.0;
    const cordage::rope_scaling served(rope.config, rope.policy, rope.schedule);
    const basis b = served.at_length(seq_len);
    result.near_relative("inv_freq", b.inv_freq(), expected["inv_freq"].numbers(rope.config.pairs()), policy_tolerance);
    const double factor = expected["attention_factor"].number();
    result.near("attention_factor", b.attention_factor(), factor, policy_tolerance * factor);
    if (expected.has("ramp")) check_ramp(one_case, rope.config, result);
    if (expected.has("effective_base")) {  // the base that would give the last frequency without scaling
        const auto d = static_cast<double>(rope.config.rotary_dim);
        const double base = std::pow(b.inv_freq().back(), -d / (d - 2.0)), wanted = expected["effective_base"].number();
        result.near("effective_base", base, wanted, policy_tolerance * wanted);
    }
}

}  // namespace

std::span<const kind> policies_kinds() {
    static constexpr kind kinds[] = {{"alpha_table", alpha_table}, {"inv_freq", inv_freq}};
    return kinds;
}

}  // namespace conformance
