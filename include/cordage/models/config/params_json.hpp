// SPDX-License-Identifier: MIT
// Mistral's own format, params.json, as the config.json of the same model; serves config/read.hpp.
#pragma once

#include <initializer_list>
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
/// @throws value_error  without rope_theta, for an unknown key of "yarn" or "llama_4_scaling"; the keys of the result
///                      are checked by read_parsed_config
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
    const auto part = [&](const char* key, std::initializer_list<std::string_view> known) {
        nlohmann::json found = nlohmann::json::object();
        if (config.contains(key) && !config[key].is_null()) found = config[key];
        config.erase(key);
        const json_object view(found, key);
        for (const auto& [name, value] : view.json().items()) {
            if (!is_in(known, name)) {
                view.refuse({"key ", in_quotes(name), " must be a known key", nearest_known(name, known)});
            }
        }
        return found;
    };
    nlohmann::json dict = part("yarn", {"factor", "original_max_position_embeddings", "beta", "alpha", "apply_scale"});
    const nlohmann::json scores = part("llama_4_scaling", {"original_max_position_embeddings", "beta"});
    constexpr const char* original = "original_max_position_embeddings";
    dict["rope_type"] = dict.empty() ? "default" : "yarn";
    rename(dict, "beta", "beta_fast");
    rename(dict, "alpha", "beta_slow");
    if (json_object(dict, "yarn").flag("apply_scale") == false) dict["attention_factor"] = 1.0;
    dict.erase("apply_scale");
    if (!scores.empty()) {
        for (const char* key : {original, "beta"}) json_object(scores, "llama_4_scaling").required(key, "params.json");
        if (dict.contains(original) && dict[original] != scores[original]) {
            file.refuse({original, " of yarn and of llama_4_scaling must be equal"});
        }
        dict["llama_4_scaling_beta"] = scores["beta"];
        config[original] = scores[original];
    }
    config["rope_parameters"] = std::move(dict);
    return config;
}

}  // namespace cordage::hf::config_detail
