// SPDX-License-Identifier: MIT
// The rules of a model's layers, one for each kind of them that its config.json tells apart; serves config/read.hpp.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordage/config/lanes.hpp"
#include "cordage/config/per_layer.hpp"
#include "cordage/config/rope_type.hpp"

namespace cordage::hf::config_detail {

/// What the rules of one config share, and how each is made.
struct layer_reader {
    json_object whole;
    per_layer layers;
    family known;
    double max_length;
    doubtful_settings& doubts;

    /// The rule of one kind of layer.
    /// @param dict         its dictionary, or the one of all kinds
    /// @param dict_is_own  whether rope_theta in it is of this kind alone
    layer_rope rope(const layer_kind& kind, const json_object& dict, bool dict_is_own) const {
        const auto [overrides, count] = layers.overrides_of(kind.layer_type, kind.turns);
        const json_object config(whole.json(), whole.where(), &overrides);
        layer_rope out;
        out.layer_type = kind.layer_type;
        out.rope_type = type_of(dict, doubts);
        out.layout = layout_of(config, known, doubts);
        out.config.theta_base = kind.turns ? theta_of(kind, config, dict, dict_is_own) : known.theta_base;
        if (!(out.config.theta_base > 1.0)) {
            fail<value_error>({dict.where(), ": rope_theta ", out.config.theta_base, " must be > 1"});
        }
        const auto share = agreed({{&dict, "partial_rotary_factor"},
                                   {&config, "partial_rotary_factor"},
                                   {&config, "rotary_pct"},
                                   {&config, "rope_pct"},
                                   {&config, "rotary_percentage"},
                                   {&config, "rotary_emb_fraction"}},
                                  doubts);
        const double turning = share.value_or(out.rope_type == "proportional" ? 1.0 : known.partial_rotary_factor);
        if (!(turning > 0.0 && turning <= 1.0)) {
            fail<value_error>({config.where(), ": partial_rotary_factor ", turning, " must be in (0, 1]"});
        }
        set_lanes(config, known, kind, turning, share.has_value(), out, doubts);
        for (const auto& [key, value] : overrides.items()) {
            out.override_words += message(key, " ", json_object::shown(value), ", ");
        }
        if (!overrides.empty()) out.override_words += message("by ", count, count == 1 ? " layer" : " layers");
        const auto said = agreed({{&config, "max_position_embeddings"}, {&dict, "max_position_embeddings"}}, doubts);
        const double longest = config.overrides("max_position_embeddings") ? *said : max_length;
        const auto original = agreed({{&config, "original_max_position_embeddings"},
                                      {&dict, "original_max_position_embeddings"},
                                      {&config, "initial_context_length"}},
                                     doubts);
        out.config.original_length = original.value_or(longest);
        at_least(dict, "original_max_position_embeddings", out.config.original_length, 1.0);
        validate(out.config);
        apply_rule({dict, config, turning, longest, original.has_value(), doubts}, out);
        set_axes(dict, out, doubts);
        out.llama4_beta = dict.number("llama_4_scaling_beta");
        if (!kind.head_dim_key.empty()) {
            out.layout = half_split;
            out.first_lane = 0;
            out.config.head_dim = config.count(kind.head_dim_key).value_or(out.config.head_dim);
            validate(out.config);
        }
        if (!kind.turns) {
            out.rope_type = "none";
            out.policy = proportional{0.0};  // no mask: a file may have many such layer types, and wide heads
            out.policy_words = "nothing turns (NoPE)";
        }
        return out;
    }

    /// theta_base of one kind of layer. A number in its own dictionary and one beside it must agree.
    double theta_of(const layer_kind& kind, const json_object& config, const json_object& dict,
                    bool dict_is_own) const {
        const double ratio = config.number("rope_ratio").value_or(1.0);
        if (config.overrides("rope_theta")) return ratio * *config.number("rope_theta");
        const nlohmann::json nothing = nlohmann::json::object();
        const json_object none(nothing, dict.where());
        const json_object& own = dict_is_own ? dict : none;
        const auto found = kind.layer_type == "sliding_attention" ? local_theta(own, config)
                           : kind.layer_type == "compress"
                               ? agreed({{&own, "rope_theta"}, {&config, "compress_rope_theta"}}, doubts)
                           : dict_is_own ? agreed({{&own, "rope_theta"}, {&config, "global_rope_theta"}}, doubts)
                                         : std::nullopt;
        if (found || kind.theta_base > 0.0) return ratio * found.value_or(kind.theta_base);
        const json_object& shared = dict_is_own ? none : dict;
        const auto* attention = config.find("attn_config");  // DBRX
        const json_object inner(attention != nullptr && attention->is_object() ? *attention : nothing, "attn_config");
        return ratio * agreed({{&shared, "rope_theta"},
                               {&config, "rope_theta"},
                               {&config, "global_rope_theta"},
                               {&config, "rotary_emb_base"},
                               {&config, "rotary_embedding_base"},
                               {&config, "rope_base"},
                               {&config, "rotary_base"},
                               {&inner, "rope_theta"}},
                              doubts)
                           .value_or(known.theta_base);
    }
    std::optional<double> local_theta(const json_object& dict, const json_object& config) const {
        return agreed({{&dict, "rope_theta"},
                       {&config, "rope_local_base_freq"},
                       {&config, "local_rope_theta"},
                       {&config, "swa_rope_theta"}},
                      doubts);
    }

