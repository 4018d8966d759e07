// SPDX-License-Identifier: MIT
// What read_config makes of many configs at once. Each line of stdin is {"text": a config.json, "lengths": [...]}; each
// line of stdout is {"error": "..."} or {"ropes": [...]}, numbers with 17 digits, a basis for each length.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cordage/basis/rope_scaling.hpp"
#include "cordage/config/read.hpp"

namespace {

using nlohmann::json;

json bases_of(const cordage::hf::layer_rope& rope, const std::vector<double>& lengths) {
    const cordage::rope_scaling served(rope.config, rope.policy, rope.schedule);
    json bases = json::array();
    for (const double length : lengths) {
        const cordage::basis basis = served.at_length(length);
        bases.push_back({{"inv_freq", basis.inv_freq()}, {"attention_factor", basis.attention_factor()}});
    }
    return {{"layer_type", rope.layer_type},     {"rope_type", rope.rope_type},
            {"head_dim", rope.config.head_dim},  {"rotary_dim", rope.config.rotary_dim},
            {"first_lane", rope.first_lane},     {"layout", cordage::hf::name_of(rope.layout)},
            {"axis_of_pair", rope.axis_of_pair}, {"turns_back", rope.turns_back},
            {"policy", rope.policy_words},       {"bases", bases}};
}

json answer(const json& asked) {
    try {
        const auto model = cordage::hf::read_config(asked.at("text").get<std::string>());
        json ropes = json::array();
        for (const auto& rope : model.ropes) {
            ropes.push_back(bases_of(rope, asked.at("lengths").get<std::vector<double>>()));
        }
        return {{"ropes", ropes}};
    } catch (const cordage::error& why) {
        return {{"error", why.what()}};
    }
}

}  // namespace

int main() {
    for (std::string line; std::getline(std::cin, line);) std::cout << answer(json::parse(line)).dump() << '\n';
    return 0;
}
