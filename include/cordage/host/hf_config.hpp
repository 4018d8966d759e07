// SPDX-License-Identifier: MIT
// Reads what any model's config.json says of its rotation, in every spelling in use; a door of host/ (nlohmann-json).
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordage/host/hf_families.hpp"
#include "cordage/host/hf_rope.hpp"
#include "cordage/host/hf_rule.hpp"
#include "cordage/host/json_object.hpp"
#include "cordage/host/strict_json.hpp"

namespace cordage::hf {

/// How to read.
struct read_options {
    bool lenient = false;  ///< doubtful settings become model_ropes::warnings instead of errors
};

namespace config_detail {

/// Top-level keys that say something of rotation; one that looks like them and is none of them is doubtful.
inline constexpr std::string_view rope_keys[] = {"compress_rope_theta",
                                                 "global_rope_theta",
                                                 "local_rope_theta",
                                                 "no_rope_layer_interval",
                                                 "no_rope_layers",
                                                 "partial_rotary_factor",
                                                 "qk_rope_head_dim",
                                                 "rope_base",
                                                 "rope_interleave",
                                                 "rope_interleaved",
                                                 "rope_local_base_freq",
                                                 "rope_parameters",
                                                 "rope_pct",
                                                 "rope_ratio",
                                                 "rope_scaling",
                                                 "rope_theta",
                                                 "rotary_base",
                                                 "rotary_dim",
                                                 "rotary_emb_base",
                                                 "rotary_emb_fraction",
                                                 "rotary_emb_interleaved",
                                                 "rotary_emb_scale_base",
                                                 "rotary_pct",
                                                 "rotary_percentage",
                                                 "swa_rope_theta"};

inline void check_top_keys(const json_object& config, complaints& doubts) {
    for (const auto& [key, entry] : config.json().items()) {
        const bool looks_alike = key.starts_with("rope_") || key.starts_with("rotary_") ||
                                 (key.size() < 24 && (edit_distance(key, "rope_scaling") <= 2 ||
                                                      edit_distance(key, "rope_parameters") <= 2));
        if (!looks_alike || std::ranges::find(rope_keys, key) != std::end(rope_keys)) continue;
        doubts.add(
            message(config.where(), ": key ", in_quotes(key), " must be a known one", nearest_known(key, rope_keys)));
    }
    if (config.flag("use_dynamic_ntk").value_or(false)) {  // Qwen, the first
        doubts.add(message(config.where(), ": use_dynamic_ntk true must be false: its rule for more than seq_length ",
                           "tokens is not known here"));
    }
}

/// One place where a number may stand.
struct place {
    const json_object* object;
    std::string_view key;
};

/// The number that stands in one or several places; the first if they disagree, which is doubtful.
inline std::optional<double> agreed(std::initializer_list<place> places, complaints& doubts) {
    std::optional<double> found;
    std::string_view first;
    for (const place& p : places) {
        const auto value = p.object->number(p.key);
        if (!value) continue;
        if (found && *found != *value) {
            doubts.add(message(p.object->where(), ": ", p.key, " ", *value, " must equal ", first, " ", *found));
        }
        if (!found) found = value, first = p.key;
    }
    return found;
}

/// The part of a config that describes the language model: itself, or its "text_config".
inline json_object language_part(const json_object& whole) {
    for (const char* key : {"rope_scaling", "rope_parameters", "rope_theta"}) {
        if (whole.has(key)) return whole;
    }
    for (const char* key : {"text_config", "language_config", "llm_config", "thinker_config"}) {
        const auto* inner = whole.find(key);
        if (inner != nullptr && inner->is_object()) return language_part({*inner, whole.where() + "." + key});
    }
    return whole;
}

/// A whole number above 0 under the first of several names; doubtful if they disagree.
inline std::optional<index_t> count_of(const json_object& config, std::initializer_list<std::string_view> keys,
                                       complaints& doubts) {
    std::optional<index_t> found;
    std::string_view first;
    for (const auto key : keys) {
        const auto value = config.count(key);
        if (found && value && *found != *value) {
            doubts.add(message(config.where(), ": ", key, " ", *value, " must equal ", first, " ", *found));
        }
        if (!found) found = value, first = key;
    }
    return found;
}

inline index_t head_dim_of(const json_object& config, const std::string& layer_type, complaints& doubts) {
    if (layer_type == "full_attention") {
        if (const auto value = config.count("global_head_dim")) return *value;
    }
    if (const auto value = count_of(config, {"head_dim", "kv_channels"}, doubts)) return *value;
    const auto hidden = count_of(config, {"hidden_size", "n_embd", "d_model"}, doubts);
    const auto heads = count_of(config, {"num_attention_heads", "n_head", "n_heads"}, doubts);
    if (!hidden || !heads) {
        fail<value_error>({config.where(), ": head_dim, or hidden_size and num_attention_heads, must be given"});
    }
    if (*hidden % *heads != 0) {
        fail<value_error>({config.where(), ": hidden_size ", *hidden, " must be a multiple of num_attention_heads ",
                           *heads, ", or head_dim be given"});
    }
    return *hidden / *heads;
}

/// Which lanes of a head turn: head_dim, rotary_dim, first lane.
inline void set_lanes(const json_object& config, double share, bool share_is_given, layer_rope& rope,
                      complaints& doubts) {
    if (const auto rope_dim = config.count("qk_rope_head_dim")) {  // DeepSeek: a part of the head, turned as a whole
        rope.config.head_dim = rope.config.rotary_dim = *rope_dim;
        const auto rest = config.count("qk_nope_head_dim"), whole = config.count("head_dim");
        if (rest)
            rope.first_lane = *rest;
        else if (whole && *whole > *rope_dim)
            rope.first_lane = *whole - *rope_dim;
        const double lanes = share * static_cast<double>(rope.first_lane + *rope_dim);
        if (share_is_given && share != 1.0 && std::fabs(lanes - static_cast<double>(*rope_dim)) >= 1.0) {
            doubts.add(message(config.where(), ": partial_rotary_factor ", share, " must leave qk_rope_head_dim ",
                               *rope_dim, " lanes"));
        }
    } else {
        rope.config.head_dim = head_dim_of(config, rope.layer_type, doubts);
        rope.config.rotary_dim = rope.config.head_dim;
        const auto width = static_cast<double>(rope.config.head_dim);
        const auto given = config.count("rotary_dim");
        if (given && share_is_given && std::floor(share * width) != static_cast<double>(*given)) {
            doubts.add(message(config.where(), ": rotary_dim ", *given, " must be partial_rotary_factor ", share,
                               " of head_dim ", rope.config.head_dim));
        }
        if (given)
            rope.config.rotary_dim = *given;
        else if (rope.rope_type != "proportional")
            rope.config.rotary_dim = static_cast<index_t>(share * width);
        if (const auto lanes = rope.config.rotary_dim; !given && (lanes < 2 || lanes % 2 != 0)) {
            const std::string part = share == 1.0 ? "" : message("partial_rotary_factor ", share, " of ");
            fail<value_error>({config.where(), ": ", part, "head_dim ", rope.config.head_dim, " is ", lanes,
                               " lanes, must be an even number >= 2"});
        }
    }
}

inline std::string type_of(const json_object& dict, complaints& doubts) {
    const auto new_name = dict.text("rope_type"), old_name = dict.text("type");
    std::string type = canonical_type(new_name ? *new_name : old_name.value_or("default"));
    if (new_name && old_name && type != canonical_type(*old_name)) {
        doubts.add(
            message(dict.where(), ": type ", in_quotes(*old_name), " must equal rope_type ", in_quotes(*new_name)));
    }
    // Phi-3 configs of the first months say "yarn" where they mean their tables.
    return type == "yarn" && dict.has("short_factor") ? "longrope" : type;
}

inline void set_axes(const json_object& dict, layer_rope& rope, complaints& doubts) {
    rope.axes_interleaved = dict.flag("mrope_interleaved").value_or(false);
    const auto sections = dict.numbers("mrope_section");
    if (!sections) {
        if (dict.text("type") == "mrope" || dict.text("rope_type") == "mrope") {
            fail<value_error>({dict.where(), ": mrope_section must be given for rope type 'mrope'"});
        }
        return;
    }
    double sum = 0.0;
    for (const double pairs : *sections) {
        if (!(pairs >= 0.0 && pairs <= 0x1p31) || pairs != std::floor(pairs)) {
            fail<value_error>({dict.where(), ": mrope_section entry ", pairs, " must be a whole number >= 0"});
        }
        rope.axis_sections.push_back(static_cast<index_t>(pairs));
        sum += pairs;
    }
    if (sum != static_cast<double>(rope.config.pairs())) {
        doubts.add(message(dict.where(), ": mrope_section sums to ", sum,
                           " and must sum to rotary_dim/2 = ", rope.config.pairs()));
    }
}

/// Everything that the rules of one config share.
struct reader {
    json_object config;
    family known;
    double max_length;
    complaints& doubts;

