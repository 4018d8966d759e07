// SPDX-License-Identifier: MIT
// Mistral's own format, params.json, as the config.json of the same model; serves config/read.hpp.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "cordage/models/config/json.hpp"

namespace cordage::hf::config_detail {

using namespace json_detail;

/// Whether a file is a params.json: it names the model's width "dim", and has no model type.
inline bool is_params_json(const nlohmann::json& root) {
    return root.is_object() && root.contains("dim") && root.contains("n_heads") && !root.contains("model_type");
}

/// The config.json that vLLM makes of a params.json (its adapter, 2026-10): other names of the same sizes, and "yarn"
/// as rope_parameters. Without apply_scale YaRN has no attention factor. The layout is that of the tensors beside a
/// params.json, interleaved; a conversion for transformers reorders the rows of q and k for half_split.
/// @throws value_error  without rope_theta, for an unknown key of "yarn"; the keys of the result are checked by
///                      read_parsed_config
inline nlohmann::json config_of_params(const nlohmann::json& root) {
    const json_object file(root, "params.json");
    if (!file.has("rope_theta")) {
        file.refuse({"rope_theta must be given: its default differs between versions of Mistral's code"});
    }
    nlohmann::json config = root;
    const auto rename = [&](nlohmann::json& object, const char* from, const char* to) {
        if (object.contains(from)) object[to] = std::exchange(object[from], nullptr), object.erase(from);
    };
    rename(config, "dim", "hidden_size");
    rename(config, "n_heads", "num_attention_heads");
    rename(config, "n_layers", "num_hidden_layers");
    if (!config.contains("max_position_embeddings")) {
        config["max_position_embeddings"] = config.value("max_seq_len", nlohmann::json(128000));
    }
    config["rope_interleaved"] = true;
    for (const char* key : {"vision_encoder", "multimodal", "moe", "sliding_window"}) config.erase(key);  // no rotation
    const json_object yarn = file.part("yarn");
    constexpr std::string_view known[]{"factor", "original_max_position_embeddings", "beta", "alpha", "apply_scale"};
    for (const auto& [name, value] : yarn.json().items()) {
        if (!is_in(known, name)) {
            yarn.refuse({"key ", in_quotes(name), " must be a known key", nearest_known(name, known)});
        }
    }
    nlohmann::json dict = yarn.json();
    config.erase("yarn");
    dict["rope_type"] = dict.empty() ? "default" : "yarn";
    rename(dict, "beta", "beta_fast");
    rename(dict, "alpha", "beta_slow");
    if (yarn.flag("apply_scale") == false) dict["attention_factor"] = 1.0;
    dict.erase("apply_scale");
    config["rope_parameters"] = std::move(dict);
    return config;
}

}  // namespace cordage::hf::config_detail