    /// Whether some layers do not turn at all: those with a 0 in a list, or every n-th (Llama 4, SmolLM3).
    bool has_layers_at_rest() const {
        if (layers.has_layers_at_rest()) return true;
        const auto turns = whole.numbers("no_rope_layers");
        if (turns && !turns->empty()) return std::ranges::find(*turns, 0.0) != turns->end();
        return whole.count("no_rope_layer_interval") || known.some_layers_rest;
    }

    /// The kinds of layers where one dictionary is of them all.
    std::vector<layer_kind> kinds() const {
        const auto all_of = [](const auto& some) { return std::vector<layer_kind>(std::begin(some), std::end(some)); };
        if (!known.layers.empty()) return all_of(known.layers);
        for (const char* key : {"rope_local_base_freq", "local_rope_theta", "swa_rope_theta"}) {
            if (whole.has(key)) return all_of(gemma3_layers);
        }
        if (whole.has("compress_rope_theta")) return all_of(compressed_layers);
        if (const auto scaled = whole.numbers("rope_scaling_layers")) {  // Molmo 2
            const auto count = whole.number("num_hidden_layers");
            if (!count || static_cast<double>(scaled->size()) < *count) return all_of(partly_scaled_layers);
        }
        if (layers.differ()) {
            std::vector<layer_kind> by_type;
            for (const std::string_view type : layers.types()) by_type.push_back({type});
            return by_type;
        }
        for (const char* key : {"global_head_dim", "swa_head_dim", "swa_qk_rope_head_dim"}) {
            if (whole.has(key)) return all_of(full_and_sliding_layers);
        }
        return {layer_kind{}};
    }
};

/// True for {"full_attention": {...}, "sliding_attention": null, ...}.
inline bool is_nested(const nlohmann::json& dict) {
    const auto is_entry = [](const auto& entry) { return entry.is_object() || entry.is_null(); };
    return std::ranges::all_of(dict, is_entry) &&
           std::ranges::any_of(dict, [](const auto& e) { return e.is_object(); });
}

inline void add_ropes(const layer_reader& read, const json_object& dict, model_ropes& out) {
    const nlohmann::json nothing = nlohmann::json::object();
    const json_object none(nothing, dict.where());
    if (is_nested(dict.json())) {
        if (dict.json().size() > most_layer_types) {
            fail<value_error>(
                {dict.where(), ": ", dict.json().size(), " layer types must be at most ", most_layer_types});
        }
        for (const auto& [layer_type, entry] : dict.json().items()) {
            layer_kind kind = read.known.kind(layer_type);
            kind.turns = !entry.is_null() && read.layers.turns(layer_type);
            const std::string where = dict.where() + "." + json_detail::printable(layer_type);
            out.ropes.push_back(read.rope(kind, kind.turns ? json_object(entry, where) : none, true));
        }
    } else {
        nlohmann::json without_scaling = nothing;
        for (const char* key : {"rope_theta", "partial_rotary_factor", "mrope_section", "mrope_interleaved"}) {
            if (dict.has(key)) without_scaling[key] = *dict.find(key);
        }
        const json_object unscaled(without_scaling, dict.where());
        for (const layer_kind& kind : read.kinds()) {
            const nlohmann::json factor_of_1 = {{"attention_factor", kind.yarn_attention_factor}};
            const bool is_ours = kind.yarn_attention_factor > 0.0 && type_of(dict, read.doubts) == "yarn" &&
                                 !dict.has("attention_factor");
            const json_object own(dict.json(), dict.where(), is_ours ? &factor_of_1 : nullptr);
            out.ropes.push_back(read.rope(kind, !kind.turns ? none : kind.is_scaled ? own : unscaled, false));
        }
    }
    if (read.has_layers_at_rest()) {
        if (out.ropes.front().layer_type.empty()) out.ropes.front().layer_type = "rope";
        out.ropes.push_back(read.rope({.layer_type = "no_rope", .turns = false}, none, true));
    }
}

}  // namespace cordage::hf::config_detail
