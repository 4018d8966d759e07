// SPDX-License-Identifier: MIT
// released_configs.json: the rules of layer types and layers, read from configs as models are released.
#include <algorithm>
#include <string>
#include <vector>

#include "cordage/basis/rope_scaling.hpp"
#include "cordage/models/config/read.hpp"
#include "kinds.hpp"

namespace conformance {
namespace {

using namespace cordage;

void check_rule(const value& expected, const hf::layer_rope& rule, double length, report& result) {
    if (expected.has("rotates") && !expected["rotates"].flag()) {
        result.require("no rotation", !rule.rotates());
        return;
    }
    const basis made = rope_scaling(rule.config, rule.policy, rule.schedule).at_length(length);
    result.near_relative("inv_freq", made.inv_freq(), expected["inv_freq"].numbers(), 1e-13);
    result.near("attention_factor", made.attention_factor(), expected["attention_factor"].number(), 1e-13);
    if (expected.has("layout")) {
        const std::string layout = expected["layout"].text();
        result.require("layout", name_of(rule.layout) == (layout.empty() ? "layout unknown" : layout));
    }
    if (expected.has("first_lane")) result.require("first_lane", rule.first_lane == expected["first_lane"].integer());
    if (expected.has("head_dim")) result.require("head_dim", rule.config.head_dim == expected["head_dim"].size());
    if (expected.has("axis_of_pair")) {
        const std::vector<double> axes(rule.axis_of_pair.begin(), rule.axis_of_pair.end());
        result.near("axis_of_pair", axes, expected["axis_of_pair"].numbers(), 0.0);
    }
}

void check_config(const value& one_case, report& result) {
    hf::model_ropes model;
    try {
        model = hf::read_parsed_config(one_case["config"].json());
    } catch (const error& why) {
        const bool may_be = one_case.has("may_be_refused") && one_case["may_be_refused"].flag();
        result.require(std::string("the config is read: ") + why.what(), may_be);
        return;
    }
    const double length = one_case.has("length") ? one_case["length"].number() : 1.0;
    const auto rules = one_case.has("rules") ? one_case["rules"].items() : std::vector<value>{};
    for (const value& rule : rules) check_rule(rule, model.of(rule["layer_type"].text()), length, result);
    if (!rules.empty()) result.require("the number of rules", model.ropes.size() == rules.size());
    if (!one_case.has("rule_of_layer")) return;
    index_t layer = 0;
    for (const value& type : one_case["rule_of_layer"].items()) {
        result.require(message("the rule of layer ", layer), model.at(layer).layer_type == type.text());
        ++layer;
    }
}

}  // namespace

std::span<const kind> released_kinds() {
    static constexpr kind all[]{{"released_config", check_config}};
    return all;
}

}  // namespace conformance
