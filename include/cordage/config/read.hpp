// SPDX-License-Identifier: MIT
// Reads the rotation of a model from its config.json, in every spelling in use (nlohmann-json).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cordage/config/layers.hpp"
#include "cordage/config/params_json.hpp"
#include "cordage/config/tower_families.hpp"

namespace cordage::hf {

/// Options of read_config.
struct read_options {
    bool lenient = false;  ///< doubtful settings become model_ropes::warnings instead of errors
    /// The rope dictionary is the caller's, for a rotation in place of the model's: it is read even if the code of the
    /// model_type reads none (ESM). It has no effect on towers, whose dictionary is always read.
    bool dictionary_is_callers = false;
};

namespace config_detail {

// clang-format off
/// Top-level keys of a rotation. A similar key that is not in this list is reported.
inline constexpr std::string_view rope_keys[] = {
    "compress_rope_theta", "global_rope_theta", "layer_rope_theta", "local_rope_theta", "no_rope_layer_interval",
    "no_rope_layers", "partial_rotary_factor", "partial_rotary_factors", "qk_rope_head_dim", "rope_base",
    "rope_interleave", "rope_interleaved", "rope_local_base_freq", "rope_parameters", "rope_pct", "rope_ratio",
    "rope_scaling", "rope_scaling_layers", "rope_theta", "rotary_base", "rotary_dim", "rotary_emb_base",
    "rotary_emb_fraction", "rotary_emb_interleaved", "rotary_embedding_base", "rotary_pct", "rotary_percentage", "rotary_value",
    "swa_qk_rope_head_dim", "swa_rope_theta"};
// clang-format on

/// Reports top-level keys that resemble a known one, and those whose effect is not supported.
inline void check_top_keys(const json_object& config) {
    for (const auto& [key, entry] : config.json().items()) {
        const auto is_near = [&own = key](const char* name) { return edit_distance(own, name) <= 2; };
        const bool looks_alike = key.starts_with("rope_") || key.starts_with("rotary_") ||
                                 (key.size() < 24 && (is_near("rope_scaling") || is_near("rope_parameters")));
        if (!looks_alike || is_in(rope_keys, key) || (key == "rotary_emb_scale_base" && entry.is_null())) continue;
        config.doubt({"key ", in_quotes(key), " must be a known key", nearest_known(key, rope_keys)});
    }
    for (const auto& [key, why] : {std::pair{"use_dynamic_ntk", "its rule for more than seq_length tokens"},  // Qwen
                                   {"rotary_value", "a rotation of values"}}) {  // RoFormer
        if (config.flag(key).value_or(false)) config.doubt({key, " true must be false: ", why, " is not supported"});
    }
}

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

/// Rejects models without a rotary embedding, and reports configs from which it is not clear that they have one.
inline void check_rotary_embedding(const json_object& config, const std::string& model_type, const family* known) {
    const auto refuse = [&](std::initializer_list<message_part> what) {
        config.refuse({joined(what), "; only models that rotate q and k can be read"});
    };
    const std::string quoted = "model_type " + in_quotes(model_type);
    if (const auto instead = what_of(unrotated, model_type); !instead.empty()) {
        refuse({quoted, " has no rotary embedding but ", instead});
    }
    if (find_tower(model_type) != nullptr) {
        config.refuse({quoted, " is a tower with positions on a grid: use hf::read_tower"});
    }
    if (const auto how = what_of(rotated_otherwise, model_type); !how.empty()) {
        config.refuse({quoted, " rotates ", how, ", which is not supported"});
    }
    for (const char* key : {"rope_parameters", "rope_scaling"}) {
        const json_object dict = config.part(key);
        if (model_type != "olmo_hybrid" || !dict.has_null("rope_theta")) continue;
        refuse({quoted, " has no rotary embedding if rope_theta of ", key, " is null"});
    }
    const json_object inner = config.part("attn_config");
    if (config.flag("alibi").value_or(false) || inner.flag("alibi").value_or(false)) {
        refuse({"alibi true selects ALiBi instead of a rotary embedding"});
    }
    bool says_so = inner.has("rope_theta");
    for (const char* key : {"position_embedding_type", "position_embeddings_type"}) {
        const auto type = config.text(key);
        if (type && *type != "rope" && *type != "rotary") {
            refuse({key, " ", in_quotes(*type), " must be 'rope' or 'rotary'"});
        }
        says_so = says_so || type;
    }
    for (const char* key : {"use_mem_rope", "use_rotary_embedding"}) {
        const auto flag = config.flag(key);
        if (flag && !*flag) refuse({key, " false means that it has no rotary embedding"});
        says_so = says_so || flag;
    }
    if (config.number("qk_rope_head_dim") == 0.0) refuse({"qk_rope_head_dim 0 means that no lanes are rotated"});
    if (known != nullptr && !known->rotary_key.empty() && !config.has(known->rotary_key)) {
        refuse({quoted, " has a rotary embedding only if ", known->rotary_key, " is given"});
    }
    if (known == nullptr && config.has("patch_size") && !config.has("vocab_size")) {
        config.doubt({quoted, " must be a known model type: patch_size suggests a tower with positions on a grid"});
    }
    for (const std::string_view key : rope_keys) says_so = says_so || config.json().contains(key);  // a null counts
    if (known == nullptr && !says_so) {
        config.doubt({quoted,
                      " must be a known model type, or rope_theta or rope_parameters must be given: no key shows ",
                      "that q and k are rotated"});
    }
}

/// The rope dictionary: "rope_parameters" (new) or "rope_scaling" (old).
inline json_object rope_dictionary(const json_object& config, const std::string& model_type, const family& known,
                                   bool is_callers = false) {
    const auto* parameters = config.find("rope_parameters");
    const auto* scaling = config.find("rope_scaling");
    if (parameters != nullptr && scaling != nullptr && *parameters != *scaling) {
        config.doubt({"rope_scaling must equal rope_parameters or be left out"});
    }
    if (!known.reads_dictionary && !is_callers) {
        for (const char* key : {"rope_parameters", "rope_scaling"}) {
            if (config.has(key)) not_read(config, message(key, " must be left out"));
        }
        return config.none(config.where());
    }
    if (parameters != nullptr) return config.other(*parameters, "rope_parameters");
    if (scaling != nullptr) return config.other(*scaling, "rope_scaling");
    if (!known.default_rope_type.empty()) {
        config.doubt({"rope_parameters must be given for model_type ", in_quotes(model_type),
                      ": its code has its own defaults for rope type '", known.default_rope_type, "'"});
    }
    return config.none(config.where());
}

}  // namespace config_detail

/// The rotation of a parsed config's model, one rule for each layer type. Throws as read_config(text).
inline model_ropes read_parsed_config(const nlohmann::json& root, const read_options& options = {}) {
    using namespace config_detail;
    if (is_params_json(root)) return read_parsed_config(config_of_params(root), options);
    model_ropes out;
    const json_object whole(root, "config", options.lenient ? &out.warnings : nullptr);
    const json_object config = language_part(whole);
    out.model_type = config.text("model_type").value_or(whole.text("model_type").value_or(""));
    const family* const known = find_family(out.model_type);
    check_top_keys(config);
    check_rotary_embedding(config, out.model_type, known);

    std::optional<index_t> positions;  // the first found; later ones may mean something else (Qwen's seq_length)
    for (const char* key :
         {"max_position_embeddings", "n_positions", "seq_length", "max_seq_len", "model_max_length"}) {
        if (!positions) positions = config.count(key);
    }
    out.max_length = static_cast<double>(positions.value_or(0));
    const family& used = known == nullptr ? unknown_family : *known;
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
/// Follows transformers 5.23, except for `truncate` in dictionaries by layer type, which that version looks up in the
/// wrong place and ignores.
/// @throws value_error or shape_error; otherwise only std::bad_alloc
inline model_ropes read_config(std::string_view text, const read_options& options = {}) {
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
