// SPDX-License-Identifier: MIT
// The rules of well-known model families as named constants; stage t -> log alpha.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/longrope.hpp"
#include "cordage/scaling/masked.hpp"
#include "cordage/scaling/power_laws.hpp"
#include "cordage/scaling/yarn.hpp"

namespace cordage {

/// The rule in a family's config.json, for make_basis(p.config, p.policy, p.t) or for p.policy on any schedule. The
/// factor of a particular model may differ; hf::read_config reads it.
template <scaling_policy Policy>
struct model_preset {
    rope_config config;
    Policy policy;
    double t = 1.0;                             ///< the config's "factor"
    std::array<index_t, 3> axis_sections = {};  ///< M-RoPE: pairs of time, height, width; else zeros
    bool axes_interleaved = false;
};

namespace presets {

/// Meta. Pairs half_split in transformers' weights, interleaved in Meta's own.
inline constexpr model_preset<unscaled> llama_2{{128, 128, 1e4, 4096}, {}};
inline constexpr model_preset<unscaled> code_llama{{128, 128, 1e6, 16384}, {}};
inline constexpr model_preset<llama3> llama_3_1{{128, 128, 5e5, 8192}, {1.0, 4.0}, 8.0};
inline constexpr model_preset<llama3> llama_3_2_1b{{64, 64, 5e5, 8192}, {1.0, 4.0}, 32.0};
inline constexpr model_preset<llama3> llama_3_2_3b{{128, 128, 5e5, 8192}, {1.0, 4.0}, 32.0};

/// Qwen; half_split. YaRN as its model cards advise beyond 32 768 tokens.
inline constexpr model_preset<yarn> qwen_2_5_yarn{{128, 128, 1e6, 32768}, {}, 4.0};
inline constexpr model_preset<yarn> qwen_3_yarn{{128, 128, 1e6, 32768}, {}, 4.0};
inline constexpr model_preset<unscaled> qwen_3_vl{{128, 128, 5e6, 262144}, {}, 1.0, {24, 20, 20}, true};
inline constexpr model_preset<yarn> qwen_3_5_yarn{{256, 64, 1e7, 262144}, {}, 4.0, {11, 11, 10}, true};

/// gpt-oss; half_split. The ramp ends between pairs.
inline constexpr model_preset<yarn> gpt_oss{{64, 64, 1.5e5, 4096}, {.truncate = false}, 32.0};

/// DeepSeek: the 64 rotated lanes of a head; interleaved, except V3.2's indexer, which is half_split. V3's equal
/// mscales make the factor on cos and sin 1; the softmax scale is multiplied instead. V4 rotates the last 64 lanes of
/// its heads, with another base in compressed layers.
inline constexpr model_preset<yarn> deepseek_v3{{64, 64, 1e4, 4096}, {.mscale = 1.0, .mscale_all_dim = 1.0}, 40.0};
inline constexpr model_preset<yarn> deepseek_v3_2_indexer{
    {128, 64, 1e4, 4096}, {.mscale = 1.0, .mscale_all_dim = 1.0}, 40.0};
inline constexpr model_preset<unscaled> deepseek_v4{{64, 64, 1e4, 1048576}, {}};
inline constexpr model_preset<yarn> deepseek_v4_compressed{
    {64, 64, 1.6e5, 65536}, {.given_attention_factor = 1.0}, 16.0};

/// Gemma; half_split. Full-attention layers and sliding-window layers differ.
inline constexpr model_preset<linear> gemma_3_global{{256, 256, 1e6, 131072}, {}, 8.0};
inline constexpr model_preset<unscaled> gemma_3_local{{256, 256, 1e4, 131072}, {}};
inline constexpr model_preset<proportional> gemma_4_global{{512, 512, 1e6, 131072}, {0.25}};
inline constexpr model_preset<unscaled> gemma_4_local{{256, 256, 1e4, 131072}, {}};

/// Olmo 3's full-attention layers; the others use its config unscaled. half_split.
inline constexpr model_preset<yarn> olmo_3{{128, 128, 5e5, 8192}, {}, 8.0};

/// Ministral 3; half_split. Its query temperature is 1 + 0.1 ln(1 + floor(p / 16384)).
inline constexpr model_preset<yarn> ministral_3{{128, 128, 1e6, 16384}, {.mscale = 1.0, .mscale_all_dim = 1.0}, 16.0};

/// GLM-4: half of each head is rotated; interleaved.
inline constexpr model_preset<unscaled> glm_4{{128, 64, 1e4, 32768}, {}};

/// Phi-3-mini-128k and Phi-4-mini with the tables of their configs; half_split, on the schedule two_regimes{t}.
inline model_preset<longrope> phi_3_mini(std::vector<double> short_factor, std::vector<double> long_factor) {
    return {{96, 96, 1e4, 4096},
            {std::move(short_factor), std::move(long_factor), longrope_attention_factor(32.0, 4096.0)},
            32.0};
}
inline model_preset<longrope> phi_4_mini(std::vector<double> short_factor, std::vector<double> long_factor) {
    return {{128, 96, 1e4, 4096},
            {std::move(short_factor), std::move(long_factor), longrope_attention_factor(32.0, 4096.0)},
            32.0};
}

}  // namespace presets
}  // namespace cordage
