// SPDX-License-Identifier: MIT
// The rules of a model's layers, one for each kind that its config.json distinguishes; serves config/read.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordage/models/config/lanes.hpp"
#include "cordage/models/config/per_layer.hpp"
#include "cordage/models/config/rope_type.hpp"
#include "cordage/models/config/rotary_keys.hpp"

namespace cordage::hf::config_detail {

/// Keys of theta_base of sliding-window layers.
inline constexpr const char* local_theta_keys = "rope_local_base_freq local_rope_theta swa_rope_theta";

/// original_length of a model without a maximum length, so that t is 1 at every length.
inline constexpr double unlimited_length = 0x1p53;

/// Inputs shared by the rules of one config, and the functions that make each rule.
struct layer_reader {
    json_object whole;
    per_layer layers;
    family known;
    double max_length;  ///< 0 if not given

    /// The rule of one kind of layer.
    /// @param dict         its dictionary, or the one for all kinds
    /// @param dict_is_own  whether its rope_theta is for this kind alone
    layer_rope rope(const layer_kind& kind, const json_object& dict, bool dict_is_own) const {
        const auto [overrides, count] = layers.overrides_of(kind.layer_type, kind.rotates);
        const json_object config = whole.overridden_by(overrides);
        layer_rope out;
        out.layer_type = kind.layer_type;
        out.rope_type = type_of(dict);
        out.layout = layout_of(config, known);
        out.config.theta_base = kind.rotates ? theta_of(kind, config, dict, dict_is_own) : known.theta_base;
        if (!(out.config.theta_base > 1.0)) dict.refuse({"rope_theta ", out.config.theta_base, " must be > 1"});
        const double share = set_lanes(config, dict, known, kind, out);
        for (const auto& [key, value] : overrides.items()) {
            out.override_words += message(key, " ", json_object::shown(value), ", ");
        }
        if (!overrides.empty()) out.override_words += message("by ", count, count == 1 ? " layer" : " layers");
        const auto said = agreed({{config, "max_position_embeddings"}, {dict, "max_position_embeddings"}});
        const double longest = config.overrides("max_position_embeddings") ? *said : max_length;
        const auto original = agreed({{config, "original_max_position_embeddings"},
                                      {dict, "original_max_position_embeddings"},
                                      {config, "initial_context_length"}});
        out.config.original_length = dict.at_least(1.0, "original_max_position_embeddings",
                                                   original.value_or(longest > 0.0 ? longest : unlimited_length));
        validate(out.config);
        apply_rule({dict, config, share, longest, original.has_value(), known, out});
        set_axes(dict, known, out);
        out.is_inverse = known.is_inverse;
        if (known.is_lerope) out.needs_weights = true;
        out.has_head_temperatures = known.is_lerope;
        set_temperature(config, dict, kind.rotates, out);
        if (!kind.rotates) {
            out.rope_type = "none";
            out.policy = proportional{0.0};  // allocates nothing: a file may have many such layer types with wide heads
            out.policy_words = "no rotation (NoPE)";
            out.needs_weights = false;
        }
        return out;
    }

