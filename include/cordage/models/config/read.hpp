// SPDX-License-Identifier: MIT
// Reads the rotation of a model from its config.json, in every spelling in use (nlohmann-json).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cordage/models/config/layers.hpp"
#include "cordage/models/config/params_json.hpp"
#include "cordage/models/config/rotary_keys.hpp"
#include "cordage/models/config/tower_families.hpp"

namespace cordage::hf {

/// Options of read_config.
struct read_options {
    bool lenient = false;  ///< doubtful settings become model_ropes::warnings instead of errors
    /// The rope dictionary is the caller's, for a rotation in place of the model's: it is read even if the code of the
    /// model_type reads none (ESM). It has no effect on towers, whose dictionary is always read.
    bool dictionary_is_callers = false;
};

namespace config_detail {

/// Reports a layer type of which only some layers are rotated (Cohere 2 MoE).
inline void check_dense_layers(const json_object& config, const family& known) {
    const auto* types = config.find("mlp_layer_types");
    const bool has_dense = config.number("first_k_dense_replace").value_or(0.0) > 0.0 ||
                           (types != nullptr && types->is_array() && is_in(*types, "dense"));
    if (known.rotates_dense_layers && has_dense &&
        config.number("prefix_dense_sliding_window_pattern").value_or(1.0) == 1.0) {
        config.doubt({"prefix_dense_sliding_window_pattern must not be 1 with dense layers: these are rotated, ",
                      "other layers of type full_attention are not"});
    }
}

/// The part of a config that describes the language model: "text_config", unless only the top level has keys of a
/// rotation. If both have such keys, those of the top level may belong to another part.
inline json_object language_part(const json_object& whole) {
    const auto has_rotation = [](const json_object& part) {
        return part.has("rope_scaling") || part.has("rope_parameters") || part.has("rope_theta");
    };
    for (const char* key : {"text_config", "language_config", "llm_config", "thinker_config", "vlm_config",
                            "decoder_config", "decoder", "transformer_layer_config"}) {
        const auto* found = whole.find(key);
        if (found == nullptr || !found->is_object()) continue;
        const bool is_one_of_many = std::string_view(key).starts_with("decoder") &&
                                    !what_of(rotated_otherwise, whole.text("model_type").value_or("")).empty();
        if (is_one_of_many) continue;  // BLT
        const json_object inner = language_part(whole.other(*found, whole.where() + "." + key));
        return has_rotation(inner) || !has_rotation(whole) ? inner : whole;
    }
    return whole;
}

/// The rope dictionary: "rope_parameters" (new) or "rope_scaling" (old).
inline json_object rope_dictionary(const json_object& config, const std::string& model_type, const family& known,
                                   bool is_callers = false) {
    const auto* parameters = config.find("rope_parameters");
    const auto* scaling = config.find("rope_scaling");
    if (parameters != nullptr && scaling != nullptr && *parameters != *scaling) {
        config.doubt({"rope_scaling must equal rope_parameters or be left out"});
    }
    if (known.does_read("no rope_scaling") && scaling != nullptr && !scaling->empty()) {
        not_read(config, "rope_scaling must be named rope_parameters");
    }
    if (!known.reads_dictionary && !is_callers) {
        for (const char* key : {"rope_parameters", "rope_scaling"}) {
            if (config.has(key)) not_read(config, message(key, " must be left out"));
        }
        return config.none(config.where());
    }
    if (parameters != nullptr) return config.other(*parameters, "rope_parameters");
    if (scaling != nullptr) return config.other(*scaling, "rope_scaling");
    const auto* const bases = config.find("rope_theta");
    const bool has_all_bases =
        bases != nullptr && (bases->is_array() || std::ranges::any_of(words(local_theta_keys), [&](const auto& key) {
                                 return config.has(key);
                             }));
    if (!known.default_rope_type.empty() && !(known.default_rope_type == by_layer_type && has_all_bases)) {
        config.doubt({"rope_parameters must be given for model_type ", in_quotes(model_type),
                      ": its code has its own defaults for rope type '", known.default_rope_type, "'"});
    }
    return config.none(config.where());
}

/// A config whose latent attention is switched off, without the keys of that attention (DeepSeek OCR's sizes of 0);
/// nullopt for other configs.
inline std::optional<nlohmann::json> without_latent_attention(const json_object& config) {
    const bool is_off = config.flag("use_mla") == false;
    if (config.number("qk_rope_head_dim") != 0.0) {
        if (is_off && config.has("qk_rope_head_dim")) {
            config.doubt(
                {"use_mla false must be true, or qk_rope_head_dim be 0 or left out: transformers does not read ",
                 "use_mla, the code of DeepSeek's authors does"});
        }
        return std::nullopt;
    }
    if (config.flag("use_mla") == true || (!is_off && config.number("qk_nope_head_dim") != 0.0)) return std::nullopt;
    nlohmann::json without = config.json();
    for (const char* key : {"qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"}) without.erase(key);
    return without;
}

}  // namespace config_detail

/// The rotation of a parsed config's model, one rule for each layer type. Throws as read_config(text).
inline model_ropes read_parsed_config(const nlohmann::json& root, const read_options& options = {}) {
    using namespace config_detail;
    if (is_params_json(root)) return read_parsed_config(config_of_params(root), options);
    model_ropes out;
    const json_object whole(root, "config", options.lenient ? &out.warnings : nullptr);
    const json_object part = language_part(whole);
    const auto without = without_latent_attention(part);
    const json_object given = without ? part.other(*without, part.where()) : part;
    out.model_type = given.text("model_type").value_or(whole.text("model_type").value_or(""));
    const family* const known = find_family(out.model_type);
    check_rotary_embedding(given, out.model_type, known);
    check_keys_of_rotation(given);

    family used = known == nullptr ? unknown_family : *known;
    const auto read = without_unread_keys(given, used);
    const json_object config = read ? given.other(*read, given.where()) : given;
    std::optional<index_t> positions;  // the first found; later ones may mean something else (Qwen's seq_length)
    for (const char* key : {"max_position_embeddings", "n_positions", "seq_length", "max_seq_len",
                            "max_sequence_length", "model_max_length"}) {
        if (!positions) positions = config.count(key);
    }
    out.max_length = static_cast<double>(positions.value_or(0));
    if (without && used.rotates_own_part) {  // as Llama, in the code of DeepSeek's authors
        used = {.model_types = known->model_types, .layout = half_split, .theta_base = known->theta_base};
    }
    const layer_reader reader{config, per_layer(config, used), used, out.max_length};
    check_dense_layers(config, reader.known);
    add_ropes(reader, rope_dictionary(config, out.model_type, reader.known, options.dictionary_is_callers), out);
    return out;
}

/// The rotation of a model from the text of its config.json.
///
///   const auto model = hf::read_config(text);
///   const auto& rule = model.of("full_attention");
///   rope_scaling served(rule.config, rule.policy, rule.schedule);  // basis by length, attention factor included
///
/// Reads rope_scaling and rope_parameters, flat or by layer type, `type` and `rope_type`, and the other keys listed in
/// docs/config_keys.md, each mapped to its formula. A key in a rope dictionary that is unknown, without effect for the
/// type, or contradicts another one is an error that names it and the most similar known key; with options.lenient a
/// warning. The same holds for an unknown model_type without any key of a rotary embedding. Wrong types, numbers out of
/// range, and models without a rotary embedding are always errors. Sizes are those of each layer type, wherever the
/// config gives them (per_layer_config, global_head_dim, attention_head_dim, swa_...).
///
/// Follows transformers 5.24, except for `truncate` in dictionaries by layer type, which that version looks up in the
/// wrong place and ignores.
/// @throws value_error or shape_error; otherwise only std::bad_alloc
inline model_ropes read_config(std::string_view text, const read_options& options = {}) {
    if (text.ends_with(".json") || text.ends_with(".gguf")) {
        fail<value_error>({"hf::read_config: text ", in_quotes(text), " must be JSON; hf::read_model reads a file"});
    }
    return read_parsed_config(json_detail::parse_strict_json("hf::read_config", text), options);
}

/// The JSON of a config.json, for read_parsed_config and similar.
/// @throws value_error  unless the file is readable, has at most 64 MiB and is strict JSON
inline nlohmann::json parse_config_file(const std::string& path) {
    constexpr std::uintmax_t largest = std::uintmax_t{64} << 20;
    const auto text = json_detail::text_of_file(path, largest);
    if (!text) {
        fail<value_error>({"hf::read_config_file: ", path, " must be a readable file of at most ", largest, " bytes"});
    }
    return json_detail::parse_strict_json(path, *text);
}

/// read_config for a file. Throws as parse_config_file and read_config.
inline model_ropes read_config_file(const std::string& path, const read_options& options = {}) {
    return read_parsed_config(parse_config_file(path), options);
}

}  // namespace cordage::hf
