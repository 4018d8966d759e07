// SPDX-License-Identifier: MIT
// Reads how a vision-language model assigns positions from its config.json (nlohmann-json).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cordage/models/config/family.hpp"
#include "cordage/models/config/json.hpp"
#include "cordage/models/positions/multimodal.hpp"

namespace cordage::hf {

namespace config_detail {

/// How the code of some model types assigns positions, and the keys that it reads.
struct counting_family {
    std::string_view model_types;  ///< separated, begun and ended by spaces
    multimodal_rule rule = {};
    std::string_view rate_key = {};  ///< the key of positions_per_second, in vision_config or beside it
};

// clang-format off
/// As in transformers 5.24.
inline constexpr counting_family counting_families[] = {
    {" paddleocr_vl qwen2_vl ", {}},
    {" cohere_compass cosmos3_edge cosmos3_omni glm46v glm4v glm4v_moe glm_ocr qwen3_5 qwen3_5_moe qwen3_vl "
     "qwen3_vl_moe qwen4_exp ", {.frames_are_images = true}},
    {" qwen2_5_vl ", {.rounds_frame_step = true}, "tokens_per_second"},
    {" ernie4_5_moe_vl ernie4_5_vl_moe ", {.temporal_merge_size = 2}},
    {" hy_v4_vl ", {.frames_are_blocks = true, .next = after_grid::largest_position}},
    {" hunyuan_vl ", {.next = after_grid::token_count}},
    {" qwen2_5_omni qwen2_5_omni_thinker ", {.repeats_marks = true, .next = after_grid::largest_position},
     "position_id_per_seconds"},
    {" qwen3_omni_moe qwen3_omni_moe_thinker ", {.next = after_grid::largest_position}, "position_id_per_seconds"}};
// clang-format on

}  // namespace config_detail

/// The rule of multimodal_positions for the model of a parsed config. Throws as read_multimodal_rule(text).
inline multimodal_rule read_parsed_multimodal_rule(const nlohmann::json& root) {
    using namespace config_detail;
    using json_detail::json_object;
    const json_object top(root, "config");
    const json_object whole = top.has("thinker_config") ? top.part("thinker_config") : top;
    const std::string model_type = whole.text("model_type").value_or("");
    const counting_family* const known = entry_of(counting_families, model_type);
    if (known == nullptr) {
        whole.refuse({"model_type ", in_quotes(model_type), " must be that of a supported vision-language model"});
    }
    multimodal_rule rule = known->rule;
    const json_object vision = whole.part("vision_config");
    const auto side = vision.count("spatial_merge_size");
    if (!side) vision.refuse({"spatial_merge_size must be given"});
    rule.spatial_merge_size = *side;
    rule.temporal_merge_size =
        json_detail::agreed<&json_object::count>({{vision, "temporal_merge_size"}, {whole, "temporal_conv_size"}})
            .value_or(rule.temporal_merge_size);
    if (!known->rate_key.empty()) {
        const json_object& of = vision.has(known->rate_key) ? vision : whole;
        rule.positions_per_second = of.positive(known->rate_key, of.required(known->rate_key, "videos"));
    }
    if (rule.repeats_marks) {
        rule.seconds_per_chunk = whole.positive("seconds_per_chunk", whole.required("seconds_per_chunk", "videos"));
    }
    if (rule.next == after_grid::token_count) {
        const json_object text = whole.has("text_config") ? whole.part("text_config") : whole;
        const json_object dict = text.part(text.has("rope_parameters") ? "rope_parameters" : "rope_scaling");
        const auto sections = dict.numbers(dict.has("mrope_section") ? "mrope_section" : "xdrope_section");
        if (!sections || sections->size() < 3)
            text.refuse({"mrope_section of rope_parameters must have at least 3 axes"});
        rule.axes = static_cast<index_t>(sections->size());
    }
    return rule;
}

/// The rule of multimodal_positions for the model of a config.json.
///
///   multimodal_positions<std::int32_t> positions(hf::read_multimodal_rule(text));   // float for Qwen3-Omni
///
/// @throws value_error  for an unsupported model type, or a missing or invalid key
inline multimodal_rule read_multimodal_rule(std::string_view text) {
    return read_parsed_multimodal_rule(json_detail::parse_strict_json("hf::read_multimodal_rule", text));
}

}  // namespace cordage::hf