    /// The rule of one dictionary, whose theta_base is known.
    layer_rope rope(const std::string& layer_type, const json_object& dict, double theta_base) const {
        layer_rope out;
        out.layer_type = layer_type;
        out.rope_type = type_of(dict, doubts);
        out.layout = layout();
        out.config.theta_base = theta_base;
        if (!(theta_base > 1.0)) fail<value_error>({dict.where(), ": rope_theta ", theta_base, " must be > 1"});
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
        set_lanes(config, turning, share.has_value(), out, doubts);
        agreed({{&dict, "max_position_embeddings"}, {&config, "max_position_embeddings"}}, doubts);
        const auto original = agreed({{&config, "original_max_position_embeddings"},
                                      {&dict, "original_max_position_embeddings"},
                                      {&config, "initial_context_length"}},
                                     doubts);
        out.config.original_length = original.value_or(max_length);
        rule_detail::at_least(dict, "original_max_position_embeddings", out.config.original_length, 1.0);
        validate(out.config);
        apply_rule({dict, max_length, original.has_value(), doubts}, config, turning, out);
        set_axes(dict, out, doubts);
        out.llama4_beta = dict.number("llama_4_scaling_beta");
        return out;
    }

    /// Layers that do not turn at all.
    layer_rope none(const std::string& layer_type) const {
        const nlohmann::json empty = nlohmann::json::object();
        layer_rope out = rope(layer_type, {empty, config.where()}, known.theta_base);
        out.rope_type = "none";
        out.policy = proportional{0.0};  // no mask: a file may have many such layer types, and wide heads
        out.policy_words = "nothing turns (NoPE)";
        return out;
    }