    /// The query temperature of Ministral 3, by llama_4_scaling_beta or vLLM's llama_4_scaling, and that of Llama 4,
    /// whose layers without rotation have one.
    void set_temperature(const json_object& config, const json_object& dict, bool rotates, layer_rope& out) const {
        const json_object of_vllm = config.part("llama_4_scaling");
        for (const char* key : {"beta", "original_max_position_embeddings"}) {
            if (!of_vllm.json().empty()) of_vllm.required(key, "a temperature of queries");
        }
        const bool is_read = known.does_read("llama_4_scaling_beta");
        if (!is_read && dict.has("llama_4_scaling_beta")) not_read(dict, "llama_4_scaling_beta must be left out");
        const json_object of_dict = is_read ? dict : dict.none(dict.where());
        const auto beta = agreed({{of_dict, "llama_4_scaling_beta"}, {of_vllm, "beta"}});
        const double length = of_vllm.number("original_max_position_embeddings").value_or(out.config.original_length);
        if (beta) out.temperature = ministral3_temperature(length, *beta);
        const bool is_llama4 = known.does_read("attn_temperature_tuning");
        const auto* const tuning = config.find("attn_temperature_tuning");  // Llama 4's first configs have a number
        const bool is_on = tuning == nullptr || (*tuning != false && *tuning != 0);
        if (is_llama4 && is_on && !rotates) {
            out.temperature = llama4_temperature(config.number("floor_scale").value_or(8192.0),
                                                 config.number("attn_scale").value_or(0.1));
        } else if (!is_llama4 && tuning != nullptr && is_on) {
            not_read(config, "attn_temperature_tuning must be left out");
        }
        if (out.temperature) out.temperature->validate();
    }

    /// theta_base of one kind of layer. If it is given both in the kind's own dictionary and outside, both must be
    /// equal.
    double theta_of(const layer_kind& kind, const json_object& config, const json_object& dict,
                    bool dict_is_own) const {
        const double ratio = config.number("rope_ratio").value_or(1.0);
        if (dict.has_null("rope_theta") && !config.has("rope_theta")) {
            dict.doubt({"rope_theta null must be a number or left out"});
        }
        check_name(config, dict, "rope_theta", known.base_key);
        if (config.overrides("rope_theta")) return ratio * *config.number("rope_theta");
        const json_object none = dict.none(dict.where());
        const bool is_for_kind = dict_is_own || (kind.theta_base > 0.0 && kind.is_scaled);
        const json_object &own = is_for_kind ? dict : none, &shared = is_for_kind ? none : dict;
        const auto beside = [&](const char* keys) { return agreed({{own, "rope_theta"}, {config, keys}}); };
        const auto found = kind.layer_type == "sliding_attention" ? beside(local_theta_keys)
                           : kind.layer_type == "compress"        ? beside("compress_rope_theta")
                           : is_for_kind                          ? beside("global_rope_theta")
                                                                  : std::nullopt;
        const bool is_beside = dict_is_own && known.base_is_for_all && config.has("rope_theta");
        if (found || (kind.theta_base > 0.0 && !is_beside)) return ratio * found.value_or(kind.theta_base);
        const bool is_its_own = !known.default_rope_type.empty() && !dict.json().empty();
        const auto of_all = agreed({{shared, "rope_theta"},
                                    {config, "rope_theta global_rope_theta rotary_emb_base rotary_embedding_base"},
                                    {config, "rope_base rotary_base"},
                                    {config.part("attn_config"), "rope_theta"}});  // DBRX
        if (!of_all && is_its_own)
            dict.doubt({"rope_theta must be given: the code of this model_type has another default"});
        return ratio * of_all.value_or(known.theta_base);
    }

