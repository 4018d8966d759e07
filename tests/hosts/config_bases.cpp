// SPDX-License-Identifier: MIT
// Results of read_config and read_tower for many configs. Each line of stdin is {"text": a config.json} and "lengths":
// [...], "grids": [[frames, rows, columns], ...] or "counting": true; each line of stdout is {"error": "..."},
// {"ropes": [...], "layers": [...]} with a basis for each length and the rules of each layer, {"tower": {...}} with cos
// and sin of each patch and pair, or
// {"counting": {...}}, numbers with 17 digits.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cordage/angles/axis_angles.hpp"
#include "cordage/basis/rope_scaling.hpp"
#include "cordage/models/config/multimodal.hpp"
#include "cordage/models/config/read.hpp"
#include "cordage/models/config/tower.hpp"

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
            {"axis_of_pair", rope.axis_of_pair}, {"is_inverse", rope.is_inverse},
            {"policy", rope.policy_words},       {"bases", bases}};
}

json answer_of_config(const std::string& text, const std::vector<double>& lengths) {
    const auto model = cordage::hf::read_config(text);
    json ropes = json::array(), layers = json::array();
    for (const auto& rope : model.ropes) ropes.push_back(bases_of(rope, lengths));
    for (const auto& layer : model.layers) {
        layers.push_back({{"type", layer.type},
                          {"rule", layer.rule ? json(*layer.rule) : json()},
                          {"indexer", layer.indexer ? json(*layer.indexer) : json()}});
    }
    return {{"ropes", ropes}, {"layers", layers}};
}

json answer_of_tower(const std::string& text, const json& asked) {
    auto tower = cordage::hf::read_tower(text);
    const std::string words = describe(tower);
    if (tower.grid.spatial_merge_size == 0) tower.grid.spatial_merge_size = asked.at("merge").get<cordage::index_t>();
    std::vector<cordage::patch_grid> grids;
    for (const auto& grid : asked.at("grids")) grids.push_back({grid[0], grid[1], grid[2]});
    const auto positions = grid_positions(tower.grid, grids);
    const cordage::index_t axes = tower.grid.axes, tokens = std::ssize(positions) / axes;
    const cordage::axis_angles angles(tower.basis, tower.axis_of_pair,
                                      cordage::axis_minor(positions.data(), axes, 1, tokens));
    json cos = json::array(), sin = json::array();
    for (cordage::index_t token = 0; token < tokens; ++token) {
        json cos_of_token = json::array(), sin_of_token = json::array();
        for (cordage::index_t pair = 0; pair < angles.pairs(); ++pair) {
            const auto at = cordage::cos_sin_at<double>(angles, 0, token, pair);
            cos_of_token.push_back(at.cos);
            sin_of_token.push_back(at.sin);
        }
        cos.push_back(cos_of_token);
        sin.push_back(sin_of_token);
    }
    const auto& [shift, jitter, rescale] = tower.noise;
    return {{"tower",
             {{"head_dim", tower.head_dim},
              {"layout", cordage::hf::name_of(tower.layout)},
              {"parts", tower.parts},
              {"axis_of_pair", tower.axis_of_pair},
              {"tokens_before", tower.grid.tokens_before},
              {"noise", {shift, jitter, rescale}},
              {"words", words},
              {"cos", cos},
              {"sin", sin}}}};
}

json answer_of_counting(const std::string& text) {
    const auto rule = cordage::hf::read_multimodal_rule(text);
    return {{"counting",
             {{"axes", rule.axes},
              {"positions_per_second", rule.positions_per_second},
              {"frames_are_images", rule.frames_are_images},
              {"frames_are_blocks", rule.frames_are_blocks},
              {"next", static_cast<int>(rule.next)}}}};
}

json answer(const json& asked) {
    try {
        const auto text = asked.at("text").get<std::string>();
        if (asked.contains("grids")) return answer_of_tower(text, asked);
        if (asked.contains("counting")) return answer_of_counting(text);
        return answer_of_config(text, asked.at("lengths").get<std::vector<double>>());
    } catch (const cordage::error& why) {
        return {{"error", why.what()}};
    }
}

}  // namespace

int main() {
    for (std::string line; std::getline(std::cin, line);) std::cout << answer(json::parse(line)).dump() << '\n';
    return 0;
}
