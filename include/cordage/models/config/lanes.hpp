// SPDX-License-Identifier: MIT
// The rotated lanes of a head and their axes, from every key of config.json for them; serves config/.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "cordage/models/config/family.hpp"
#include "cordage/models/config/json.hpp"
#include "cordage/positions/sections.hpp"

namespace cordage::hf::config_detail {

using namespace json_detail;

/// Reports a key that the code of this model_type ignores.
inline void not_read(const json_object& config, std::string_view what) {
    config.doubt({what, ": the code of this model_type does not read it"});
}

/// Reports a top-level key that the code of this model_type reads only by another name; unless that is given too, or
/// the rope dictionary has the key.
/// @param own_name  empty if the code reads the key
inline void check_name(const json_object& config, const json_object& dict, std::string_view key,
                       std::string_view own_name) {
    if (own_name.empty() || dict.has(key) || !config.has(key) || config.has(own_name)) return;
    not_read(config, message(key, " must be named ", own_name));
}

/// A size of one layer type's heads: "swa_head_dim" and similar keys take precedence over the key without "swa_". 0
/// counts as not given.
inline std::optional<index_t> size_of(const json_object& config, std::string_view layer_type, const std::string& key) {
    const bool slides = layer_type == "sliding_attention", sees_all = layer_type == "full_attention";
    const std::string own_key = slides ? "swa_" + key : sees_all && key == "head_dim" ? "global_head_dim" : key;
    if (config.number(own_key).value_or(0.0) == 0.0)
        return config.number(key) == 0.0 ? std::nullopt : config.count(key);
    return config.overrides(key) ? agreed<&json_object::count>({{config, key + " " + own_key}}) : config.count(own_key);
}

/// head_dim from the sizes of the model, rounded down as in its code.
inline index_t share_of_hidden_size(const json_object& config, const family& known) {
    const std::string heads_keys(known.heads_key.empty() ? "num_attention_heads n_head n_heads" : known.heads_key);
    const auto hidden = agreed<&json_object::count>({{config, "hidden_size n_embd d_model"}});
    const auto heads = agreed<&json_object::count>({{config, heads_keys}});
    if (!hidden || !heads) {
        config.refuse({"head_dim, or hidden_size and ", words(heads_keys).front(), ", must be given"});
    }
    if (*hidden % *heads != 0 && known.layout == pair_layout::unknown) {
        config.refuse({"hidden_size ", *hidden, " must be a multiple of num_attention_heads ", *heads,
                       ", or head_dim must be given"});
    }
    const index_t lanes = *hidden / *heads;
    return static_cast<index_t>(known.head_width * static_cast<double>(lanes));
}

inline index_t head_dim_of(const json_object& config, const family& known, const layer_kind& kind) {
    if (kind.head_dim > 0 && !config.has("global_head_dim") && !config.has("per_layer_config")) return kind.head_dim;
    const auto own = size_of(config, kind.layer_type, "head_dim");
    const auto hybrid = own && own != config.count("head_dim") ? std::nullopt : config.count("attention_head_dim");
    const bool has_channels = !hybrid && known.head_width == 1.0;  // Zamba 2's configs use these keys otherwise
    const auto other = has_channels ? config.count("kv_channels") : hybrid;
    if (own && other && *own != *other) {
        config.doubt({has_channels ? "kv_channels " : "attention_head_dim ", *other, " must equal head_dim ", *own});
    }
    if (known.head_is_derived) {
        const index_t derived = share_of_hidden_size(config, known);
        if (own && *own != derived) {
            config.doubt({"head_dim ", *own, " must be left out or hidden_size / num_attention_heads = ", derived});
        }
        return derived;
    }
    if (own || other) return own ? *own : *other;
    const bool is_null = config.json().contains("head_dim");  // then the code derives it, whatever its default is
    return known.head_dim > 0 && !is_null ? known.head_dim : share_of_hidden_size(config, known);
}

/// DeepSeek: a contiguous part of the head is rotated.
inline void set_part_of_head(const json_object& config, const family& known, const layer_kind& kind,
                             std::optional<double> share, index_t rotated, layer_rope& rope) {
    rope.config.head_dim = rope.config.rotary_dim = rotated;
    const auto rest = size_of(config, kind.layer_type, "qk_nope_head_dim");
    const auto whole = size_of(config, kind.layer_type, "head_dim");
    rope.first_lane = rest ? *rest : whole && *whole > rotated ? *whole - rotated : 0;
    const auto is_share_of = [&](index_t head) {
        return std::fabs(*share * static_cast<double>(head) - static_cast<double>(rotated)) < 1.0;
    };
    const bool is_of_part = share == 1.0 && !known.rotates_own_part;  // a share of the rotated part
    if (share && !is_of_part && !is_share_of(whole.value_or(*share == 1.0 ? rotated : rope.first_lane + rotated))) {
        config.doubt({"partial_rotary_factor ", *share, " must give qk_rope_head_dim ", rotated, " lanes"});
    }
    // head_dim may be the size of the rotated part or of the whole head.
    const bool is_checked = known.rotates_own_part && !known.does_read("no head_dim");
    if (!share && whole && is_checked && *whole != rotated && *whole != rest.value_or(0) + rotated) {
        config.doubt({"head_dim ", *whole, " must be qk_rope_head_dim ", rotated, ", or that plus qk_nope_head_dim"});
    }
    const bool rotates_all = rope.rope_type == "default" || (!share && known.does_read("whole head"));
    if (whole && *whole != rotated && rotates_all && is_checked && !known.does_read("partial_rotary_factor")) {
        config.doubt({"head_dim ", *whole, " must be qk_rope_head_dim ", rotated,
                      rope.rope_type == "default" ? " for rope type 'default'" : ", or partial_rotary_factor be given",
                      ", which rotates the whole head in the code of this model_type"});
    }
}

/// Sets head_dim, rotary_dim and first_lane.
/// @returns  partial_rotary_factor
inline double set_lanes(const json_object& config, const json_object& dict, const family& known, const layer_kind& kind,
                        layer_rope& rope) {
    check_name(config, dict, "partial_rotary_factor", known.partial_factor_key);
    const auto given_share =
        agreed({{dict, "partial_rotary_factor"},
                {config, "partial_rotary_factor rotary_pct rope_pct rotary_percentage rotary_emb_fraction"}});
    const bool is_proportional = rope.rope_type == "proportional";  // rotates some pairs of the whole head
    const double own_share =
        kind.partial_rotary_factor > 0.0 ? kind.partial_rotary_factor : known.partial_rotary_factor;
    const double share = given_share.value_or(is_proportional ? known.partial_rotary_factor : own_share);
    if (!(share > 0.0 && share <= 1.0)) config.refuse({"partial_rotary_factor ", share, " must be in (0, 1]"});
    const auto rotated = size_of(config, kind.layer_type, "qk_rope_head_dim");
    if (rotated && !known.rotates_own_part && !known.does_read("qk_rope_head_dim")) {
        not_read(config, "qk_rope_head_dim must be left out");
    } else if (rotated) {
        if (is_proportional) {
            dict.refuse(
                {"qk_rope_head_dim must be left out for rope type 'proportional', which rotates pairs of the whole "
                 "head"});
        }
        set_part_of_head(config, known, kind, given_share, *rotated, rope);
        return share;
    }
    if (known.rotates_own_part) config.doubt({"qk_rope_head_dim must be given: only these lanes are rotated"});
    if (share != own_share && rope.rope_type == "default" && !known.does_read("partial_rotary_factor") &&
        known.partial_rotary_factor == 1.0) {
        not_read(dict, "partial_rotary_factor must be left out");
    }
    const index_t head_dim = rope.config.head_dim = head_dim_of(config, known, kind);
    const double lanes_of_share = share * static_cast<double>(head_dim);
    const auto said = agreed<&json_object::count>({{config, "rotary_dim attn_rotary_emb"}});  // Bamba's first name
    if (said && given_share && std::floor(lanes_of_share) != static_cast<double>(*said)) {
        config.doubt({"rotary_dim ", *said, " must be partial_rotary_factor ", share, " of head_dim ", head_dim});
    }
    if (config.has_null("rotary_dim") && known.rotary_dim > 0) config.doubt({"rotary_dim null must be a number"});
    std::optional<index_t> given;
    if (known.does_read("rotary_dim")) {
        given = said;
        if (!said && !given_share && known.rotary_dim > 0) given = known.rotary_dim;
    }
    index_t lanes = given ? *given : is_proportional ? head_dim : static_cast<index_t>(lanes_of_share);
    if (!given && lanes % 2 != 0 && lanes < head_dim && rope.rope_type != "dynamic" && rope.rope_type != "ntk") {
        // The code rotates one more lane, with exponents over the odd number.
        rope.config.theta_base =
            std::pow(rope.config.theta_base, static_cast<double>(lanes + 1) / static_cast<double>(lanes));
        ++lanes;
    }
    rope.config.rotary_dim = lanes;
    if (said && !given && !given_share && *said != lanes && *said != known.rotary_dim) {
        not_read(config, message("rotary_dim ", *said, " must be left out or ", lanes));
    }
    if (!given && (lanes < 2 || lanes % 2 != 0)) {
        config.refuse({share == 1.0 ? "" : message("partial_rotary_factor ", share, " of "), "head_dim ", head_dim,
                       " is ", lanes, " lanes, must be an even number >= 2"});
    }
    return share;
}

/// The pairs of each axis, from the config or the family; empty for positions of one axis.
inline std::vector<index_t> sections_of(const json_object& dict, const family& known, index_t pairs) {
    std::vector<index_t> sections;
    const auto given = dict.numbers("mrope_section");
    for (const double entry : given.value_or(std::vector<double>{})) {
        if (!(entry >= 0.0 && entry <= 0x1p20) || entry != std::floor(entry)) {
            dict.refuse({"mrope_section entry ", entry, " must be an integer in 0 ... 2^20"});
        }
        sections.push_back(static_cast<index_t>(entry));
    }
    if (given) return sections;
    if (dict.text("type") == "mrope" || dict.text("rope_type") == "mrope") {
        dict.refuse({"mrope_section must be given for rope type 'mrope'"});
    }
    if (known.sections[0] > 0) sections.assign(known.sections.begin(), known.sections.end());
    if (known.order == axis_order::interleaved) {  // in its code, time has the remaining pairs
        if (sections.empty()) sections = {0, pairs};
        const auto axes = static_cast<index_t>(sections.size());
        sections[0] = pairs;
        for (index_t axis = 1; axis < axes; ++axis) {
            index_t& own = sections[static_cast<std::size_t>(axis)];
            own = std::min(own, (pairs - axis + axes - 1) / axes);
            sections[0] -= own;
        }
    }
    return sections;
}

/// M-RoPE: the axis of each pair.
inline void set_axes(const json_object& dict, const family& known, layer_rope& rope) {
    const auto around = dict.flag("mrope_interleaved");
    axis_order order = known.order;
    if (order == axis_order::as_the_config_says) {
        order = around.value_or(false) ? axis_order::interleaved : axis_order::blocks;
    } else if (around && *around != (order == axis_order::interleaved)) {
        dict.doubt({"mrope_interleaved ", *around ? "true must be false" : "false must be true",
                    " or left out: the code of this model_type does not read it"});
    }
    const char* const key = dict.has("xdrope_section") ? "xdrope_section" : "mrope_section";
    if (order == axis_order::lanes || dict.has("xdrope_section")) {
        if (dict.has(key)) {
            dict.doubt({key, " must be left out: the two lanes of a pair would be rotated by different axes"});
        }
        return;
    }
    if (known.order == axis_order::as_the_config_says && dict.has("mrope_section")) {
        if (known.layout != pair_layout::unknown) {
            not_read(dict, "mrope_section must be left out");
            return;
        }
        if (!around) {
            dict.doubt(
                {"mrope_interleaved must be given: true if the pairs of mrope_section alternate between the axes, ",
                 "false if each axis has a block of pairs. It is in the code of this model_type, which is not known"});
        }
    }
    const std::vector<index_t> sections = sections_of(dict, known, rope.config.pairs());
    if (sections.empty()) return;
    const index_t sum = std::accumulate(sections.begin(), sections.end(), index_t{0});
    if (sum != rope.config.pairs()) {
        dict.doubt({"mrope_section sums to ", sum, ", must sum to rotary_dim/2 = ", rope.config.pairs()});
        return;
    }
    if (order == axis_order::rows_columns_time) {
        if (sections.size() != 3 || sections[0] != sections[1]) {
            dict.refuse({"mrope_section must have 3 entries, the first two equal"});
        }
        rope.axis_of_pair.assign(static_cast<std::size_t>(sum), 0);
        for (index_t i = 0; i < 2 * sections[0]; ++i) {
            rope.axis_of_pair[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(1 + i % 2);
        }
        return;
    }
    try {
        rope.axis_of_pair = order == axis_order::interleaved ? interleaved_axes(sections) : contiguous_axes(sections);
    } catch (const value_error& why) {
        dict.refuse({"mrope_section: ", why.what()});
    }
}

/// The pair layout, from the config's keys or the family.
inline pair_layout layout_of(const json_object& config, const family& known) {
    std::optional<bool> found;
    const bool is_read = known.layout == pair_layout::unknown || known.does_read("rope_interleave");
    for (const char* key : {"rope_interleave", "rope_interleaved", "rope_traditional", "rotary_emb_interleaved"}) {
        const auto flag = config.flag(key);
        if (flag && !is_read && *flag != (known.layout == pair_layout::interleaved)) {
            not_read(config,
                     message(key, *flag ? " true must be false or left out" : " false must be true or left out"));
        }
        if (found && flag && *found != *flag) config.doubt({key, " must equal the other keys for the pair layout"});
        if (!found) found = flag;
    }
    if (found && is_read) return *found ? pair_layout::interleaved : pair_layout::half_split;
    const auto type = config.text("position_embedding_type").value_or("");
    const pair_layout named = type == "rope_gptj"                              ? pair_layout::interleaved
                              : type == "rope_neox" || type == "rope_gpt_neox" ? pair_layout::half_split
                                                                               : known.layout;
    if (known.layout != pair_layout::unknown && named != known.layout) {
        not_read(config, message("position_embedding_type ", in_quotes(type), " must be left out"));
        return known.layout;
    }
    return named;
}

}  // namespace cordage::hf::config_detail
