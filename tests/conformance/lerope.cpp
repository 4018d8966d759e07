// SPDX-License-Identifier: MIT
// lerope.json: a learned basis over the rule of a config, and queries scaled by head and position.
#include "cordage/scaling/lerope.hpp"

#include "cordage/basis/rope_scaling.hpp"
#include "cordage/models/config/read.hpp"
#include "cordage/models/head_temperatures.hpp"
#include "kinds.hpp"

namespace conformance {
namespace {

using namespace cordage;

constexpr double float_basis = 4e-6;      // of a basis computed in float32, relative
constexpr double float_logarithm = 2e-6;  // of numbers of order 10 by a logarithm in float32

void check_basis(const value& one_case, report& result) {
    const auto model = hf::read_parsed_config(one_case["config"].json());
    const hf::layer_rope& rule = model.of("rope");
    const rope_scaling served(rule.config,
                              lerope<any_policy>{rule.policy, one_case["alpha_float32"].numbers(rule.config.pairs())},
                              rule.schedule);
    const basis b = served.at_length(1.0);
    result.near_relative("inv_freq", b.inv_freq(), one_case["inv_freq_float32"].numbers(), float_basis);
    result.near("attention_factor", b.attention_factor(), one_case["attention_factor"].number(), 1e-12);
}

void check_temperatures(const value& one_case, report& result) {
    const head_temperatures temperatures{one_case["scale"].numbers(), one_case["bias"].numbers()};
    const std::vector<double> position_ids = one_case["positions"].numbers();
    const tensor q = one_case["q"].as_tensor(), grad_scaled = one_case["grad_scaled"].as_tensor();
    if (q.shape.size() != 3 || q.shape != grad_scaled.shape) throw malformed("q and grad_scaled must have 3 axes");
    const heads_shape shape{.tokens = q.shape[0], .heads = q.shape[1], .head_dim = q.shape[2]};
    std::vector<double> scaled(q.data.size()), grad_q(q.data.size());
    std::vector<double> grad_scale(temperatures.scale.size()), grad_bias(grad_scale.size());
    const auto read = token_major(q.data.data(), shape);
    scale_queries(temperatures, position_ids, from_to(read, token_major(scaled.data(), shape)));
    scale_queries_backward(
        temperatures, position_ids, {.scale = grad_scale, .bias = grad_bias},
        grad_through(token_major(grad_scaled.data.data(), shape), read, token_major(grad_q.data(), shape)));
    result.near("scaled", scaled, one_case["scaled"].as_tensor().data, float_logarithm);
    result.near("grad_q", grad_q, one_case["grad_q"].as_tensor().data, float_logarithm);
    result.near("grad_scale", grad_scale, one_case["grad_scale"].numbers(), float_logarithm);
    result.near("grad_bias", grad_bias, one_case["grad_bias"].numbers(), float_logarithm);
}

}  // namespace

std::span<const kind> lerope_kinds() {
    static constexpr kind all[]{{"lerope", check_basis}, {"head_temperatures", check_temperatures}};
    return all;
}

}  // namespace conformance
