// SPDX-License-Identifier: MIT
// What configs leave unsaid because the model's code knows it: layouts, defaults and layers by model_type; data.
#pragma once

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "cordage/config/model_ropes.hpp"

namespace cordage::hf::config_detail {

/// One kind of layer, of a family whose layers differ, or as a config tells them apart.
struct layer_kind {
    std::string_view layer_type;       ///< empty where all layers are alike
    bool turns = true;                 ///< false: no rotary embedding in these layers
    bool is_scaled = true;             ///< by a dictionary that is not by layer type
    double theta_base = 0.0;           ///< where no key gives one; 0: that of the other layers
    index_t head_dim = 0;              ///< whatever head_dim says, unless global_head_dim or per_layer_config is there
    double yarn_attention_factor = 0;  ///< where the dictionary gives none; 0: YaRN's own
    std::string_view head_dim_key = {};  ///< of an indexer (sparse attention): it turns its first lanes, half_split
};

// clang-format off
inline constexpr layer_kind gemma3_layers[] = {
    {.layer_type = "full_attention"}, {.layer_type = "sliding_attention", .is_scaled = false, .theta_base = 1e4}};
inline constexpr layer_kind gemma4_layers[] = {
    {.layer_type = "full_attention", .head_dim = 512}, {.layer_type = "sliding_attention"}};
inline constexpr layer_kind modernbert_layers[] = {
    {.layer_type = "full_attention"}, {.layer_type = "sliding_attention", .theta_base = 1e4}};
inline constexpr layer_kind olmo3_layers[] = {
    {.layer_type = "full_attention"}, {.layer_type = "sliding_attention", .is_scaled = false}};
inline constexpr layer_kind cohere2_layers[] = {
    {.layer_type = "sliding_attention"}, {.layer_type = "full_attention", .turns = false}};
inline constexpr layer_kind deepseek_v32_layers[] = {
    {.layer_type = "attention"}, {.layer_type = "indexer", .head_dim_key = "index_head_dim"}};
/// Of any config that has compress_rope_theta, rope_scaling_layers, or sizes of its own for a layer type.
inline constexpr layer_kind compressed_layers[] = {
    {.layer_type = "main", .is_scaled = false}, {.layer_type = "compress", .yarn_attention_factor = 1.0}};
inline constexpr layer_kind partly_scaled_layers[] = {
    {.layer_type = "scaled"}, {.layer_type = "unscaled", .is_scaled = false}};
inline constexpr layer_kind full_and_sliding_layers[] = {
    {.layer_type = "full_attention"}, {.layer_type = "sliding_attention"}};
// clang-format on

/// What the code of some model types knows.
struct family {
    std::string_view model_types;  ///< each with a space before and after
    pair_layout layout = pair_layout::unknown;
    double theta_base = 10000.0;
    double partial_rotary_factor = 1.0;
    index_t head_dim = 0;                     ///< where no key gives one; 0: head_width * hidden_size / heads
    index_t rotary_dim = 0;                   ///< the same; 0: by partial_rotary_factor
    double head_width = 1.0;                  ///< Zamba 2's heads see two hidden states side by side
    bool some_layers_rest = false;            ///< every n-th does not turn, unless no_rope_layers says otherwise
    std::string_view turns_by = {};           ///< a key without which nothing turns
    std::string_view default_rope_type = {};  ///< that of its code where no dictionary is given, if it scales
    std::span<const layer_kind> layers = {};  ///< where the dictionary is not by layer type; else their defaults

