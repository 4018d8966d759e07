// SPDX-License-Identifier: MIT
// Which keys of a config.json concern a rotation: known ones, similar ones, and those that say that there is none or
// that it is of a kind that is not read; serves config/read.hpp and config/tower.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordage/models/config/lanes.hpp"
#include "cordage/models/config/per_layer.hpp"
#include "cordage/models/config/tower_families.hpp"

namespace cordage::hf::config_detail {

// clang-format off
/// Top-level keys of a rotation. A similar key that is not in this list is reported.
inline constexpr std::string_view rope_keys[] = {
    "attn_rotary_emb", "compress_rope_theta", "global_rope_theta", "layer_rope_theta", "local_rope_theta", "no_rope_layer_interval",
    "no_rope_layers", "partial_rotary_factor", "partial_rotary_factors", "qk_rope_head_dim", "rope_base",
    "rope_interleave", "rope_interleaved", "rope_local_base_freq", "rope_parameters", "rope_pct", "rope_ratio",
    "rope_scaling", "rope_scaling_layers", "rope_theta", "rope_traditional", "rotary_base", "rotary_dim", "rotary_emb_base",
    "rotary_emb_fraction", "rotary_emb_interleaved", "rotary_embedding_base", "rotary_pct", "rotary_percentage", "rotary_value",
    "swa_qk_rope_head_dim", "swa_rope_theta"};
/// Other keys with similar names.
inline constexpr std::string_view keys_like_rope_keys[] = {
    "indexer_rope_interleave", "memory_attention_rope_dropout", "memory_attention_rope_feat_sizes",
    "memory_attention_rope_k_sizes", "memory_attention_rope_theta", "original_rope", "qk_nope_head_dim", "rope_3d",
    "rope_full_precision", "swa_qk_nope_head_dim", "use_mem_rope", "use_rotary_embedding"};

/// Keys that say that q and k are not rotated, or not in all layers, by the code of some model that reads them.
struct no_rotation_key {
    std::string_view key;
    bool value;  ///< that says so
};
inline constexpr no_rotation_key no_rotation_keys[] = {
    {"alibi", true}, {"apply_rope", false}, {"enable_rope", false}, {"mla_use_nope", true}, {"no_rope", true}, {"nope", true},
    {"rope", false}, {"rotary", false}, {"use_alibi", true}, {"use_mem_rope", false}, {"use_nope", true}, {"use_rope", false},
    {"use_rotary", false}, {"use_rotary_emb", false}, {"use_rotary_embedding", false}, {"use_rotary_pos_emb", false}};
inline constexpr std::string_view position_type_keys[] = {
    "pos_emb_type", "pos_embed_type", "position_embedding", "position_embedding_type", "position_embeddings_type",
    "position_encoding", "position_encoding_type", "positional_embedding", "positional_embedding_type", "positional_encoding"};
inline constexpr std::string_view plain_position_types[] = {"rope", "rope_gpt_neox", "rope_gptj", "rope_neox", "rotary"};
/// Keys that the code of few model types reads, by family::reads.
inline constexpr std::string_view rarely_read_keys[] = {
    "layer_rope_theta", "no_rope_layer_interval", "no_rope_layers", "partial_rotary_factors", "rope_ratio", "rope_scaling_layers"};
inline constexpr std::string_view layers_of_rotation_keys[] = {
    "nope_interval", "nope_layer_ids", "nope_layer_interval", "nope_layers", "rope_layers", "use_rope_layers"};

/// Keys of a scaling that is not read, and what they are.
using scaling_key = std::pair<std::string_view, const char*>;
inline constexpr scaling_key other_scaling_keys[] = {
    {"dual_chunk_attention_config", "positions of Qwen's dual chunk attention, which are not read"},
    {"rope_hf_config", "llm-foundry's name of a rope dictionary: give it as rope_scaling"},
    {"seq_len_interpolation_factor", "Megatron's linear scaling: give rope_scaling with rope_type 'linear' and this factor"},
    {"use_dynamic_ntk", "its rule for more than seq_length tokens is not supported"},  // Qwen
    {"use_scaled_rope", "Meta's name of the rule of Llama 3.1: give rope_scaling with rope_type 'llama3'"},
    {"yarn", "a part of Mistral's params.json: give rope_parameters with rope_type 'yarn', its alpha as beta_slow, its "
             "beta as beta_fast, and attention_factor 1 if apply_scale is false"}};
// clang-format on

/// Whether a key says, true or false, whether q and k are rotated.
inline bool is_flag(std::string_view key) {
    return std::ranges::find(no_rotation_keys, key, &no_rotation_key::key) != std::end(no_rotation_keys);
}

/// Whether a setting says nothing: null, false, 0, empty.
inline bool is_unused(const nlohmann::json& value) {
    return value.is_null() || value == false || value == 0 || (value.is_structured() && value.empty());
}

/// A config without the keys that the code of its model_type does not read, which are reported; nullopt if it has none.
inline std::optional<nlohmann::json> without_unread_keys(const json_object& config, const family& known) {
    std::optional<nlohmann::json> without;
    for (const std::string_view key : rarely_read_keys) {
        const auto* const found = config.find(key);
        if (found == nullptr || known.does_read(key)) continue;
        if (!is_unused(*found)) not_read(config, message(key, " must be left out"));
        if (!without) without = config.json();
        without->erase(std::string(key));
    }
    return without;
}

/// Whether the key is a known one with a letter or two changed.
inline bool is_near(std::string_view key, const auto& known) {
    return std::ranges::any_of(known, [&](std::string_view name) {
        const std::size_t most = std::min<std::size_t>(2, name.size() / 6);
        return key != name && edit_distance_up_to(most, key, name) <= most;
    });
}

/// Whether a word of the key, between underscores, is "rope" or "rotary", or the key resembles one of a rotation.
inline bool is_like_rope_key(std::string_view key) {
    if (is_in(rope_keys, key) || is_in(keys_like_rope_keys, key) || key.size() >= 40) return false;
    const std::string word = "_" + std::string(key) + "_";
    return word.find("_rope_") != word.npos || word.find("_rotary_") != word.npos || is_near(key, rope_keys);
}

/// Whether the key and its value say that q and k are not rotated.
inline bool says_no_rotation(std::string_view key, const nlohmann::json& value) {
    const auto flag = std::ranges::find(no_rotation_keys, key, &no_rotation_key::key);
    if (flag != std::end(no_rotation_keys)) return value == flag->value;
    if (is_in(layers_of_rotation_keys, key)) return !is_unused(value);
    if (!is_in(position_type_keys, key) || !value.is_string()) return false;
    const auto& type = value.get_ref<const std::string&>();
    return type.find("rope") == type.npos && type.find("rotary") == type.npos;
}

/// Reports keys inside an object of the config that belong to a rotation and are not read there.
/// @param read  the keys that are read there, or that are checked elsewhere
inline void check_inner_keys(const json_object& config, const json_object& inner, const auto& read) {
    const auto is_known = [](std::string_view key) {
        return is_in(rope_keys, key) ||
               std::ranges::find(other_scaling_keys, key, &scaling_key::first) != std::end(other_scaling_keys);
    };
    for (const auto& [key, entry] : inner.json().items()) {
        if (is_in(read, key) || entry.is_null()) continue;
        const auto* const own = config.find(key);
        const bool is_elsewhere = own != nullptr && *own == entry;
        if (says_no_rotation(key, entry) || (is_known(key) && !is_unused(entry))) {
            if (is_elsewhere) continue;
            inner.doubt({"key ", in_quotes(key), " must be left out: it is not read here, only at the top level"});
        } else if (is_near(key, read) || (!is_unused(entry) && !is_flag(key) && is_like_rope_key(key))) {
            inner.doubt({"key ", in_quotes(key), " must be a known key", nearest_known(key, read)});
        }
    }
}

/// Whether an object of a config is the config of another model, such as a vision tower: it has a width of its own.
inline bool is_other_model(const nlohmann::json& object) {
    constexpr std::string_view widths[]{"model_type", "hidden_size", "d_model", "dim", "embed_dim", "n_embd", "width"};
    return std::ranges::any_of(widths, [&](std::string_view key) { return object.contains(key); });
}

/// Reports keys of a rotation in the objects within `inner` where nothing of a rotation is read, at every depth.
inline void check_deep_keys(const json_object& config, const json_object& inner) {
    constexpr std::string_view checked_elsewhere[]{
        "attention_other_setting", "attn_config",     "audio_config", "llama_4_scaling",
        "per_layer_config",        "rope_parameters", "rope_scaling", "vision_config"};
    const auto check = [&](const nlohmann::json& object, const std::string& where) {
        if (!object.is_object() || is_other_model(object)) return;
        const json_object found = inner.other(object, where);
        check_inner_keys(config, found, std::array<std::string_view, 0>{});
        check_deep_keys(config, found);
    };
    for (const auto& [key, entry] : inner.json().items()) {
        if (!entry.is_structured() || is_in(checked_elsewhere, key)) continue;
        const std::string where = inner.where() + "." + printable(key);
        check(entry, where);
        if (!entry.is_array()) continue;
        for (std::size_t i = 0; i < entry.size(); ++i) {
            if (entry[i].is_object()) check(entry[i], message(where, "[", i, "]"));
        }
    }
}

/// Reports keys that resemble a known one, and those whose effect is not supported, at every depth.
inline void check_keys_of_rotation(const json_object& config) {
    constexpr std::string_view lengths[]{"max_position_embeddings", "original_max_position_embeddings"};
    for (const auto& [key, entry] : config.json().items()) {
        if (is_in(layers_of_rotation_keys, key) || is_unused(entry)) continue;
        if (!is_flag(key) && key != "use_scaled_rope" && key != "rope_hf_config" && is_like_rope_key(key)) {
            config.doubt({"key ", in_quotes(key), " must be a known key", nearest_known(key, rope_keys)});
        } else if (is_near(key, lengths)) {
            config.doubt({"key ", in_quotes(key), " must be a known key", nearest_known(key, lengths)});
        }
    }
    for (const auto& [key, what] : other_scaling_keys) {
        if (const auto* found = config.find(key); found != nullptr && !is_unused(*found)) {
            config.doubt({key, *found == true ? " true must be false: " : " must be left out: ", what});
        }
    }
    if (config.flag("rotary_value").value_or(false)) {  // RoFormer
        config.doubt({"rotary_value true must be false: a rotation of values is not supported"});
    }
    std::vector<std::string_view> read_in_attn_config{"rope_theta"};  // and check_rotary_embedding has these
    for (const auto& [key, value] : no_rotation_keys) read_in_attn_config.push_back(key);
    read_in_attn_config.insert(read_in_attn_config.end(), std::begin(position_type_keys), std::end(position_type_keys));
    check_inner_keys(config, config.part("attn_config"), read_in_attn_config);
    check_inner_keys(config, config.part("attention_other_setting"), layer_keys());
    constexpr std::string_view read_for_scores[]{"beta", "original_max_position_embeddings"};
    const json_object scores = config.part("llama_4_scaling");
    for (const auto& [key, entry] : scores.json().items()) {
        if (is_in(read_for_scores, key)) continue;
        scores.doubt({"key ", in_quotes(key), " must be a known key", nearest_known(key, read_for_scores)});
    }
    const json_object layers = config.part("per_layer_config");
    std::vector<std::string> read_for_layers = layer_keys();  // and per_layer has an error for these
    read_for_layers.insert(read_for_layers.end(), {"rope_parameters", "rope_scaling"});
    for (const auto& [number, entry] : layers.json().items()) {
        if (!entry.is_object()) continue;
        check_inner_keys(config, layers.other(entry, layers.where() + "." + printable(number)), read_for_layers);
    }
    check_deep_keys(config, config);
}

/// Rejects models without a rotary embedding, and reports configs from which it is not clear that they have one.
inline void check_rotary_embedding(const json_object& config, const std::string& model_type, const family* known) {
    const auto refuse = [&](std::initializer_list<message_part> what) {
        config.refuse({joined(what), "; only models that rotate q and k can be read"});
    };
    const std::string quoted = "model_type " + in_quotes(model_type);
    if (const auto instead = what_of(unrotated, model_type); !instead.empty()) {
        const auto is_rotary = [&](const json_object& part) {  // as the code beside such a file has it
            return part.flag("rope") == true || part.text("position_embedding_type") == "rotary";
        };
        const bool has_one = is_rotary(config) || is_rotary(config.part("attn_config"));
        refuse({quoted, " has no rotary embedding but ", instead,
                has_one ? " in transformers, though the config has one: give a model_type that rotates" : ""});
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
    bool says_so = inner.has("rope_theta");
    const bool is_read_by_key = known != nullptr && !known->rotary_key.empty();
    for (const json_object* at : {&config, &inner}) {
        for (const auto& [key, value] : no_rotation_keys) {
            const auto* const found = at->find(key);
            if (found == nullptr || !found->is_boolean()) continue;
            says_so = says_so || *found != value;
            if (*found != value) continue;
            if (key == "alibi") refuse({"alibi true selects ALiBi instead of a rotary embedding"});
            if (known == nullptr || known->rotary_key == key) {
                refuse({key, value ? " true" : " false", " means that it has no rotary embedding"});
            }
            not_read(*at, message(key, value ? " true" : " false", " must be left out"));
        }
        for (const std::string_view key : position_type_keys) {
            const auto* const found = at->find(key);
            if (found == nullptr || !found->is_string()) continue;
            const auto& type = found->get_ref<const std::string&>();
            const bool is_rotary = type.find("rope") != type.npos || type.find("rotary") != type.npos;
            if (is_rotary && known == nullptr && !is_in(plain_position_types, type)) {
                at->doubt({key, " ", in_quotes(type), " must be 'rope', 'rotary', 'rope_gptj' or 'rope_gpt_neox': ",
                           "another kind is in the code of this model_type, which is not known"});
            }
            if (is_rotary) {
                says_so = true;
            } else if (known == nullptr || (is_read_by_key && known->rotary_key == key)) {
                refuse({key, " ", in_quotes(type), " must be 'rope' or 'rotary'",
                        known == nullptr ? ", or 'rope_gptj'" : ""});
            } else if (type != "absolute" && type != "sans_pos") {  // left over from other models
                not_read(*at, message(key, " ", in_quotes(type), " must be left out"));
            }
        }
    }
    if (config.number("qk_rope_head_dim") == 0.0) refuse({"qk_rope_head_dim 0 means that no lanes are rotated"});
    if (is_read_by_key && !config.has(known->rotary_key)) {
        refuse({quoted, " has a rotary embedding only if ", known->rotary_key, " is given"});
    }
    for (const std::string_view key : layers_of_rotation_keys) {
        if (const auto* found = config.find(key); found != nullptr && !is_unused(*found)) {
            config.doubt(
                {key, " must be given as no_rope_layers, a list with 0 for each layer that is not rotated, else 1"});
        }
    }
    if (known == nullptr && config.has("patch_size") && !config.has("vocab_size")) {
        config.doubt({quoted, " must be a known model type: patch_size suggests a tower with positions on a grid"});
    }
    for (const std::string_view key : rope_keys) says_so = says_so || config.json().contains(key);  // a null counts
    if (known == nullptr && !says_so) {
        std::string part;
        for (const auto& [key, entry] : config.json().items()) {
            const bool has_one =
                entry.is_object() && (entry.contains("rope_theta") || entry.contains("rope_parameters"));
            if (has_one && part.empty())
                part = message(". The part ", in_quotes(key), " has one: give it as the config");
        }
        config.doubt({quoted,
                      " must be a known model type, or rope_theta or rope_parameters must be given: no key shows ",
                      "that q and k are rotated", part});
    }
    if (known == nullptr && config.number("index_head_dim").value_or(0.0) > 0.0) {
        config.doubt({"index_head_dim must be left out: how an indexer is rotated is in the code of this model_type, ",
                      "which is not known"});
    }
}

}  // namespace cordage::hf::config_detail