    /// Whether some layers do not turn at all: those with a 0 in a list, or every n-th (Llama 4, SmolLM3).
    bool has_layers_at_rest() const {
        const auto turns = config.numbers("no_rope_layers");
        if (turns && !turns->empty()) return std::ranges::find(*turns, 0.0) != turns->end();
        return config.count("no_rope_layer_interval") || known.model_type == "llama4" || known.model_type == "smollm3";
    }

    pair_layout layout() const {
        std::optional<bool> found;
        for (const char* key : {"rope_interleave", "rope_interleaved", "rotary_emb_interleaved"}) {
            const auto flag = config.flag(key);
            if (found && flag && *found != *flag) {
                doubts.add(message(config.where(), ": ", key, " must equal the other keys of the pairs' layout"));
            }
            if (!found) found = flag;
        }
        return !found ? known.layout : *found ? pair_layout::interleaved : pair_layout::half_split;
    }

    /// theta_base of the layers that see everything, and of those that see a window. `dict` is the one that tells of
    /// these layers; a number in it and one beside it must agree.
    double global_theta(const json_object& dict) const {
        return rope_ratio() * agreed({{&dict, "rope_theta"},
                                      {&config, "rope_theta"},
                                      {&config, "global_rope_theta"},
                                      {&config, "rotary_emb_base"},
                                      {&config, "rope_base"},
                                      {&config, "rotary_base"}},
                                     doubts)
                                  .value_or(known.theta_base);
    }
    std::optional<double> local_theta(const json_object& dict) const {
        return agreed({{&dict, "rope_theta"},
                       {&config, "rope_local_base_freq"},
                       {&config, "local_rope_theta"},
                       {&config, "swa_rope_theta"}},
                      doubts);
    }
    double rope_ratio() const { return config.number("rope_ratio").value_or(1.0); }

