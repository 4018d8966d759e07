// SPDX-License-Identifier: MIT
// Reads what any model's config.json says of its rotation, in every spelling in use (nlohmann-json).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cordage/config/layers.hpp"
#include "cordage/config/tower_families.hpp"

namespace cordage::hf {

/// How to read.
struct read_options {
    bool lenient = false;  ///< doubtful settings become model_ropes::warnings instead of errors
};

namespace config_detail {

// clang-format off
/// Top-level keys that say something of rotation; one that looks like them and is none of them is doubtful.
inline constexpr std::string_view rope_keys[] = {
    "compress_rope_theta", "global_rope_theta", "layer_rope_theta", "local_rope_theta", "no_rope_layer_interval",
    "no_rope_layers", "partial_rotary_factor", "partial_rotary_factors", "qk_rope_head_dim", "rope_base",
    "rope_interleave", "rope_interleaved", "rope_local_base_freq", "rope_parameters", "rope_pct", "rope_ratio",
    "rope_scaling", "rope_scaling_layers", "rope_theta", "rotary_base", "rotary_dim", "rotary_emb_base",
    "rotary_emb_fraction", "rotary_emb_interleaved", "rotary_embedding_base", "rotary_pct", "rotary_percentage", "rotary_value",
    "swa_qk_rope_head_dim", "swa_rope_theta"};
// clang-format on

/// Complains of keys of the top level that look like a misspelt one, and of those whose effect is not known here.
inline void check_top_keys(const json_object& config) {
    for (const auto& [key, entry] : config.json().items()) {
        const auto is_near = [&key = key](const char* name) { return edit_distance(key, name) <= 2; };
        const bool looks_alike = key.starts_with("rope_") || key.starts_with("rotary_") ||
                                 (key.size() < 24 && (is_near("rope_scaling") || is_near("rope_parameters")));
        if (!looks_alike || is_in(rope_keys, key) || (key == "rotary_emb_scale_base" && entry.is_null())) continue;
        config.doubt({"key ", in_quotes(key), " must be a known one", nearest_known(key, rope_keys)});
    }
    for (const auto& [key, why] : {std::pair{"use_dynamic_ntk", "its rule for more than seq_length tokens"},  // Qwen
                                   {"rotary_value", "a rotation of values"}}) {  // RoFormer
        if (config.flag(key).value_or(false)) config.doubt({key, " true must be false: ", why, " is not known here"});
    }
}

/// Doubts layers of one type of which some turn and some do not (Cohere 2 MoE).
inline void check_dense_layers(const json_object& config, const family& known) {
    const auto* types = config.find("mlp_layer_types");
    const bool has_dense = config.number("first_k_dense_replace").value_or(0.0) > 0.0 ||
                           (types != nullptr && types->is_array() && is_in(*types, "dense"));
    if (known.dense_layers_turn && has_dense &&
        config.number("prefix_dense_sliding_window_pattern").value_or(1.0) == 1.0) {
        config.doubt(
            {"prefix_dense_sliding_window_pattern 1 must be another one beside dense layers, which turn though ",
             "other layers of type full_attention do not"});
    }
}

/// The part of a config that describes the language model: its "text_config", unless only the top level speaks of a
/// rotation; where both do, that of the top level may be another part's.
inline json_object language_part(const json_object& whole) {
    const auto has_rotation = [](const json_object& part) {
        return part.has("rope_scaling") || part.has("rope_parameters") || part.has("rope_theta");
    };
    for (const char* key : {"text_config", "language_config", "llm_config", "thinker_config", "vlm_config",
                            "decoder_config", "decoder"}) {
        const auto* found = whole.find(key);
        if (found == nullptr || !found->is_object()) continue;
        const bool is_one_of_many = std::string_view(key).starts_with("decoder") &&
                                    !what_of(turned_otherwise, whole.text("model_type").value_or("")).empty();
        if (is_one_of_many) continue;  // BLT
        const json_object inner = language_part(whole.other(*found, whole.where() + "." + key));
        return has_rotation(inner) || !has_rotation(whole) ? inner : whole;
    }
    return whole;
}

/// Refuses models without a rotary embedding, and doubts those of which nothing says that they have one.
inline void check_that_it_turns(const json_object& config, const std::string& model_type, const family* known) {
    const auto refuse = [&](std::initializer_list<message_part> what) {
        config.refuse({joined(what), "; only models that rotate q and k can be read"});
    };
    const std::string quoted = "model_type " + in_quotes(model_type);
    if (const auto instead = what_of(unrotated, model_type); !instead.empty()) {
        refuse({quoted, " has no rotary embedding, it has ", instead});
    }
    if (find_tower(model_type) != nullptr) {
        config.refuse({quoted, " turns by the places of a grid, which hf::read_tower reads"});
    }
    if (const auto how = what_of(turned_otherwise, model_type); !how.empty()) {
        config.refuse({quoted, " turns ", how, ", which is not read here"});
    }
    const json_object inner = config.part("attn_config");
    if (config.flag("alibi").value_or(false) || inner.flag("alibi").value_or(false)) {
        refuse({"alibi true says that it has ALiBi instead of a rotary embedding"});
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
        if (flag && !*flag) refuse({key, " false says that it has no rotary embedding"});
        says_so = says_so || flag;
    }
    if (config.number("qk_rope_head_dim") == 0.0) refuse({"qk_rope_head_dim 0 says that no lanes turn"});
    if (known != nullptr && !known->turns_by.empty() && !config.has(known->turns_by)) {
        refuse({quoted, " has a rotary embedding only where ", known->turns_by, " says so"});
    }
    if (known == nullptr && config.has("patch_size") && !config.has("vocab_size")) {
        config.doubt({quoted, " must be a known one: patch_size says that it may turn by the places of a grid"});
    }
    for (const std::string_view key : rope_keys) says_so = says_so || config.json().contains(key);  // null: known to it
    if (known == nullptr && !says_so) {
        config.doubt({quoted, " must be a known one, or rope_theta or rope_parameters be given: nothing says that its ",
                      "q and k are rotated"});
    }
}

/// The one dictionary among "rope_parameters" (new) and "rope_scaling" (old).
inline json_object rope_dictionary(const json_object& config, const std::string& model_type, const family& known) {
    const auto* parameters = config.find("rope_parameters");
    const auto* scaling = config.find("rope_scaling");
    if (parameters != nullptr && scaling != nullptr && *parameters != *scaling) {
        config.doubt({"rope_scaling must equal rope_parameters or be left out"});
    }
    if (parameters != nullptr) return config.other(*parameters, "rope_parameters");
    if (scaling != nullptr) return config.other(*scaling, "rope_scaling");
    if (!known.default_rope_type.empty()) {
        config.doubt({"rope_parameters must be given for model_type ", in_quotes(model_type),
                      ": its code has numbers of its own for rope type '", known.default_rope_type, "'"});
    }
    return config.none(config.where());
}

}  // namespace config_detail

/// What a parsed config says of its model's rotation, one rule for each layer type. Throws as read_config(text).
inline model_ropes read_parsed_config(const nlohmann::json& root, const read_options& options = {}) {
    using namespace config_detail;
    model_ropes out;
    const json_object whole(root, "config", options.lenient ? &out.warnings : nullptr);
    const json_object config = language_part(whole);
    out.model_type = config.text("model_type").value_or(whole.text("model_type").value_or(""));
    const family* const known = find_family(out.model_type);
    check_top_keys(config);
    check_that_it_turns(config, out.model_type, known);

    std::optional<index_t> positions;  // the first; the others mean something else in some families (Qwen's seq_length)
    for (const char* key :
         {"max_position_embeddings", "n_positions", "seq_length", "max_seq_len", "model_max_length"}) {
        if (!positions) positions = config.count(key);
    }
    out.max_length = static_cast<double>(positions.value_or(0));
    const layer_reader reader{config, per_layer(config), known == nullptr ? unknown_family : *known, out.max_length};
    check_dense_layers(config, reader.known);
    add_ropes(reader, rope_dictionary(config, out.model_type, reader.known), out);
    return out;
}

/// What the text of a config.json says of its model's rotation.
///
///   const auto model = hf::read_config(text);
///   const auto& rule = model.of("full_attention");
///   rope served(rule.config, rule.policy, rule.schedule);      // basis by length, attention factor included
///
/// It knows rope_scaling and rope_parameters, flat or by layer type, `type` and `rope_type`, and the other names listed
/// in docs/config_keys.md, each mapped to its formula. Inside the rope dictionaries a key that is unknown, without
/// effect on the type, or contradicts another one is an error that names it and the nearest known key; with
/// options.lenient it becomes a warning; so does a model_type that is not known and of which no key says that it has a
/// rotary embedding. Wrong types, numbers out of their domain, and models without one are always errors. Sizes are
/// those of each layer type, wherever the config gives them (per_layer_config, global_head_dim, attention_head_dim,
/// swa_...).
///
/// Follows transformers 5.23 but for `truncate` in dictionaries by layer type, which that version looks up in the wrong
/// place and so loses.
/// @throws value_error or shape_error, nothing else but std::bad_alloc
inline model_ropes read_config(std::string_view text, const read_options& options = {}) {
    return read_parsed_config(json_detail::parse_strict_json("hf::read_config", text), options);
}

/// The JSON of a config.json, for read_parsed_config and its like. @throws value_error also if it cannot be read
inline nlohmann::json parse_config_file(const std::string& path) {
    constexpr std::uintmax_t largest = std::uintmax_t{64} << 20;
    const auto text = json_detail::text_of_file(path, largest);
    if (!text) {
        fail<value_error>({"hf::read_config_file: ", path, " must be a readable file of at most ", largest, " bytes"});
    }
    return json_detail::parse_strict_json(path, *text);
}

/// read_config for a file. @throws value_error also if it cannot be read
inline model_ropes read_config_file(const std::string& path, const read_options& options = {}) {
    return read_parsed_config(parse_config_file(path), options);
}

}  // namespace cordage::hf
