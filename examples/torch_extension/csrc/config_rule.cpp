// SPDX-License-Identifier: MIT
// Configs, parsed once by models/config/read.hpp.
#include "config_rule.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cordage/basis/rope_scaling.hpp"
#include "cordage/models/config/read.hpp"

namespace cordage_torch {

namespace {

std::shared_ptr<const cordage::hf::model_ropes> parsed(const std::string& config_json, bool is_scaled) {
    constexpr std::size_t most = 64;
    static std::mutex mutex;
    static std::map<std::pair<std::string, bool>, std::shared_ptr<const cordage::hf::model_ropes>> known;
    const std::lock_guard lock(mutex);
    const auto found = known.find({config_json, is_scaled});
    if (found != known.end()) return found->second;
    auto ropes = std::make_shared<const cordage::hf::model_ropes>(
        cordage::hf::read_config(config_json, {.lenient = true, .dictionary_is_callers = is_scaled}));
    if (known.size() >= most) known.clear();
    known.emplace(std::pair(config_json, is_scaled), ropes);
    return ropes;
}

/// The rule of a layer type; without one, that of the first rotated layers.
const cordage::hf::layer_rope& rule_of(const cordage::hf::model_ropes& ropes, const std::string& layer_type) {
    if (!layer_type.empty()) return ropes.of(layer_type);
    const auto rotated = std::ranges::find_if(ropes.ropes, [](const auto& rule) { return rule.rope_type != "none"; });
    return rotated == ropes.ropes.end() ? ropes.ropes[0] : *rotated;
}

}  // namespace

cordage::basis basis_of_config(const std::string& config_json, const std::string& layer_type, bool is_scaled,
                               double length) {
    const auto ropes = parsed(config_json, is_scaled);
    const cordage::hf::layer_rope& rule = rule_of(*ropes, layer_type);
    return cordage::rope_scaling(rule.config, rule.policy, rule.schedule).at_length(length);
}

std::string describe_rule(const std::string& config_json, const std::string& layer_type, bool is_scaled) {
    const auto ropes = parsed(config_json, is_scaled);
    const cordage::hf::layer_rope& rule = rule_of(*ropes, layer_type);
    constexpr double endless = 1e12;
    std::vector<std::string> layer_types;
    for (const auto& one : ropes->ropes) layer_types.push_back(one.layer_type);
    const nlohmann::json words = {
        {"rope_type", rule.rope_type},
        {"layer_type", rule.layer_type},
        {"layer_types", layer_types},
        {"rotary_dim", rule.config.rotary_dim},
        {"head_dim", rule.config.head_dim},
        {"theta_base", rule.config.theta_base},
        {"original_length", rule.config.original_length},
        {"layout", cordage::hf::name_of(rule.layout)},
        {"depends_on_length", rule.schedule.ratio(rule.config, 1.0) != rule.schedule.ratio(rule.config, endless)},
        {"is_plain", !rule.is_inverse && !rule.temperature && !rule.needs_weights},
        {"is_inverse", rule.is_inverse},
        {"needs_weights", rule.needs_weights},
        {"first_lane", rule.first_lane},
        {"axis_of_pair", rule.axis_of_pair},
        {"words", cordage::hf::describe(rule)},
        {"warnings", ropes->warnings},
    };
    return words.dump();
}

}  // namespace cordage_torch
