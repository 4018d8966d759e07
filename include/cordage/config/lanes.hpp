// SPDX-License-Identifier: MIT
// Which lanes of a head turn, and along which axes, by every name that a config.json has for it; serves config/.
#pragma once

#include <cmath>
#include <string>

#include "cordage/config/family.hpp"
#include "cordage/config/json.hpp"

namespace cordage::hf::config_detail {

using namespace json_detail;

/// A size of one layer type's heads: "swa_head_dim" and its like before the same key without "swa_".
inline std::optional<index_t> size_of(const json_object& config, std::string_view layer_type, const std::string& key) {
    const bool slides = layer_type == "sliding_attention", sees_all = layer_type == "full_attention";
    const std::string own_key = slides ? "swa_" + key : sees_all && key == "head_dim" ? "global_head_dim" : key;
    if (!config.has(own_key)) return config.count(key);
    return config.overrides(key) ? agreed<&json_object::count>({{config, key + " " + own_key}}) : config.count(own_key);
}

inline index_t head_dim_of(const json_object& config, const family& known, const layer_kind& kind) {
    if (kind.head_dim > 0 && !config.has("global_head_dim") && !config.has("per_layer_config")) return kind.head_dim;
    const auto own = size_of(config, kind.layer_type, "head_dim");
    const auto hybrid = own && own != config.count("head_dim") ? std::nullopt : config.count("attention_head_dim");
    const char* const other_key = hybrid ? "attention_head_dim" : "kv_channels";  // Zamba 2's channels are another size
    const auto other = config.count(other_key);
    if (own && other && *own != *other) config.doubt({other_key, " ", *other, " must equal head_dim ", *own});
    if (own || other) return own ? *own : *other;
    if (known.head_dim > 0) return known.head_dim;
    const auto hidden = agreed<&json_object::count>({{config, "hidden_size n_embd d_model"}});
    const auto heads = agreed<&json_object::count>({{config, "num_attention_heads n_head n_heads"}});
    if (!hidden || !heads) config.refuse({"head_dim, or hidden_size and num_attention_heads, must be given"});
    if (*hidden % *heads != 0) {
        config.refuse(
            {"hidden_size ", *hidden, " must be a multiple of num_attention_heads ", *heads, ", or head_dim be given"});
    }
    return static_cast<index_t>(known.head_width * static_cast<double>(*hidden / *heads));
}

/// DeepSeek: a part of the head turns, as a whole.
inline void set_part_of_head(const json_object& config, const layer_kind& kind, std::optional<double> share,
                             index_t turning, layer_rope& rope) {
    rope.config.head_dim = rope.config.rotary_dim = turning;
    const auto rest = size_of(config, kind.layer_type, "qk_nope_head_dim");
    const auto whole = size_of(config, kind.layer_type, "head_dim");
    rope.first_lane = rest ? *rest : whole && *whole > turning ? *whole - turning : 0;
    const auto is_share_of = [&](index_t head) {
        return std::fabs(*share * static_cast<double>(head) - static_cast<double>(turning)) < 1.0;
    };
    if (share && *share != 1.0 && !is_share_of(rope.first_lane + turning) && !(whole && is_share_of(*whole))) {
        config.doubt({"partial_rotary_factor ", *share, " must leave qk_rope_head_dim ", turning, " lanes"});
    }
}

/// Sets head_dim, rotary_dim and first_lane.
/// @returns  partial_rotary_factor
inline double set_lanes(const json_object& config, const json_object& dict, const family& known, const layer_kind& kind,
                        layer_rope& rope) {
    const auto given_share =
        agreed({{dict, "partial_rotary_factor"},
                {config, "partial_rotary_factor rotary_pct rope_pct rotary_percentage rotary_emb_fraction"}});
    const bool is_proportional = rope.rope_type == "proportional";  // turns some pairs of the whole head
    const double share = given_share.value_or(is_proportional ? 1.0 : known.partial_rotary_factor);
    if (!(share > 0.0 && share <= 1.0)) config.refuse({"partial_rotary_factor ", share, " must be in (0, 1]"});
    if (const auto turning = size_of(config, kind.layer_type, "qk_rope_head_dim")) {
        set_part_of_head(config, kind, given_share, *turning, rope);
        return share;
    }
    const index_t head_dim = rope.config.head_dim = head_dim_of(config, known, kind);
    const double lanes_of_share = share * static_cast<double>(head_dim);
    auto given = config.count("rotary_dim");
    if (given && given_share && std::floor(lanes_of_share) != static_cast<double>(*given)) {
        config.doubt({"rotary_dim ", *given, " must be partial_rotary_factor ", share, " of head_dim ", head_dim});
    }
    if (!given && !given_share && known.rotary_dim > 0) given = known.rotary_dim;
    const index_t lanes = given ? *given : is_proportional ? head_dim : static_cast<index_t>(lanes_of_share);
    rope.config.rotary_dim = lanes;
    if (!given && (lanes < 2 || lanes % 2 != 0)) {
        config.refuse({share == 1.0 ? "" : message("partial_rotary_factor ", share, " of "), "head_dim ", head_dim,
                       " is ", lanes, " lanes, must be an even number >= 2"});
    }
    return share;
}

/// M-RoPE: which pairs turn by which position.
inline void set_axes(const json_object& dict, layer_rope& rope) {
    rope.axes_interleaved = dict.flag("mrope_interleaved").value_or(false);
    const auto sections = dict.numbers("mrope_section");
    if (!sections && (dict.text("type") == "mrope" || dict.text("rope_type") == "mrope")) {
        dict.refuse({"mrope_section must be given for rope type 'mrope'"});
    }
    if (!sections) return;
    double sum = 0.0;
    for (const double pairs : *sections) {
        if (!(pairs >= 0.0 && pairs <= 0x1p31) || pairs != std::floor(pairs)) {
            dict.refuse({"mrope_section entry ", pairs, " must be a whole number >= 0"});
        }
        rope.axis_sections.push_back(static_cast<index_t>(pairs));
        sum += pairs;
    }
    if (sum != static_cast<double>(rope.config.pairs())) {
        dict.doubt({"mrope_section sums to ", sum, " and must sum to rotary_dim/2 = ", rope.config.pairs()});
    }
}

/// How lanes pair up, by the config's keys or the family.
inline pair_layout layout_of(const json_object& config, const family& known) {
    std::optional<bool> found;
    for (const char* key : {"rope_interleave", "rope_interleaved", "rotary_emb_interleaved"}) {
        const auto flag = config.flag(key);
        if (found && flag && *found != *flag) config.doubt({key, " must equal the other keys of the pairs' layout"});
        if (!found) found = flag;
    }
    return !found ? known.layout : *found ? pair_layout::interleaved : pair_layout::half_split;
}

}  // namespace cordage::hf::config_detail
