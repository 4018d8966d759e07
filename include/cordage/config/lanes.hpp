// SPDX-License-Identifier: MIT
// Which lanes of a head turn, and along which axes, by every name that a config.json has for it; serves config/.
#pragma once

#include <cmath>
#include <string>

#include "cordage/config/family.hpp"
#include "cordage/config/keys.hpp"

namespace cordage::hf::config_detail {

/// A size of one layer type's heads: "swa_head_dim" and its like before the same key without "swa_".
inline std::optional<index_t> size_of(const json_object& config, std::string_view layer_type, const std::string& key,
                                      doubtful_settings& doubts) {
    const bool slides = layer_type == "sliding_attention", sees_all = layer_type == "full_attention";
    const std::string own_key = slides ? "swa_" + key : sees_all && key == "head_dim" ? "global_head_dim" : key;
    if (!config.has(own_key)) return config.count(key);
    return config.overrides(key) ? agreed<index_t>({{&config, key}, {&config, own_key}}, doubts)
                                 : config.count(own_key);
}

inline index_t head_dim_of(const json_object& config, const family& known, const layer_kind& kind,
                           doubtful_settings& doubts) {
    if (kind.head_dim > 0 && !config.has("global_head_dim") && !config.has("per_layer_config")) return kind.head_dim;
    const auto own = size_of(config, kind.layer_type, "head_dim", doubts);
    const auto hybrid = own && own != config.count("head_dim") ? std::nullopt : config.count("attention_head_dim");
    if (own && hybrid && *own != *hybrid) {
        doubts.add(message(config.where(), ": attention_head_dim ", *hybrid, " must equal head_dim ", *own));
    }
    const auto channels = hybrid ? std::nullopt : config.count("kv_channels");  // Zamba 2's are another size
    if (own && channels && *own != *channels) {
        doubts.add(message(config.where(), ": kv_channels ", *channels, " must equal head_dim ", *own));
    }
    for (const auto& given : {own, hybrid, channels}) {
        if (given) return *given;
    }
    if (known.head_dim > 0) return known.head_dim;
    const auto hidden = agreed<index_t>({{&config, "hidden_size"}, {&config, "n_embd"}, {&config, "d_model"}}, doubts);
    const auto heads =
        agreed<index_t>({{&config, "num_attention_heads"}, {&config, "n_head"}, {&config, "n_heads"}}, doubts);
    if (!hidden || !heads) {
        fail<value_error>({config.where(), ": head_dim, or hidden_size and num_attention_heads, must be given"});
    }
    if (*hidden % *heads != 0) {
        fail<value_error>({config.where(), ": hidden_size ", *hidden, " must be a multiple of num_attention_heads ",
                           *heads, ", or head_dim be given"});
    }
    return static_cast<index_t>(known.head_width * static_cast<double>(*hidden / *heads));
}

/// Sets head_dim, rotary_dim and first_lane.
/// @param share  of the head that turns, where no key says how many lanes
inline void set_lanes(const json_object& config, const family& known, const layer_kind& kind, double share,
                      bool share_is_given, layer_rope& rope, doubtful_settings& doubts) {
    if (const auto rope_dim = size_of(config, kind.layer_type, "qk_rope_head_dim", doubts)) {
        // DeepSeek: a part of the head, turned as a whole.
        rope.config.head_dim = rope.config.rotary_dim = *rope_dim;
        const auto rest = size_of(config, kind.layer_type, "qk_nope_head_dim", doubts);
        const auto whole = size_of(config, kind.layer_type, "head_dim", doubts);
        if (rest)
            rope.first_lane = *rest;
        else if (whole && *whole > *rope_dim)
            rope.first_lane = *whole - *rope_dim;
        const auto leaves_them = [&](index_t head) {
            return std::fabs(share * static_cast<double>(head) - static_cast<double>(*rope_dim)) < 1.0;
        };
        if (share_is_given && share != 1.0 && !leaves_them(rope.first_lane + *rope_dim) &&
            !(whole && leaves_them(*whole))) {
            doubts.add(message(config.where(), ": partial_rotary_factor ", share, " must leave qk_rope_head_dim ",
                               *rope_dim, " lanes"));
        }
        return;
    }
    rope.config.head_dim = head_dim_of(config, known, kind, doubts);
    rope.config.rotary_dim = rope.config.head_dim;
    const auto width = static_cast<double>(rope.config.head_dim);
    auto given = config.count("rotary_dim");
    if (given && share_is_given && std::floor(share * width) != static_cast<double>(*given)) {
        doubts.add(message(config.where(), ": rotary_dim ", *given, " must be partial_rotary_factor ", share,
                           " of head_dim ", rope.config.head_dim));
    }
    if (!given && !share_is_given && known.rotary_dim > 0) given = known.rotary_dim;
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

/// M-RoPE: which pairs turn by which position.
inline void set_axes(const json_object& dict, layer_rope& rope, doubtful_settings& doubts) {
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

/// How lanes pair up, by the config's keys or the family.
inline pair_layout layout_of(const json_object& config, const family& known, doubtful_settings& doubts) {
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

}  // namespace cordage::hf::config_detail