    /// The kind of this name, or one without defaults.
    layer_kind kind(std::string_view layer_type) const {
        const auto found = std::ranges::find(layers, layer_type, &layer_kind::layer_type);
        return found == layers.end() ? layer_kind{layer_type} : *found;
    }
};

using enum pair_layout;

/// As in transformers 5.23 (layouts: of the weights that its model code expects).
// clang-format off
inline constexpr family families[] = {
    {" falcon granite hunyuan_v1_dense hunyuan_v1_moe internlm2 llama minicpm minicpm3 mistral mistral3 olmo olmo2 phi3 "
     "qwen qwen2 qwen2_moe qwen3_moe starcoder2 ", half_split},
    {" minimax mixtral phimoe qwen2_5_vl qwen2_vl ", half_split, 1e6},
    {" qwen3_vl_moe ", half_split, 5e5},
    {" glm4_moe nemotron persimmon phi ", half_split, 1e4, 0.5},
    {" gpt_neox stablelm ", half_split, 1e4, 0.25},
    {" qwen3 ", half_split, 1e4, 1.0, 128},
    {" gemma gemma2 ", half_split, 1e4, 1.0, 256},
    {" qwen3_vl ", half_split, 5e5, 1.0, 128},
    {" minimax_m2 ", half_split, 5e6, 1.0, 128},
    {" qwen3_5 qwen3_5_moe qwen3_next ", half_split, 1e4, 0.25, 256},
    {" deepseek_v2 deepseek_v3 deepseek_v4 ", interleaved},
    {" cohere ernie4_5_moe ", interleaved, 5e5},
    {" chatglm ", interleaved, 1e4, 0.5},
    {" glm glm4 ", interleaved, 1e4, 0.5, 128},
    {" helium ", interleaved, 1e5, 1.0, 128},
    {" ernie4_5 ", interleaved, 5e5, 1.0, 128},
    {.model_types = " codegen gptj ", .layout = interleaved, .rotary_dim = 64},
    {.model_types = " cohere2 ", .layout = interleaved, .layers = cohere2_layers},
    {.model_types = " deepseek_v32 ", .layout = interleaved, .layers = deepseek_v32_layers},
    {.model_types = " gemma3 ", .layout = half_split, .theta_base = 1e6, .head_dim = 256, .layers = gemma3_layers},
    {.model_types = " modernbert ", .layout = half_split, .theta_base = 1.6e5, .layers = modernbert_layers},
    {.model_types = " olmo3 ", .layout = half_split, .theta_base = 5e5, .layers = olmo3_layers},
    {.model_types = " llama4 ", .layout = interleaved, .theta_base = 5e5, .head_dim = 128, .some_layers_rest = true},
    {.model_types = " smollm3 ", .layout = half_split, .theta_base = 2e6, .some_layers_rest = true},
    {.model_types = " esm granitemoehybrid ", .layout = half_split, .turns_by = "position_embedding_type"},
    {.model_types = " zamba2 ", .layout = half_split, .head_width = 2.0, .turns_by = "use_mem_rope"},
    {.model_types = " apertus ", .layout = half_split, .theta_base = 12e6, .default_rope_type = "llama3"},
    {.model_types = " gpt_oss ", .layout = half_split, .theta_base = 1.5e5, .head_dim = 64,
     .default_rope_type = "yarn"},
    {.model_types = " ministral3 ", .layout = half_split, .theta_base = 1e6, .head_dim = 128,
     .default_rope_type = "yarn"},
    {.model_types = " gemma4 ", .layout = half_split, .head_dim = 256, .default_rope_type = "proportional",
     .layers = gemma4_layers}};

/// Model types without a rotary embedding, and what they have instead; as in transformers 5.23.
struct other_positions {
    std::string_view what;
    std::string_view model_types;  ///< as family's
};
inline constexpr other_positions unrotated[] = {
    {"learned positions",
     " albert bart bert bert-generation big_bird bigbird_pegasus biogpt blenderbot blenderbot-small camembert "
     "clip_text_model convbert distilbert electra ernie flaubert gpt-sw3 gpt2 gpt_bigcode gpt_neo ibert imagegpt "
     "layoutlm led longformer luke mbart megatron-bert mobilebert mra mvp nystromformer openai-gpt opt plbart "
     "prophetnet rembert roberta roberta-prelayernorm roc_bert siglip_text_model splinter squeezebert trocr xlm "
     "xlm-roberta xlm-roberta-xl xmod yoso "},
    {"sinusoidal positions",
     " ctrl fsmt m2m_100 marian musicgen_decoder nllb-moe pegasus pegasus_x speech_to_text whisper xglm "},
    {"ALiBi", " bloom mpt "},
    {"relative positions",
     " cpmant deberta deberta-v2 funnel inkling longt5 mpnet mt5 pop2piano switch_transformers t5 udop umt5 xlnet "},
    {"no positions", " falcon_mamba jamba kimi_linear mamba mamba2 nemotron_h rwkv xlstm zamba "}};
// clang-format on

/// The entry of a model_type, "_text" at its end aside; nullptr where there is none.
inline const auto* entry_of(const auto& table, std::string_view model_type) {
    if (model_type.ends_with("_text")) model_type.remove_suffix(5);
    const std::string word = " " + std::string(model_type) + " ";
    const auto* const found = std::ranges::find_if(table, [&](const auto& entry) {
        return model_type.find(' ') == model_type.npos && entry.model_types.find(word) != word.npos;
    });
    return found == std::end(table) ? nullptr : found;
}

/// The family of a model_type; nullptr for an unknown one.
inline const family* find_family(std::string_view model_type) { return entry_of(families, model_type); }

/// What a model_type has instead of a rotary embedding; nothing for one that has it, or is unknown.
inline std::string_view instead_of_rotation(std::string_view model_type) {
    const other_positions* const found = entry_of(unrotated, model_type);
    return found == nullptr ? "" : found->what;
}

}  // namespace cordage::hf::config_detail
