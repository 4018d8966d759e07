// SPDX-License-Identifier: MIT
// Reads the rotation of a vision or audio tower from its config.json (nlohmann-json).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordage/basis/basis.hpp"
#include "cordage/models/config/read.hpp"
#include "cordage/models/config/tower_families.hpp"
#include "cordage/models/positions/grid.hpp"

namespace cordage::hf {

/// The rotation of a tower: the positions of its grids, and the axis and frequency of each pair.
struct tower_rope {
    std::string model_type;
    index_t head_dim = 0;  ///< size of a rotated unit: hidden_size in EfficientLoFTR and MusicFlamingo
    pair_layout layout = pair_layout::half_split;
    index_t parts = 1;  ///< contiguous parts of a head; each is rotated like a head, by its share of the pairs (Gemma
                        ///< 4: 2, columns and rows)
    cordage::basis basis = cordage::basis({1.0});  ///< [pairs], 2 pairs() <= head_dim
    std::vector<std::uint8_t> axis_of_pair;  ///< [pairs]; 0 rows, 1 columns; of three axes 0 frames, 1 rows, 2 columns
    grid_rule grid;
    coordinate_noise noise;  ///< applied to training images
    std::vector<std::string> warnings;
};

namespace config_detail {

/// The part of a config that describes a tower, and its family; if no family is known, the innermost part and nullptr.
struct found_tower {
    json_object part;
    const tower_family* known;
    std::string model_type;
};

/// @param key         of the part in the enclosing model; empty for a whole config
/// @param type_above  model_type of that model, used if the part has none
inline found_tower find_tower_part(const json_object& part, std::string_view key, const std::string& type_above) {
    const std::string type = part.text("model_type").value_or(type_above);
    if (const auto* known = find_tower(type)) return {part, known, type};
    for (const char* suffix : {"_vision", "_vision_encoder", "_vision_model"}) {
        const auto* known = key == "vision_config" ? find_tower(type + suffix) : nullptr;
        if (known != nullptr) return {part, known, type + suffix};
    }
    for (const char* inner : {"thinker_config", "vision_config", "backbone_config"}) {
        const auto* found = part.find(inner);
        if (found == nullptr || !found->is_object()) continue;
        return find_tower_part(part.other(*found, part.where() + "." + inner), inner, type);
    }
    return {part, nullptr, type};
}

/// theta_base, from the rope dictionary and the key beside it.
inline double tower_theta(const json_object& config, const tower_family& known, const json_object& dict) {
    const auto type = agreed<&json_object::text>({{dict, "rope_type type"}}).value_or("default");
    if (known.rope_type.empty() && !dict.json().empty()) {
        dict.doubt({"rope_parameters must be left out: this tower reads only the config's rope_theta"});
    } else if (type != "default" && type != known.rope_type) {
        dict.refuse({"rope_type ", in_quotes(type), " must be '", known.rope_type, "'"});
    }
    for (const auto& [key, entry] : dict.json().items()) {
        if (key == "rope_type" || key == "type" || key == "rope_theta") continue;
        if (key == "partial_rotary_factor" && known.share > 0.0) continue;
        dict.doubt({"key ", in_quotes(key), " must be left out: this tower does not read it"});
    }
    const json_object read = known.rope_type.empty() ? dict.none(dict.where()) : dict;
    const auto given = agreed({{read, "rope_theta"}, {config, "rope_theta memory_attention_rope_theta"}});
    const double base = given.value_or(known.theta_base);
    if (!(base > 1.0)) dict.refuse({"rope_theta ", base, " must be > 1"});
    return base;
}

/// A size, from its keys or the family.
inline index_t tower_size(const json_object& part, std::string_view keys, index_t otherwise) {
    return agreed<&json_object::count>({{part, std::string(keys)}}).value_or(otherwise);
}

/// hidden_size / heads, or head_dim if the tower reads it.
inline index_t tower_head_dim(const json_object& config, const tower_family& known, index_t hidden_size) {
    const index_t heads = tower_size(config, known.heads_keys, known.sizes.heads);
    const index_t thinner = tower_size(config, "memory_attention_downsample_rate", 1);  // SAM's memory attention
    const index_t derived = known.head_dim > 0 ? known.head_dim : hidden_size / heads / thinner;
    const auto own = config.count("head_dim");
    if (own && !known.reads_head_dim && *own != derived) {
        config.doubt({"head_dim ", *own, " must be left out or ", derived, ", as given by the sizes of this tower"});
    }
    return own && known.reads_head_dim ? *own : derived;
}

/// Reports keys of a rotation that this tower does not read.
inline void check_tower_keys(const json_object& config, const tower_family& known) {
    check_keys_of_rotation(config);
    for (const std::string_view key : rope_keys) {
        const bool is_read = key == "rope_theta" || key == "rope_parameters" || key == "rope_scaling" ||
                             (key == "partial_rotary_factor" && known.share > 0.0);
        if (!is_read && config.has(key)) config.doubt({key, " must be left out: this tower does not read it"});
    }
}

/// Returns the number of pairs of each axis, and sets out.head_dim.
inline index_t pairs_of_an_axis(const json_object& config, const json_object& dict, const tower_family& known,
                                tower_rope& out) {
    const json_object sizes = known.sizes_in.empty() ? config : config.part(known.sizes_in);
    const index_t hidden_size = tower_size(sizes, known.hidden_keys, known.sizes.hidden_size);
    const index_t head_dim = tower_head_dim(config, known, hidden_size), axes = known.grid.axes;
    out.head_dim = known.rotates_hidden_size ? hidden_size : head_dim;
    if (out.head_dim < 2 * axes || out.head_dim > largest_head_dim) {
        config.refuse({"head_dim ", out.head_dim, " must be >= ", 2 * axes, " and <= ", largest_head_dim});
    }
    if (known.share == 0.0) {
        if (axes == 2 && head_dim % 4 != 0) {
            config.refuse({"head_dim ", head_dim,
                           " must be a multiple of 4: rows rotate one half of the pairs, columns ", "the other"});
        }
        return head_dim / axes / 2;
    }
    const double share =
        agreed({{dict, "partial_rotary_factor"}, {config, "partial_rotary_factor"}}).value_or(known.share);
    const double lanes = std::floor(static_cast<double>(head_dim) * share),
                 half = static_cast<double>(out.head_dim) / 2;
    if (!(lanes >= 2.0 && std::fmod(lanes, 2.0) == 0.0 &&
          (known.rotates_hidden_size ? lanes == half : lanes <= half))) {
        config.refuse({"partial_rotary_factor ", share, " of head_dim ", head_dim, " is ", lanes,
                       " lanes, must be an even number, ", known.rotates_hidden_size ? "half of " : "at most half of ",
                       out.head_dim});
    }
    return static_cast<index_t>(lanes) / 2;
}

/// Factors on the frequencies of each axis.
inline std::array<double, 3> scale_of_axes(const json_object& config, const tower_family& known, double base) {
    constexpr double turn = 2.0 * std::numbers::pi;
    if (known.grid.coordinate == grid_coordinate::centre) return {turn, turn, turn};
    if (known.grid.coordinate != grid_coordinate::times_seconds) return {1.0, 1.0, 1.0};
    if (const double longest = config.number("max_position_embeddings").value_or(base); longest != base) {
        config.doubt({"max_position_embeddings ", longest, " must be left out or rope_theta ", base});
    }
    return {turn / base, turn * turn / base, 0.0};  // windows and tokens are numbered relative to the maximum
}

/// Other keys of a tower's coordinates.
inline void set_grid(const json_object& config, const tower_family& known, tower_rope& out) {
    out.grid = known.grid;
    if (known.sizes.merge > 0) {
        out.grid.spatial_merge_size = tower_size(config, "spatial_merge_size adapter_merge_size", known.sizes.merge);
    }
    if (out.grid.coordinate == grid_coordinate::of_reference) {
        out.grid.reference_columns = static_cast<double>(config.count("window_size").value_or(24));
    }
    if (out.grid.coordinate == grid_coordinate::times_seconds) {  // a token has 4 frames of the spectrogram
        const double step = config.number("audio_frame_step").value_or(0.01);
        out.grid.seconds_per_token = 4.0 * config.positive("audio_frame_step", step);
    }
    if (out.grid.coordinate == grid_coordinate::centre) {
        if (config.number("num_register_tokens") == 0.0) {
            out.grid.tokens_before = 1;
        } else {  // and a class token
            out.grid.tokens_before = 1 + tower_size(config, "num_register_tokens", known.grid.tokens_before - 1);
        }
        out.noise.shift = config.at_least(0.0, "pos_embed_shift", config.number("pos_embed_shift").value_or(0.0));
        out.noise.jitter = config.at_least(1.0, "pos_embed_jitter", config.number("pos_embed_jitter").value_or(1.0));
        const double rescale = config.json().contains("pos_embed_rescale") ? 1.0 : 2.0;  // null: no rescaling
        out.noise.rescale =
            config.at_least(1.0, "pos_embed_rescale", config.number("pos_embed_rescale").value_or(rescale));
    }
}

}  // namespace config_detail

/// Whether read_parsed_tower supports the tower of a parsed config, or the tower inside the model that it describes.
inline bool has_tower(const nlohmann::json& root) {
    using namespace config_detail;
    return root.is_object() && find_tower_part(json_object(root, "config"), "", "").known != nullptr;
}

/// The rotation of a parsed config's tower. Throws as read_tower(text).
inline tower_rope read_parsed_tower(const nlohmann::json& root, const read_options& options = {}) {
    using namespace config_detail;
    std::vector<std::string> warnings;
    const json_object whole(root, "config", options.lenient ? &warnings : nullptr);
    const auto [config, known, model_type] = find_tower_part(whole, "", "");
    if (known == nullptr) {
        const std::string_view how = what_of(rotated_otherwise, model_type);
        config.refuse({"model_type ", in_quotes(model_type), " must be that of a supported tower",
                       how.empty() ? "" : message("; it rotates ", how)});
    }
    check_tower_keys(config, *known);
    const json_object dict = rope_dictionary(config, model_type, unknown_family);
    const double base = tower_theta(config, *known, dict);
    tower_rope out;
    out.model_type = model_type, out.layout = known->layout, out.parts = known->parts;
    const index_t axes = known->grid.axes, pairs = pairs_of_an_axis(config, dict, *known, out);
    const bool shared = known->basis == tower_basis::shared;
    const rope_config of_axis{.rotary_dim = 2 * pairs * (shared ? axes : 1), .theta_base = base};
    const auto scale = scale_of_axes(config, *known, base);
    std::vector<double> inv_freq;
    for (index_t pair = 0; pair < axes * pairs; ++pair) {
        const index_t axis = known->is_alternating ? pair % axes : pair / pairs;
        const index_t i = known->is_alternating ? pair / axes : pair % pairs;
        inv_freq.push_back(scale[static_cast<std::size_t>(axis)] * of_axis.inv_freq(shared ? axes * i + axis : i));
        out.axis_of_pair.push_back(static_cast<std::uint8_t>(known->columns_first ? axes - 1 - axis : axis));
    }
    out.basis = basis(std::move(inv_freq));
    set_grid(config, *known, out);
    out.warnings = std::move(warnings);
    return out;
}

/// The rotation of a vision or audio tower, from its own config.json or that of the enclosing model (vision_config,
/// thinker_config, backbone_config).
///
///   const auto tower = hf::read_tower(text);
///   const auto positions = grid_positions(tower.grid, grids);     // [tokens, axes]
///   axis_angles angles(tower.basis, tower.axis_of_pair, axis_minor(positions.data(), tower.grid.axes, 1, tokens));
///
/// Follows transformers 5.24. As strict as read_config: a key that resembles one of a rotation but is not read by this
/// tower is an error, with options.lenient a warning.
/// @throws value_error  also for an unsupported tower
inline tower_rope read_tower(std::string_view text, const read_options& options = {}) {
    return read_parsed_tower(json_detail::parse_strict_json("hf::read_tower", text), options);
}

/// The tower as a few lines of text.
inline std::string describe(const tower_rope& tower) {
    const grid_rule& grid = tower.grid;
    const char* const axes = grid.axes == 3               ? "frames, rows, columns"
                             : tower.axis_of_pair[0] == 1 ? "columns, rows"
                                                          : "rows, columns";
    const auto first =
        std::ranges::find_if(tower.axis_of_pair, [&](auto axis) { return axis != tower.axis_of_pair[0]; });
    const bool is_alternating = first - tower.axis_of_pair.begin() == 1 && tower.axis_of_pair.size() > 3;
    std::string text = message("tower ", tower.model_type, "\n  rotation: ", tower.basis.rotary_dim(), " of ",
                               tower.head_dim, " lanes, ", tower.basis.pairs(), " pairs, ", name_of(tower.layout));
    if (tower.parts > 1) text += message(" in each of ", tower.parts, " parts");
    text += message("\n  axes: ", axes, is_alternating ? " alternating" : " in blocks", ", the fastest ",
                    tower.basis.inv_freq()[0], " rad per position");
    constexpr const char* coordinates[] = {"numbers", "centres of patches from -1 to 1 over the image",
                                           "numbers over columns times ", "numbers times seconds, of "};
    text += message("\n  positions: ", coordinates[static_cast<int>(grid.coordinate)]);
    if (grid.coordinate == grid_coordinate::of_reference) text += message(grid.reference_columns);
    if (grid.coordinate == grid_coordinate::times_seconds) text += message(grid.seconds_per_token, " per token");
    if (grid.shift[0] != 0.0) text += message(", from ", grid.shift[0]);
    if (grid.spatial_merge_size == 0) {
        text += ", in blocks that the processor merges: set spatial_merge_size";
    } else if (grid.spatial_merge_size > 1) {
        text += message(", in blocks of ", grid.spatial_merge_size, " x ", grid.spatial_merge_size, " patches");
    }
    for (const auto& [count, where] : {std::pair{grid.tokens_before, "before"}, {grid.tokens_after, "after"}}) {
        if (count == 0) continue;
        text += message("; ", count, count == 1 ? " token " : " tokens ", where, " a grid ", count == 1 ? "is" : "are",
                        " not rotated");
    }
    const coordinate_noise& noise = tower.noise;
    if (noise.shift > 0.0 || noise.jitter > 1.0 || noise.rescale > 1.0) {
        text += message("\n  in training: shifted by up to ", noise.shift, ", stretched by up to ", noise.jitter,
                        ", rescaled by up to ", noise.rescale);
    }
    text += "\n";
    for (const std::string& warning : tower.warnings) text += "warning: " + warning + "\n";
    return text;
}

}  // namespace cordage::hf
