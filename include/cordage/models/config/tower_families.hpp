// SPDX-License-Identifier: MIT
// Table of the properties of vision and audio towers that are in the model's code, not in its config, by model_type.
#pragma once

#include <string_view>

#include "cordage/models/config/family.hpp"
#include "cordage/models/positions/grid.hpp"

namespace cordage::hf::config_detail {

/// How frequencies are assigned to the pairs of a tower's head.
enum class tower_basis {
    of_each_axis,  ///< the same for each axis, with exponents over the lanes of one axis
    shared,        ///< one basis of the whole head, whose frequencies alternate between axes (Pixtral)
};

/// Sizes used if no key gives them. merge 0: no key is read, and patches are in row-major order.
struct tower_sizes {
    index_t hidden_size, heads, merge = 0;
};

/// The properties of a tower's rotation that are not in its config.
struct tower_family {
    std::string_view model_types;  ///< separated, begun and ended by spaces
    tower_sizes sizes;
    std::string_view heads_keys = "num_attention_heads";
    std::string_view hidden_keys = "hidden_size";
    std::string_view sizes_in = {};  ///< the part of the config that has hidden_size
    double theta_base = 10000.0;
    pair_layout layout = half_split;
    bool columns_first = false;            ///< the first pairs are rotated by columns, the next ones by rows
    bool is_alternating = false;           ///< pairs alternate between the axes, else in blocks
    bool reads_head_dim = true;            ///< false: head_dim is hidden_size / heads
    bool rotates_hidden_size = false;      ///< all heads as one
    double share = 0.0;                    ///< partial_rotary_factor if no key gives it; 0: no key is read
    std::string_view rope_type = "axial";  ///< the only valid type; empty: no rope dictionary is read
    tower_basis basis = tower_basis::of_each_axis;
    index_t parts = 1;     ///< of a head, one for each axis
    index_t head_dim = 0;  ///< used if no key gives it; 0: hidden_size / heads
    grid_rule grid = {};
};

inline constexpr std::string_view either_heads = "num_heads num_attention_heads";
inline constexpr grid_rule from_one{.shift = {1.0, 1.0}};

/// As in transformers 5.24; tests/hosts/test_configs.py compares each entry with its class.
// clang-format off
inline constexpr tower_family tower_families[] = {
    // rows, then columns; half_split; patches in blocks
    {.model_types = " qwen2_vl_vision ", .sizes = {1280, 16, 2}, .heads_keys = either_heads, .hidden_keys = "embed_dim"},
    {.model_types = " exaone4_5_vision qwen2_5_omni_vision_encoder qwen2_5_vl_vision ", .sizes = {3584, 16, 2},
     .heads_keys = either_heads},
    {.model_types = " cohere_compass_vision qwen3_5_moe_vision qwen3_5_vision qwen3_omni_moe_vision_encoder "
                    "qwen3_vl_moe_vision qwen3_vl_vision qwen4_exp_vision ", .sizes = {1152, 16, 2},
     .heads_keys = either_heads},
    {.model_types = " glm4v_moe_vision glm4v_vision ", .sizes = {1536, 12, 2}, .heads_keys = either_heads},
    {.model_types = " glm5_next_vision glm_ocr_vision ", .sizes = {1024, 16, 2}, .heads_keys = either_heads},
    {.model_types = " ernie4_5_vl_moe_vision ", .sizes = {1280, 16, 2}, .heads_keys = either_heads},
    {.model_types = " dots3_note_vision_encoder ", .sizes = {1536, 24, 2}, .heads_keys = either_heads,
     .hidden_keys = "embed_dim hidden_size"},
    {.model_types = " lfm3_vl_vision ", .sizes = {1024, 16, 2}, .theta_base = 1e6},
    {.model_types = " minimax_m3_vl_vision ", .sizes = {1280, 16, 2}, .grid = {.axes = 3}},
    // the same, row by row
    {.model_types = " paddleocr_vl_vision ", .sizes = {1152, 16}},
    {.model_types = " mlcd_vision_model ", .sizes = {1664, 16}},
    {.model_types = " pixtral ", .sizes = {1024, 16}, .reads_head_dim = false, .basis = tower_basis::shared},
    {.model_types = " video_llama_3_vision ", .sizes = {768, 12},
     .grid = {.spatial_merge_size = 0}},  // its processor has a spatial_merge_size for each image or video
    {.model_types = " dinov3_vit ", .sizes = {384, 6}, .theta_base = 100.0, .reads_head_dim = false, .rope_type = "",
     .grid = {.coordinate = grid_coordinate::centre, .tokens_before = 1}},
    {.model_types = " sapiens2 ", .sizes = {1024, 16}, .theta_base = 100.0, .reads_head_dim = false, .rope_type = "",
     .grid = {.coordinate = grid_coordinate::centre, .tokens_before = 9}},
    {.model_types = " eomt_dinov3 ", .sizes = {1024, 16}, .theta_base = 100.0, .reads_head_dim = false,
     .rope_type = "default", .grid = {.coordinate = grid_coordinate::centre, .tokens_before = 5}},
    // columns, then rows
    {.model_types = " step3p5_vision ", .sizes = {1536, 16}, .heads_keys = "heads num_attention_heads",
     .hidden_keys = "width hidden_size", .columns_first = true},
    {.model_types = " kimi_k25_vision ", .sizes = {1152, 16}, .columns_first = true, .is_alternating = true},
    {.model_types = " muse_glimmer_vision muse_spark_vision ", .sizes = {1536, 16}, .columns_first = true,
     .grid = from_one},
    {.model_types = " gemma4_vision ", .sizes = {768, 12}, .theta_base = 100.0, .columns_first = true, .parts = 2,
     .head_dim = 64},
    // the same, interleaved pairs
    {.model_types = " inkling2_vision ", .sizes = {1024, 16, 2}, .layout = interleaved, .columns_first = true,
     .grid = {.shift = {1.0, 1.0}, .tokens_before = 1}},
    {.model_types = " llama4_vision_model ", .sizes = {768, 16}, .layout = interleaved, .columns_first = true,
     .reads_head_dim = false, .rope_type = "default", .grid = {.shift = {1.0, 1.0}, .tokens_after = 1}},
    {.model_types = " edgetam_video sam2_video sam3_tracker_video ", .sizes = {256, 1},
     .heads_keys = "memory_attention_num_attention_heads", .hidden_keys = "memory_attention_hidden_size",
     .layout = interleaved, .columns_first = true, .reads_head_dim = false},
    {.model_types = " sam3_vit_model ", .sizes = {1024, 16}, .layout = interleaved, .columns_first = true,
     .grid = {.coordinate = grid_coordinate::of_reference}},
    // all of hidden_size as one head
    {.model_types = " efficientloftr ", .sizes = {256, 8}, .layout = interleaved, .is_alternating = true,
     .rotates_hidden_size = true, .share = 4.0, .rope_type = "default", .grid = from_one},
    {.model_types = " musicflamingo ", .sizes = {1280, 1}, .heads_keys = {}, .sizes_in = "audio_config",
     .theta_base = 1200.0, .layout = interleaved, .reads_head_dim = false, .share = 0.2, .rope_type = "default",
     .grid = {.coordinate = grid_coordinate::times_seconds, .factor = {-1.0, -1.0}}}};
// clang-format on

/// The tower of a model_type; nullptr for an unknown one.
inline const tower_family* find_tower(std::string_view model_type) { return entry_of(tower_families, model_type); }

}  // namespace cordage::hf::config_detail
