// SPDX-License-Identifier: MIT
// Which keys of a config.json concern rotation, and the checks that all who read them share; serves config/.
#pragma once

#include <algorithm>
#include <concepts>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cordage/config/json.hpp"

namespace cordage::hf::config_detail {

using json_detail::doubtful_settings;
using json_detail::in_quotes;
using json_detail::json_object;
using json_detail::nearest_known;

// clang-format off
/// Top-level keys that say something of rotation; one that looks like them and is none of them is doubtful.
inline constexpr std::string_view rope_keys[] = {
    "compress_rope_theta", "global_rope_theta", "layer_rope_theta", "local_rope_theta", "no_rope_layer_interval",
    "no_rope_layers", "partial_rotary_factor", "partial_rotary_factors", "qk_rope_head_dim", "rope_base",
    "rope_interleave", "rope_interleaved", "rope_local_base_freq", "rope_parameters", "rope_pct", "rope_ratio",
    "rope_scaling", "rope_scaling_layers", "rope_theta", "rotary_base", "rotary_dim", "rotary_emb_base",
    "rotary_emb_fraction", "rotary_emb_interleaved", "rotary_embedding_base", "rotary_pct", "rotary_percentage", "rotary_value",
    "swa_qk_rope_head_dim", "swa_rope_theta"};

/// Keys of the top level that may differ from layer to layer; all of them change a rotation.
inline constexpr std::string_view layer_keys[] = {
    "attention_head_dim", "head_dim", "hidden_size", "kv_channels", "max_position_embeddings", "num_attention_heads",
    "original_max_position_embeddings", "partial_rotary_factor", "qk_nope_head_dim", "qk_rope_head_dim", "rope_theta",
    "rotary_dim"};

/// Keys of a rope dictionary that may stand beside every rope type.
inline constexpr std::string_view common_keys[] = {
    "llama_4_scaling_beta", "max_position_embeddings", "mrope_interleaved", "mrope_section", "partial_rotary_factor",
    "rope_theta", "rope_type", "type"};

/// Every key of a rope dictionary that some rope type knows.
inline constexpr std::string_view known_keys[] = {
    "act", "alpha", "attention_factor", "attn_factor", "base_multiplier", "beta_fast", "beta_slow",
    "extrapolation_factor", "factor", "finetuned", "high_freq_factor", "llama_4_scaling_beta", "log_scale",
    "long_factor", "long_mscale", "low_freq_factor", "max_factor", "max_position_embeddings", "mrope_interleaved",
    "mrope_section", "mscale", "mscale_all_dim", "original_max_position_embeddings", "param_factor",
    "partial_rotary_factor", "rope_theta", "rope_type", "short_factor", "short_mscale", "time_dt", "truncate", "type"};
// clang-format on

inline bool is_in(const auto& list, std::string_view key) {
    return std::find(std::begin(list), std::end(list), key) != std::end(list);
}

/// Complains of keys of the top level that look like a misspelt one, and of those whose effect is not known here.
inline void check_top_keys(const json_object& config, doubtful_settings& doubts) {
    for (const auto& [key, entry] : config.json().items()) {
        const bool looks_alike = key.starts_with("rope_") || key.starts_with("rotary_") ||
                                 (key.size() < 24 && (json_detail::edit_distance(key, "rope_scaling") <= 2 ||
                                                      json_detail::edit_distance(key, "rope_parameters") <= 2));
        if (!looks_alike || is_in(rope_keys, key) || (key == "rotary_emb_scale_base" && entry.is_null())) continue;
        doubts.add(
            message(config.where(), ": key ", in_quotes(key), " must be a known one", nearest_known(key, rope_keys)));
    }
    for (const auto& [key, why] : {std::pair{"use_dynamic_ntk", "its rule for more than seq_length tokens"},  // Qwen
                                   {"rotary_value", "a rotation of values"}}) {  // RoFormer
        if (config.flag(key).value_or(false)) {
            doubts.add(message(config.where(), ": ", key, " true must be false: ", why, " is not known here"));
        }
    }
}

/// Complains of keys of a rope dictionary that nobody knows, and of those that this rope type does not look at.
inline void check_keys(const json_object& dict, const std::string& type, std::initializer_list<std::string_view> used,
                       doubtful_settings& doubts) {
    for (const auto& [key, entry] : dict.json().items()) {
        if (is_in(common_keys, key) || is_in(used, key)) continue;
        if (!is_in(known_keys, key)) {
            doubts.add(message(dict.where(), ": key ", in_quotes(key), " must be a known one",
                               nearest_known(key, known_keys)));
        } else if (!entry.is_null()) {
            doubts.add(message(dict.where(), ": key '", key, "' must be left out: rope type '", type, "' ignores it"));
        }
    }
}

/// One place where a number may stand.
struct place {
    const json_object* object;
    std::string_view key;
};

/// The number (of index_t: whole and above 0) that stands in one or several places; the first if they disagree, which
/// is doubtful.
template <class Number = double>
std::optional<Number> agreed(std::initializer_list<place> places, doubtful_settings& doubts) {
    std::optional<Number> found;
    std::string_view first;
    for (const place& p : places) {
        std::optional<Number> value;
        if constexpr (std::same_as<Number, index_t>) {
            value = p.object->count(p.key);
        } else {
            value = p.object->number(p.key);
        }
        if (found && value && *found != *value) {
            doubts.add(message(p.object->where(), ": ", p.key, " ", *value, " must equal ", first, " ", *found));
        }
        if (!found) found = value, first = p.key;
    }
    return found;
}

/// A number that must be at least `least`, or above 0; a hostile one is named.
inline double at_least(const json_object& dict, std::string_view key, double value, double least) {
    if (!(value >= least)) fail<value_error>({dict.where(), ": ", key, " ", value, " must be >= ", least});
    return value;
}
inline double positive(const json_object& dict, std::string_view key, double value) {
    if (!(value > 0.0)) fail<value_error>({dict.where(), ": ", key, " ", value, " must be > 0"});
    return value;
}

}  // namespace cordage::hf::config_detail