    /// The same of one layer type among several; `others` where nothing is said of it.
    double theta_of(const std::string& layer_type, const json_object& dict, double others) const {
        const char* const beside = layer_type == "compress" ? "compress_rope_theta" : "global_rope_theta";
        const auto own = layer_type == "sliding_attention" ? local_theta(dict)
                                                           : agreed({{&dict, "rope_theta"}, {&config, beside}}, doubts);
        return own ? rope_ratio() * *own : others;
    }
};

/// True for {"full_attention": {...}, "sliding_attention": null, ...}.
inline bool is_nested(const nlohmann::json& dict) {
    bool has_object = false;
    for (const auto& entry : dict) {
        if (!entry.is_object() && !entry.is_null()) return false;
        has_object = has_object || entry.is_object();
    }
    return has_object;
}

/// The most layer types that a config may have. Each rule takes many times the bytes of a null; models have up to 5.
inline constexpr std::size_t most_layer_types = 64;

inline void add_ropes(const reader& read, const json_object& dict, model_ropes& out) {
    const nlohmann::json empty = nlohmann::json::object();
    const json_object unscaled_dict(empty, dict.where());
    const std::string_view type = read.known.model_type;
    const bool by_layer_type = is_nested(dict.json());
    const double theta = read.global_theta(by_layer_type ? unscaled_dict : dict);
    if (by_layer_type) {
        if (dict.json().size() > most_layer_types) {
            fail<value_error>(
                {dict.where(), ": ", dict.json().size(), " layer types must be at most ", most_layer_types});
        }
        for (const auto& [layer_type, entry] : dict.json().items()) {
            if (entry.is_null()) {
                out.ropes.push_back(read.none(layer_type));
            } else {
                const json_object own(entry, dict.where() + "." + printable(layer_type));
                out.ropes.push_back(read.rope(layer_type, own, read.theta_of(layer_type, own, theta)));
            }
        }
    } else if (const auto local = read.local_theta(unscaled_dict)) {  // only the global layers are scaled (Gemma 3)
        out.ropes.push_back(read.rope("full_attention", dict, theta));
        const json_object& local_dict = type == "modernbert" ? dict : unscaled_dict;
        out.ropes.push_back(read.rope("sliding_attention", local_dict, *local));
    } else if (type == "olmo3") {  // only the layers that see everything are scaled
        out.ropes.push_back(read.rope("full_attention", dict, theta));
        out.ropes.push_back(read.rope("sliding_attention", unscaled_dict, theta));
    } else if (const auto compressed = read.config.number("compress_rope_theta")) {  // DeepSeek V4
        nlohmann::json scaled = dict.json();
        if (type_of(dict, read.doubts) == "yarn" && !dict.has("attention_factor")) scaled["attention_factor"] = 1.0;
        out.ropes.push_back(read.rope("main", unscaled_dict, theta));
        out.ropes.push_back(read.rope("compress", {scaled, dict.where()}, *compressed));
    } else if (type == "cohere2") {  // the layers that see everything do not turn
        out.ropes.push_back(read.rope("sliding_attention", dict, theta));
        out.ropes.push_back(read.none("full_attention"));
    } else {
        out.ropes.push_back(read.rope("", dict, theta));
    }
    if (read.has_layers_at_rest()) {
        if (out.ropes.front().layer_type.empty()) out.ropes.front().layer_type = "rope";
        out.ropes.push_back(read.none("no_rope"));
    }
    if (type == "deepseek_v32") {  // its indexer pairs lanes the other way, and turns the first of them
        layer_rope indexer = out.ropes.front();
        indexer.layer_type = "indexer";
        indexer.layout = pair_layout::half_split;
        indexer.first_lane = 0;
        indexer.config.head_dim = read.config.count("index_head_dim").value_or(indexer.config.head_dim);
        validate(indexer.config);
        out.ropes.front().layer_type = "attention";
        out.ropes.push_back(std::move(indexer));
    }
}

/// The one dictionary among "rope_parameters" (new) and "rope_scaling" (old).
inline json_object rope_dictionary(const json_object& config, const nlohmann::json& empty, complaints& doubts) {
    const auto* parameters = config.find("rope_parameters");
    const auto* scaling = config.find("rope_scaling");
    if (parameters != nullptr && scaling != nullptr && *parameters != *scaling) {
        doubts.add(message(config.where(), ": rope_scaling must equal rope_parameters or be left out"));
    }
    if (parameters != nullptr) return {*parameters, "rope_parameters"};
    if (scaling != nullptr) return {*scaling, "rope_scaling"};
    return {empty, config.where()};
}

}  // namespace config_detail

/// What a parsed config says of its model's rotation, one rule for each layer type. Throws as read_config(text).
inline model_ropes read_parsed_config(const nlohmann::json& root, const read_options& options = {}) {
    using namespace config_detail;
    complaints doubts(options.lenient);
    const json_object whole(root, "config");
    const json_object config = language_part(whole);
    check_top_keys(config, doubts);

    model_ropes out;
    out.model_type = config.text("model_type").value_or(whole.text("model_type").value_or(""));
    std::optional<index_t> positions;  // the first; the others mean something else in some families (Qwen's seq_length)
    for (const char* key : {"max_position_embeddings", "n_positions", "seq_length", "max_seq_len"}) {
        if (!positions) positions = config.count(key);
    }
    if (!positions) fail<value_error>({config.where(), ": max_position_embeddings must be given"});
    out.max_length = static_cast<double>(*positions);

    const nlohmann::json empty = nlohmann::json::object();
    const json_object dict = rope_dictionary(config, empty, doubts);
    add_ropes({config, family_of(out.model_type), out.max_length, doubts}, dict, out);
    out.warnings = doubts.warnings();
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
/// options.lenient it becomes a warning. Wrong types and numbers out of their domain are always errors.
///
/// Follows transformers 5.23 but for `truncate` in dictionaries by layer type, which that version looks up in the wrong
/// place and so loses.
/// @throws value_error or shape_error, nothing else but std::bad_alloc
inline model_ropes read_config(std::string_view text, const read_options& options = {}) {
    return read_parsed_config(parse_strict_json("hf::read_config", text), options);
}

/// The same for a file. @throws value_error also if it cannot be read
inline model_ropes read_config_file(const std::string& path, const read_options& options = {}) {
    constexpr std::uintmax_t largest = std::uintmax_t{64} << 20;
    const auto text = text_of_file(path, largest);
    if (!text) {
        fail<value_error>({"hf::read_config_file: ", path, " must be a readable file of at most ", largest, " bytes"});
    }
    return read_parsed_config(parse_strict_json(path, *text), options);
}

}  // namespace cordage::hf