    /// The kinds of layers if one dictionary is for all of them.
    std::vector<layer_kind> kinds() const {
        const auto all_of = [](const auto& some) { return std::vector<layer_kind>(std::begin(some), std::end(some)); };
        const auto has_one_of = [&](const char* keys) {
            return std::ranges::any_of(words(keys), [&](const auto& key) { return whole.has(key); });
        };
        const bool alike = whole.json().contains(known.layers_differ_by) && !whole.has(known.layers_differ_by);
        if (!known.layers.empty() && !alike) {
            auto found = all_of(known.layers);
            const auto types = layers.types();  // a tiny model may lack one of them
            const auto is_used = [&](const layer_kind& kind) { return is_in(types, kind.layer_type); };
            if (std::ranges::any_of(found, is_used)) std::erase_if(found, std::not_fn(is_used));
            return found;
        }
        if (has_one_of(local_theta_keys)) return all_of(gemma3_layers);
        if (has_one_of("compress_rope_theta")) return all_of(compressed_layers);
        if (has_one_of("rope_scaling_layers")) {  // Molmo 2
            const std::string scaled = letters_of_indices(whole, "rope_scaling_layers", layers.size(), 's');
            if (scaled.empty() || scaled.find('s') != scaled.npos) return all_of(partly_scaled_layers);
        }
        std::vector<layer_kind> by_type;
        for (const std::string_view type : layers.types()) by_type.push_back({type});
        const bool is_in_doubt = by_type.size() > 1 && known.layout == pair_layout::unknown;  // check_which_rotate
        if (layers.differ() || is_in_doubt) return by_type;
        if (has_one_of("global_head_dim swa_head_dim swa_qk_rope_head_dim")) return all_of(full_and_sliding_layers);
        return {layer_kind{}};
    }
};

/// True for {"full_attention": {...}, "sliding_attention": null, ...}, also with values beside the dictionaries.
inline bool is_nested(const nlohmann::json& dict) {
    return std::ranges::any_of(dict, [](const auto& entry) { return entry.is_object(); });
}

/// Reports a value beside the dictionaries of layer types that one of these reads and lacks: transformers ignores it
/// there, other engines take it as a default.
inline void check_beside(const json_object& dict, const std::string& key) {
    for (const auto& [layer_type, entry] : dict.json().items()) {
        if (!entry.is_object()) continue;
        const json_object own = dict.other(entry, dict.where() + "." + printable(layer_type));
        const std::string name = key == "type" ? "rope_type" : key;
        const bool is_type = name == "rope_type";
        if (is_type ? own.has("type") || own.has("rope_type") : !reads_key(type_of(own), key)) continue;
        const auto* const inner = own.find(key);
        if (inner != nullptr && *inner == dict.json().at(key)) continue;
        own.doubt({key, " must be ", inner == nullptr ? "given here, not" : "that",
                   " beside the dictionaries of the layer types",
                   inner == nullptr ? ": transformers ignores it there, other engines read it as a default"
                                    : ", or that be left out: not every engine reads the same one"});
    }
}

/// Reports layer types that resemble a known one, in the dictionary and in the config.
inline void check_names_of_types(const layer_reader& read, const json_object& dict) {
    std::vector<std::string_view> known;
    for (const auto& [letter, type] : layer_letters) known.push_back(type);
    const auto check = [&](const json_object& object, std::string_view type) {
        if (!is_near(type, known) || is_in(known, type)) return;
        object.doubt({"layer type ", in_quotes(type), " must be a known layer type", nearest_known(type, known)});
    };
    for (const auto& [type, entry] : dict.json().items()) check(dict, type);
    for (const std::string_view type : read.layers.types()) check(read.whole, type);
}

/// Reports a layer type without a dictionary.
inline void check_types(const layer_reader& read, const json_object& dict, const model_ropes& out) {
    const auto has_rule = [&](std::string_view type) {
        return std::ranges::any_of(out.ropes, [&](const layer_rope& rope) {
            return canonical_layer_type(rope.layer_type) == canonical_layer_type(type) || rope.layer_type == "compress";
        });
    };
    for (const std::string_view type : read.layers.types()) {
        if (type.empty() || is_in(types_without_rotation, type) || has_rule(type)) continue;
        dict.doubt({"layer type ", in_quotes(type), " must have a dictionary, or null if its layers are not rotated"});
    }
}

/// Reports layer types of an unknown model: which of them are rotated, and scaled, is in its code. A pattern without
/// the types of the layers is always an error: there would be one rule for all of them.
inline void check_which_rotate(const layer_reader& read, const json_object& dict) {
    if (read.known.layout != pair_layout::unknown) return;
    const auto is_list = [&](const char* key) {
        const auto* found = read.whole.find(key);
        return found != nullptr && found->is_array() && !found->empty();
    };
    if (is_list("layer_rope_theta") || is_list("rope_theta") || is_list("no_rope_layers")) return;
    for (const std::string& key : words(local_theta_keys)) {
        if (read.whole.has(key)) return;
    }
    const auto types = read.layers.types();
    constexpr std::string_view unknown =
        ": which of its layers are rotated, and how, is in the code of this model_type, which is not known. Give ";
    constexpr std::string_view dictionaries =
        "rope_parameters with a dictionary for each layer type, null for layers without rotation";
    if (types.size() > 1) {
        dict.doubt({"layer types ", in_quotes(types[0]), " and ", in_quotes(types[1]), unknown, dictionaries});
    }
    if ((!types.empty() && !types[0].empty()) || read.whole.has("compress_rope_theta")) return;
    for (const char* key :
         {"attention_windows", "attn_layer_indices", "attn_type_list", "compress_ratios", "full_attention_interval",
          "full_attn_idxs", "global_attention_interval", "global_attn_every_n_layers", "hybrid_layer_pattern",
          "layer_group_size", "sliding_window_pattern", "window_pattern"}) {
        const auto* found = read.whole.find(key);
        if (found != nullptr && !is_unused(*found)) {
            dict.refuse({key, unknown, "layer_types, a list with the type of each layer, and ", dictionaries});
        }
    }
}

/// Adds the rule "indexer" of a family with sparse attention, unless no layer has one.
inline void add_indexer(const layer_reader& read, model_ropes& out) {
    const indexer_heads& heads = read.known.indexer;
    if (heads.layout == pair_layout::unknown || (heads.head_dim == 0 && !read.whole.has(heads.key))) return;
    const auto has_one = [&](std::string_view type) { return heads.is_in_layers_of(canonical_layer_type(type)); };
    if (!heads.layer_types.empty() && std::ranges::none_of(read.layers.types(), has_one)) return;
    const auto of = std::ranges::find(out.ropes, heads.of, &layer_rope::layer_type);
    layer_rope rope = of == out.ropes.end() ? out.ropes.front() : *of;
    if (!rope.rotates()) return;
    if (out.ropes.size() == 1 && out.ropes[0].layer_type.empty()) out.ropes[0].layer_type = model_ropes::layers_alike;
    rope.layer_type = "indexer";
    rope.layout = heads.layout;
    const auto flag = read.whole.flag("indexer_rope_interleave");  // of GLM's files; engines read it
    if (flag && *flag != (heads.layout == pair_layout::interleaved)) {
        not_read(read.whole, message("indexer_rope_interleave must be ", *flag ? "false" : "true", ", or left out"));
    }
    const json_object sparse = read.whole.part("sparse_attention_config");  // MiniMax's name of it, as released
    const index_t head_dim =
        agreed<&json_object::count>({{sparse, "sparse_index_dim"}, {read.whole, std::string(heads.key)}})
            .value_or(heads.head_dim);
    if (head_dim < rope.config.rotary_dim) {
        read.whole.refuse({heads.key, " ", head_dim, " must be >= the ", rope.config.rotary_dim, " rotated lanes"});
    }
    rope.first_lane = heads.is_at_end ? head_dim - rope.config.rotary_dim : 0;
    rope.config.head_dim = heads.is_at_end ? rope.config.rotary_dim : head_dim;
    validate(rope.config);
    out.ropes.push_back(std::move(rope));
}

/// Which layers have an indexer of their own; the others take the keys that an earlier one chose.
inline std::vector<bool> own_indexers(const json_object& config, const indexer_heads& heads, std::size_t layers) {
    std::vector<bool> own(layers, true);
    const auto set = [&](const char* key, std::size_t listed, auto is_full) {
        if (listed < layers) {
            config.doubt({key, " has ", listed, " entries, must have ", layers, ", one for each layer"});
        }
        for (std::size_t i = 0; i < std::min(layers, listed); ++i) own[i] = is_full(i);
    };
    for (const char* key : {"indexer_types", "index_topk_pattern"}) {
        const auto* list = config.find(key);
        if (list == nullptr) continue;
        if (list->is_string()) {
            const auto& letters = list->get_ref<const std::string&>();
            set(key, letters.size(), [&](std::size_t i) { return letters[i] == 'F'; });
        } else if (list->is_array()) {
            set(key, list->size(), [&](std::size_t i) { return (*list)[i] == "full"; });
        } else {
            config.refuse(key, *list, "a list of 'full' and 'shared'");
        }
        return own;
    }
    if (!heads.cycle.empty()) {
        const std::string letters = letters_of_cycle(heads.cycle, layers, 0);
        set("", layers, [&](std::size_t i) { return letters[i] == 'F'; });
    } else if (config.has("index_topk_freq")) {
        const auto every = static_cast<std::size_t>(*config.count("index_topk_freq"));
        const auto first = static_cast<std::size_t>(config.count("index_skip_topk_offset").value_or(2));
        set("", layers, [&](std::size_t i) { return i < first || (i - first + 1) % every == 0; });
    }
    return own;
}

/// Sets the rule of each layer, if the config tells it for all of them.
/// @param stays  the layers that are not rotated, [number of layers]
inline void add_layers(const layer_reader& read, const std::vector<bool>& stays, model_ropes& out) {
    const std::size_t count = read.layers.size();
    const auto index_of = [&](std::string_view name) -> std::optional<std::size_t> {
        const auto same = [&](const layer_rope& rope) {
            return canonical_layer_type(rope.layer_type) == canonical_layer_type(name);
        };
        auto found = std::ranges::find(out.ropes, name, &layer_rope::layer_type);
        if (found == out.ropes.end()) found = std::ranges::find_if(out.ropes, same);
        if (found == out.ropes.end()) return std::nullopt;
        return static_cast<std::size_t>(found - out.ropes.begin());
    };
    const auto indexer = index_of("indexer"), no_rope = index_of("no_rope"), compress = index_of("compress");
    const std::string scaled = letters_of_indices(read.whole, "rope_scaling_layers", count, 's');
    const auto is_another = [](const layer_rope& rope) {
        return rope.layer_type != "no_rope" && rope.layer_type != "indexer";
    };
    const bool are_alike =
        is_in(std::array<std::string_view, 3>{"", "rope", model_ropes::layers_alike}, out.ropes[0].layer_type) &&
        std::none_of(out.ropes.begin() + 1, out.ropes.end(), is_another);
    const auto own = own_indexers(read.whole, read.known.indexer, count);
    std::vector<model_layer> layers(count);
    for (std::size_t i = 0; i < count; ++i) {
        model_layer& layer = layers[i];
        layer.type = read.layers.type(i);
        const bool has_own_rule = !layer.type.empty() && index_of(layer.type);
        if (!has_own_rule && is_in(types_without_rotation, layer.type)) continue;
        if (stays[i] && no_rope) {
            layer.rule = no_rope;
        } else if (has_own_rule) {
            layer.rule = index_of(layer.type);
        } else if (are_alike) {
            layer.rule = 0;
        } else if (compress && !layer.type.empty()) {
            layer.rule = layer.type == "sliding_attention" ? index_of("main") : compress;
        } else if (!scaled.empty()) {
            layer.rule = index_of(scaled[i] == 'F' ? "scaled" : "unscaled");
        }
        if (!layer.rule) return;  // its type is not known
        const bool has_indexer = read.known.indexer.is_in_layers_of(canonical_layer_type(layer.type));
        if (indexer && own[i] && has_indexer && out.ropes[*layer.rule].rotates()) layer.indexer = indexer;
    }
    out.layers = std::move(layers);
}

inline void add_ropes(const layer_reader& read, const json_object& dict, model_ropes& out) {
    const json_object none = dict.none(dict.where());
    check_names_of_types(read, dict);
    // The code of these families takes the base of some layers from elsewhere, or none of the dictionary.
    const bool has_own_bases = read.known.does_read("no shared base");
    if (is_nested(dict.json())) {
        if (read.known.reads_by_layer_type && dict.where() == "rope_scaling") {
            not_read(dict, "dictionaries by layer type must be named rope_parameters");
        }
        if (dict.json().size() > most_layer_types) {
            dict.refuse({dict.json().size(), " layer types must be at most ", most_layer_types});
        }
        for (const char* const name : {"rope_scaling", "rope_parameters"}) {
            const auto* const inner = dict.find(name);
            if (inner == nullptr || !inner->is_object()) continue;
            dict.refuse({"key '", name, "' must be left out and its values given in ", dict.where(),
                         ": a dictionary in a dictionary is of a layer type"});
        }
        for (const auto& [layer_type, entry] : dict.json().items()) {
            if (entry.is_null() && is_key_of_dictionary(layer_type)) continue;  // a value that is not given
            if (!entry.is_object() && !entry.is_null()) {
                check_beside(dict, layer_type);
                continue;
            }
            if (has_own_bases && entry.is_object() && !entry.contains("rope_theta")) {
                not_read(dict, message("rope_theta must be given in ", printable(layer_type), ", not outside"));
            }
            layer_kind kind = read.known.kind(layer_type);
            kind.rotates = !entry.is_null() && read.layers.rotates(layer_type);
            const std::string where = dict.where() + "." + printable(layer_type);
            if (entry.is_null() && !read.known.null_is_unrotated) {
                dict.doubt({printable(layer_type), " null must be a dictionary: this model_type rotates these layers"});
            }
            out.ropes.push_back(read.rope(kind, kind.rotates ? dict.other(entry, where) : none, true));
        }
        check_types(read, dict, out);
    } else {
        check_which_rotate(read, dict);
        const auto* const scaled_types = read.whole.find("yarn_only_types");  // Step
        if (scaled_types != nullptr &&
            (read.known.layers.data() != olmo3_layers || *scaled_types != nlohmann::json::array({"full_attention"}))) {
            read.whole.doubt(
                {"yarn_only_types must be left out or [\"full_attention\"], and the latter only in a Step model: ",
                 "other layer types that are scaled must have dictionaries of their own"});
        }
        if (read.known.reads_by_layer_type && dict.where() == "rope_parameters" && !dict.json().empty()) {
            not_read(dict, "a dictionary for each layer type must be given instead of one for all");
        }
        if (has_own_bases && !(read.known.reads_by_layer_type && dict.where() == "rope_parameters") &&
            dict.has("rope_theta")) {
            not_read(dict, "rope_theta must be left out and given at the top level");
        }
        nlohmann::json without_scaling = none.json();
        for (const char* key : {"rope_theta", "partial_rotary_factor", "mrope_section", "mrope_interleaved"}) {
            if (dict.has(key)) without_scaling[key] = *dict.find(key);
        }
        const json_object unscaled = dict.other(without_scaling, dict.where());
        for (const layer_kind& kind : read.kinds()) {
            const nlohmann::json factor_of_kind = {{"attention_factor", kind.yarn_attention_factor}};
            const bool has_it =
                kind.yarn_attention_factor > 0.0 && type_of(dict) == "yarn" && !dict.has("attention_factor");
            const json_object own = has_it ? dict.overridden_by(factor_of_kind) : dict;
            out.ropes.push_back(read.rope(kind, !kind.rotates ? none : kind.is_scaled ? own : unscaled, false));
        }
    }
    const auto stays = read.layers.unrotated_layers(read.known.rotates_some_layers);
    if (stays) {
        if (out.ropes.front().layer_type.empty()) out.ropes.front().layer_type = "rope";
        out.ropes.push_back(read.rope({.layer_type = "no_rope", .rotates = false}, none, true));
    }
    add_indexer(read, out);
    add_layers(read, stays.value_or(std::vector<bool>(read.layers.size())), out);
}

}  // namespace cordage::hf::config_detail
