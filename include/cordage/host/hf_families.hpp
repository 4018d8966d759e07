// SPDX-License-Identifier: MIT
// What configs leave unsaid because the model's code knows it: pair layout and defaults by model_type; serves host/.
#pragma once

#include <algorithm>
#include <string_view>

#include "cordage/host/hf_rope.hpp"

namespace cordage::hf {

struct family {
    std::string_view model_type;
    pair_layout layout = pair_layout::unknown;
    double theta_base = 10000.0;
    double partial_rotary_factor = 1.0;
};

/// As in transformers 5.23 (layouts: of the weights that its model code expects).
inline constexpr family families[] = {
    {"apertus", pair_layout::half_split, 12e6},
    {"chatglm", pair_layout::interleaved, 1e4, 0.5},
    {"codegen", pair_layout::interleaved},
    {"cohere", pair_layout::interleaved, 5e5},
    {"cohere2", pair_layout::interleaved},
    {"deepseek_v2", pair_layout::interleaved},
    {"deepseek_v3", pair_layout::interleaved},
    {"deepseek_v32", pair_layout::interleaved},
    {"deepseek_v4", pair_layout::interleaved},
    {"ernie4_5", pair_layout::interleaved, 5e5},
    {"ernie4_5_moe", pair_layout::interleaved, 5e5},
    {"falcon", pair_layout::half_split},
    {"gemma", pair_layout::half_split},
    {"gemma2", pair_layout::half_split},
    {"gemma3", pair_layout::half_split, 1e6},
    {"gemma4", pair_layout::half_split},
    {"glm", pair_layout::interleaved, 1e4, 0.5},
    {"glm4", pair_layout::interleaved, 1e4, 0.5},
    {"glm4_moe", pair_layout::half_split, 1e4, 0.5},
    {"gpt_neox", pair_layout::half_split, 1e4, 0.25},
    {"gpt_oss", pair_layout::half_split, 1.5e5},
    {"gptj", pair_layout::interleaved},
    {"granite", pair_layout::half_split},
    {"helium", pair_layout::interleaved, 1e5},
    {"hunyuan_v1_dense", pair_layout::half_split},
    {"hunyuan_v1_moe", pair_layout::half_split},
    {"internlm2", pair_layout::half_split},
    {"llama", pair_layout::half_split},
    {"llama4", pair_layout::interleaved, 5e5},
    {"minicpm", pair_layout::half_split},
    {"minicpm3", pair_layout::half_split},
    {"minimax", pair_layout::half_split, 1e6},
    {"minimax_m2", pair_layout::half_split, 5e6},
    {"ministral3", pair_layout::half_split, 1e6},
    {"mistral", pair_layout::half_split},
    {"mistral3", pair_layout::half_split},
    {"mixtral", pair_layout::half_split, 1e6},
    {"modernbert", pair_layout::half_split, 1.6e5},
    {"nemotron", pair_layout::half_split, 1e4, 0.5},
    {"olmo", pair_layout::half_split},
    {"olmo2", pair_layout::half_split},
    {"olmo3", pair_layout::half_split, 5e5},
    {"persimmon", pair_layout::half_split, 1e4, 0.5},
    {"phi", pair_layout::half_split, 1e4, 0.5},
    {"phi3", pair_layout::half_split},
    {"phimoe", pair_layout::half_split, 1e6},
    {"qwen", pair_layout::half_split},
    {"qwen2", pair_layout::half_split},
    {"qwen2_5_vl", pair_layout::half_split, 1e6},
    {"qwen2_moe", pair_layout::half_split},
    {"qwen2_vl", pair_layout::half_split, 1e6},
    {"qwen3", pair_layout::half_split},
    {"qwen3_5", pair_layout::half_split, 1e4, 0.25},
    {"qwen3_5_moe", pair_layout::half_split, 1e4, 0.25},
    {"qwen3_moe", pair_layout::half_split},
    {"qwen3_next", pair_layout::half_split, 1e4, 0.25},
    {"qwen3_vl", pair_layout::half_split, 5e5},
    {"qwen3_vl_moe", pair_layout::half_split, 5e5},
    {"smollm3", pair_layout::half_split, 2e6},
    {"stablelm", pair_layout::half_split, 1e4, 0.25},
    {"starcoder2", pair_layout::half_split},
};

/// The family of a model_type, "_text" at its end aside; an unknown one has the common defaults and no layout.
inline family family_of(std::string_view model_type) {
    if (model_type.ends_with("_text")) model_type.remove_suffix(5);
    const auto found = std::ranges::find(families, model_type, &family::model_type);
    return found == std::end(families) ? family{model_type} : *found;
}

}  // namespace cordage::hf
