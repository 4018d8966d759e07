// SPDX-License-Identifier: MIT
// Tables of the properties of GGUF's architectures that are in llama.cpp's code, not in the file: pairs, layer kinds.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "cordage/models/config/model_ropes.hpp"

namespace cordage::hf::gguf_detail {

/// How llama.cpp rotates the pairs of an architecture (llama_model_rope_type, llama-cpp-python 0.3.36).
struct rotated_architectures {
    pair_layout layout;
    enum order { text, blocks, in_turn } sections;  ///< of a file with rope.dimension_sections
    std::string_view names;                         ///< separated, begun and ended by spaces
};
// clang-format off
inline constexpr rotated_architectures architectures[] = {
    {pair_layout::interleaved, rotated_architectures::text,
     " arcee arctic baichuan bailingmoe chameleon chatglm cohere2 cohere2moe command-r deci deepseek deepseek2 "
     "deepseek32 ernie4_5 ernie4_5-moe glm-dsa granite granitehybrid granitemoe graniteswitch hy_v4 internlm2 llada "
     "llama llama-embed llama4 maincoder minicpm mistral3 mistral4 muse-glimmer neo-bert olmo plm pockettts smollm3 "
     "xverse "},
    {pair_layout::half_split, rotated_architectures::text,
     " afmoe apertus bailingmoe2 bitnet codeshell cogvlm dbrx deepseek2-ocr dots1 dream eurobert exaone exaone-moe "
     "exaone4 falcon falcon-h1 gemma gemma-embedding gemma2 gemma3 gemma3n gemma4 gemma4-assistant gpt-oss gptneox "
     "grovemoe hrm_text hunyuan-dense hunyuan-moe hy_v3 jais2 jina-bert-v3 laguna lfm2 lfm2moe llada-moe mellum mimo2 "
     "minicpm3 minimax-01 minimax-m2 minimax-m3 modern-bert nemotron nomic-bert nomic-bert-moe olmo2 olmoe openelm "
     "orion pangu-embedded phi2 phi3 phimoe plamo plamo3 qwen qwen2 qwen2moe qwen3 qwen3moe qwen3next rnd1 "
     "seed_oss smallthinker stablelm starcoder2 talkie "},
    {pair_layout::interleaved, rotated_architectures::blocks, " glm4 "},
    {pair_layout::half_split, rotated_architectures::blocks, " glm4moe hunyuan_vl paddleocr qwen2vl "},
    {pair_layout::half_split, rotated_architectures::in_turn, " qwen35 qwen35moe qwen3tts qwen3vl qwen3vlmoe qwen4exp "}};
/// Architectures without a rotation in llama.cpp's graphs, and those whose code has rules of its own that are not read here.
inline constexpr std::string_view unrotated =
    " arwkv7 bert bloom clip glm5-next gpt2 gptj jais jamba jina-bert-v2 kimi-k3 kimi-linear mamba mamba2 mpt "
    "nemotron_h nemotron_h_moe refact rwkv6 rwkv6qwen2 rwkv7 starcoder t5 t5encoder wavtokenizer-dec ";
inline constexpr std::string_view with_own_rules =
    " bailingmoe3 deepseek4 dflash dots3note eagle3 granite_swa grok maple nanbeige plamo2 spark2_5 step35 ";
/// Architectures whose rotated lanes follow others in a head, those that rotate unless rope.scaling.finetuned is false,
/// those that ignore sections without a second axis, and those whose code reads YaRN's multiplier of ln t.
inline constexpr std::string_view latent = " deepseek2 deepseek32 glm-dsa hy_v4 minicpm3 mistral4 plm ";
inline constexpr std::string_view rotated_if_finetuned = " granite granitehybrid graniteswitch ";
inline constexpr std::string_view may_have_sections = " glm4 glm4moe hunyuan_vl ";
inline constexpr std::string_view reads_log_multiplier = " deepseek2 deepseek32 mistral3 mistral4 ";

/// Architectures whose layers that slide have the base of the others, although llama.cpp looks up another one.
inline constexpr std::string_view without_sliding_base = " cohere2 cohere2moe exaone-moe exaone4 mellum olmo2 ";

/// Architectures whose layers differ. A layer slides unless it is the last of `period`, or the first.
struct different_layers {
    std::string_view names;
    index_t period;                                          ///< 0: the file has a list
    bool full_is_first = false;
    bool needs_window = false;                               ///< no layer slides unless the file has a sliding_window
    enum { all, sliding, three_of_four } rotated = all;      ///< three_of_four: by the layer's index only
    bool sliding_is_scaled = true;
    double sliding_base = 0.0;                               ///< 0: that of the other layers
};
inline constexpr different_layers layers_of[] = {
    {.names = " afmoe ", .period = 4, .rotated = different_layers::three_of_four},
    {.names = " cohere2 exaone-moe ", .period = 4, .rotated = different_layers::sliding},
    {.names = " cohere2moe ", .period = 4, .full_is_first = true, .rotated = different_layers::sliding},
    {.names = " exaone4 ", .period = 4, .needs_window = true, .rotated = different_layers::sliding},
    {.names = " gemma2 gpt-oss ", .period = 2},
    {.names = " gemma-embedding ", .period = 6, .sliding_is_scaled = false, .sliding_base = 1e4},
    {.names = " gemma3 ", .period = 6, .needs_window = true, .sliding_is_scaled = false, .sliding_base = 1e4},
    {.names = " gemma3n ", .period = 5, .sliding_is_scaled = false, .sliding_base = 1e4},
    {.names = " gemma4 gemma4-assistant mimo2 ", .period = 0, .sliding_is_scaled = false, .sliding_base = 1e4},
    {.names = " laguna ", .period = 4, .full_is_first = true, .needs_window = true, .sliding_is_scaled = false},
    {.names = " llama4 ", .period = 4, .rotated = different_layers::three_of_four},
    {.names = " mellum olmo2 ", .period = 4, .needs_window = true, .sliding_is_scaled = false},
    {.names = " modern-bert ", .period = 3, .full_is_first = true, .needs_window = true, .sliding_is_scaled = false,
     .sliding_base = 1e4},
    {.names = " muse-glimmer ", .period = 4, .rotated = different_layers::sliding, .sliding_is_scaled = false},
    {.names = " plamo3 ", .period = 8, .needs_window = true, .sliding_is_scaled = false, .sliding_base = 1e4},
    {.names = " smallthinker ", .period = 4, .full_is_first = true, .needs_window = true,
     .rotated = different_layers::three_of_four},
    {.names = " smollm3 ", .period = 1, .rotated = different_layers::three_of_four}};
/// Architectures most of whose layers have no keys: all but every `interval`-th, if the file has no list.
struct recurrent_layers {
    std::string_view names;
    index_t interval;  ///< unless the file has a full_attention_interval
};
inline constexpr recurrent_layers recurrent_of[] = {{" minimax-01 ", 8}, {" qwen35 qwen35moe qwen3next qwen4exp ", 4}};
/// Architectures with an indexer of sparse attention, whose heads are rotated by the frequencies of q and k.
struct indexers {
    std::string_view names;
    pair_layout layout;
    bool are_last = false;  ///< the rotated lanes are the last of a head, otherwise the first
};
inline constexpr indexers indexers_of[] = {
    {" deepseek32 ", pair_layout::half_split}, {" glm-dsa ", pair_layout::interleaved},
    {" hy_v4 ", pair_layout::interleaved, true}, {" minimax-m3 qwen4exp ", pair_layout::half_split}};
inline constexpr std::string_view rope_keys[] = {
    "dimension_count", "dimension_count_swa", "dimension_sections", "freq_base", "freq_base_swa", "scale_linear",
    "scaling.alpha", "scaling.attn_factor", "scaling.factor", "scaling.finetuned", "scaling.original_context_length",
    "scaling.type", "scaling.yarn_attn_factor", "scaling.yarn_beta_fast", "scaling.yarn_beta_slow",
    "scaling.yarn_ext_factor", "scaling.yarn_log_multiplier"};
// clang-format on

inline bool names_it(std::string_view names, const std::string& architecture) {
    return architecture.find(' ') == architecture.npos && names.find(" " + architecture + " ") != names.npos;
}
inline const auto* entry_of(const auto& table, const std::string& architecture) {
    const auto* const found =
        std::ranges::find_if(table, [&](const auto& each) { return names_it(each.names, architecture); });
    return found == std::end(table) ? nullptr : found;
}

}  // namespace cordage::hf::gguf_detail
