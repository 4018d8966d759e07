// SPDX-License-Identifier: MIT
// Reads what any model's config.json says of its rotation, in every spelling in use (nlohmann-json).
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "cordage/config/layers.hpp"

namespace cordage::hf {

/// How to read.
struct read_options {
    bool lenient = false;  ///< doubtful settings become model_ropes::warnings instead of errors
};

namespace config_detail {

/// The part of a config that describes the language model: its "text_config", unless only the top level speaks of a
/// rotation; where both do, that of the top level may be another part's.
inline json_object language_part(const json_object& whole) {
    const auto has_rotation = [](const json_object& part) {
        return part.has("rope_scaling") || part.has("rope_parameters") || part.has("rope_theta");
    };
    for (const char* key : {"text_config", "language_config", "llm_config", "thinker_config"}) {
        const auto* found = whole.find(key);
        if (found == nullptr || !found->is_object()) continue;
        const json_object inner = language_part({*found, whole.where() + "." + key});
        return has_rotation(inner) || !has_rotation(whole) ? inner : whole;
    }
    return whole;
}

/// Refuses models without a rotary embedding, and doubts those of which nothing says that they have one.
inline void check_that_it_turns(const json_object& config, const std::string& model_type, const family* known,
                                doubtful_settings& doubts) {
    const auto refuse = [&](const std::string& what) {
        fail<value_error>({config.where(), ": ", what, "; only models that rotate q and k can be read"});
    };
    const std::string quoted = "model_type " + in_quotes(model_type);
    if (const auto instead = instead_of_rotation(model_type); !instead.empty()) {
        refuse(quoted + " has no rotary embedding, it has " + std::string(instead));
    }
    const auto* attention = config.find("attn_config");
    const nlohmann::json nothing = nlohmann::json::object();
    const json_object inner(attention != nullptr && attention->is_object() ? *attention : nothing, "attn_config");
    if (config.flag("alibi").value_or(false) || inner.flag("alibi").value_or(false)) {
        refuse("alibi true says that it has ALiBi instead of a rotary embedding");
    }
    bool says_so = inner.has("rope_theta");
    for (const char* key : {"position_embedding_type", "position_embeddings_type"}) {
        const auto type = config.text(key);
        if (type && *type != "rope" && *type != "rotary") {
            refuse(message(key, " ", in_quotes(*type), " must be 'rope' or 'rotary'"));
        }
        says_so = says_so || type;
    }
    for (const char* key : {"use_mem_rope", "use_rotary_embedding"}) {
        const auto flag = config.flag(key);
        if (flag && !*flag) refuse(message(key, " false says that it has no rotary embedding"));
        says_so = says_so || flag;
    }
    if (config.number("qk_rope_head_dim") == 0.0) refuse("qk_rope_head_dim 0 says that no lanes turn");
    if (known != nullptr && !known->turns_by.empty() && !config.has(known->turns_by)) {
        refuse(quoted + " has a rotary embedding only where " + std::string(known->turns_by) + " says so");
    }
    says_so = says_so || std::ranges::any_of(rope_keys, [&](std::string_view key) {
                  return config.json().contains(std::string(key));  // null too: its model's code knows the key
              });
    if (known == nullptr && !says_so) {
        doubts.add(message(config.where(), ": ", quoted, " must be a known one, or rope_theta or rope_parameters be ",
                           "given: nothing says that its q and k are rotated"));
    }
}

/// The one dictionary among "rope_parameters" (new) and "rope_scaling" (old).
inline json_object rope_dictionary(const json_object& config, const nlohmann::json& empty, const family& known,
                                   doubtful_settings& doubts) {
    const auto* parameters = config.find("rope_parameters");
    const auto* scaling = config.find("rope_scaling");
    if (parameters != nullptr && scaling != nullptr && *parameters != *scaling) {
        doubts.add(message(config.where(), ": rope_scaling must equal rope_parameters or be left out"));
    }
    if (parameters != nullptr) return {*parameters, "rope_parameters"};
    if (scaling != nullptr) return {*scaling, "rope_scaling"};
    if (!known.default_rope_type.empty()) {
        doubts.add(message(config.where(), ": rope_parameters must be given for model_type ",
                           in_quotes(known.model_type), ": its code has numbers of its own for rope type '",
                           known.default_rope_type, "'"));
    }
    return {empty, config.where()};
}

}  // namespace config_detail

/// What a parsed config says of its model's rotation, one rule for each layer type. Throws as read_config(text).
inline model_ropes read_parsed_config(const nlohmann::json& root, const read_options& options = {}) {
    using namespace config_detail;
    doubtful_settings doubts(options.lenient);
    const json_object whole(root, "config");
    const json_object config = language_part(whole);
    model_ropes out;
    out.model_type = config.text("model_type").value_or(whole.text("model_type").value_or(""));
    const family* const known = find_family(out.model_type);
    check_top_keys(config, doubts);
    check_that_it_turns(config, out.model_type, known, doubts);

    std::optional<index_t> positions;  // the first; the others mean something else in some families (Qwen's seq_length)
    for (const char* key : {"max_position_embeddings", "n_positions", "seq_length", "max_seq_len"}) {
        if (!positions) positions = config.count(key);
    }
    if (!positions) fail<value_error>({config.where(), ": max_position_embeddings must be given"});
    out.max_length = static_cast<double>(*positions);

    const nlohmann::json empty = nlohmann::json::object();
    const layer_reader reader{config, {config, doubts}, known == nullptr ? family{} : *known, out.max_length, doubts};
    add_ropes(reader, rope_dictionary(config, empty, reader.known, doubts), out);
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

/// The same for a file. @throws value_error also if it cannot be read
inline model_ropes read_config_file(const std::string& path, const read_options& options = {}) {
    constexpr std::uintmax_t largest = std::uintmax_t{64} << 20;
    const auto text = json_detail::text_of_file(path, largest);
    if (!text) {
        fail<value_error>({"hf::read_config_file: ", path, " must be a readable file of at most ", largest, " bytes"});
    }
    return read_parsed_config(json_detail::parse_strict_json(path, *text), options);
}

}  // namespace cordage::hf
