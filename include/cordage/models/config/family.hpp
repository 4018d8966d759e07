// SPDX-License-Identifier: MIT
// Tables of the properties of model families that are in the model's code, not in its config: layouts, defaults, layer
// kinds.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "cordage/models/config/model_ropes.hpp"

namespace cordage::hf::config_detail {

/// One kind of layer of a family with different layers, or of a config that distinguishes them.
struct layer_kind {
    std::string_view layer_type;         ///< empty if all layers are alike
    bool rotates = true;                 ///< false: no rotary embedding in these layers
    bool is_scaled = true;               ///< by a rope dictionary that is for all layer types
    double theta_base = 0.0;             ///< default; 0: as in the other layers
    double partial_rotary_factor = 0.0;  ///< default; 0: as in the family
    index_t head_dim = 0;                ///< replaces head_dim unless global_head_dim or per_layer_config is given
    double yarn_attention_factor = 0;    ///< used if the dictionary gives none; 0: YaRN's own
};

/// The heads of an indexer, which chooses the keys of sparse attention. It rotates by the frequencies of its layer.
struct indexer_heads {
    pair_layout layout = pair_layout::unknown;  ///< unknown: the family has no indexer
    bool is_at_end = false;                     ///< rotates the last lanes of its heads, else the first
    std::string_view layer_types = {};          ///< the layers that have one, as family::model_types; empty: all
    std::string_view of = {};                   ///< the rule with its frequencies; empty: that of q and k
    std::string_view cycle = {};                ///< as family::layer_cycle, F: an indexer of its own, s: the last one's
    std::string_view key = "index_head_dim";
    index_t head_dim = 128;  ///< used if the key is not given; 0: then there is no indexer

    /// Whether the layers of a type, by its present name, have one.
    bool is_in_layers_of(std::string_view type) const {
        return layer_types.empty() || layer_types.find(" " + std::string(type) + " ") != layer_types.npos;
    }
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
    {.layer_type = "sliding_attention"}, {.layer_type = "full_attention", .rotates = false}};
inline constexpr layer_kind neomme_layers[] = {
    {.layer_type = "full_attention", .theta_base = 1e6, .partial_rotary_factor = 0.25},
    {.layer_type = "sliding_attention", .theta_base = 1e4}};
inline constexpr layer_kind deepseek_v4_layers[] = {
    {.layer_type = "main", .is_scaled = false},
    {.layer_type = "compress", .theta_base = 1.6e5, .yarn_attention_factor = 1.0}};
/// Used for any config with compress_rope_theta, rope_scaling_layers, or sizes for one layer type.
inline constexpr layer_kind compressed_layers[] = {
    {.layer_type = "main", .is_scaled = false}, {.layer_type = "compress", .yarn_attention_factor = 1.0}};
inline constexpr layer_kind partly_scaled_layers[] = {
    {.layer_type = "scaled"}, {.layer_type = "unscaled", .is_scaled = false}};
inline constexpr layer_kind full_and_sliding_layers[] = {
    {.layer_type = "full_attention"}, {.layer_type = "sliding_attention"}};
// clang-format on

/// How the axes of a position (time, row, column) share the pairs, if there are several; serves set_axes.
enum class axis_order {
    as_the_config_says,  ///< mrope_section, in blocks or by mrope_interleaved
    blocks,              ///< contiguous_axes
    interleaved,         ///< interleaved_axes
    rows_columns_time,   ///< rows and columns alternate, then time (Ernie 4.5 VL); sections have that order
    lanes,               ///< the two lanes of a pair have different axes, which is not a rotation
};

/// Properties in the code of some model types.
struct family {
    std::string_view model_types;  ///< separated, begun and ended by spaces
    pair_layout layout = pair_layout::unknown;
    double theta_base = 10000.0;
    double partial_rotary_factor = 1.0;
    index_t head_dim = 0;             ///< used if no key gives one; 0: head_width * hidden_size / heads
    index_t rotary_dim = 0;           ///< default of the key in its config; 0: by partial_rotary_factor
    double head_width = 1.0;          ///< 2 for Zamba 2, whose heads read two concatenated hidden states
    std::string_view heads_key = {};  ///< the key of the number of heads, if not a usual one
    bool head_is_derived = false;     ///< head_dim is hidden_size / heads; the key is ignored
    bool rotates_own_part = false;    ///< rotates qk_rope_head_dim lanes; the key is required
    std::string_view reads = {};      ///< rarely used keys that this family's code reads, by their names in does_read
    bool reads_dictionary = true;     ///< false: its code has no rope_parameters or rope_scaling
    std::string_view base_key = {};   ///< the only name of rope_theta at the top level that its code reads
    std::string_view partial_factor_key = {};  ///< that of partial_rotary_factor
    bool rotates_some_layers = false;          ///< every n-th layer is not rotated, unless no_rope_layers is given
    bool is_inverse = false;                   ///< rotates by the negative angle
    bool is_lerope = false;                    ///< its weights hold offsets of the basis and temperatures of heads
    std::string_view rotary_key = {};          ///< a key; without it there is no rotation
    std::string_view default_rope_type = {};   ///< default of its code without a dictionary, with its own parameters
    std::span<const layer_kind> layers = {};   ///< used if the dictionary is for all layer types; else defaults
    bool reads_by_layer_type = false;          ///< reads rope_parameters only by layer type, rope_scaling for all types
    bool null_is_unrotated = false;            ///< layer types whose dictionary is null are not rotated; else a fault
    bool base_is_for_all = false;              ///< rope_theta beside dictionaries by layer type is for all of them
    bool rotates_dense_layers = false;         ///< layers before the experts are rotated despite full attention
    std::string_view layers_differ_by = {};    ///< a key; if it is null, all layers are alike
    /// The types of layers without layer_types, by their letters in layer_letters, repeated. "FF^sFss$F": the first two
    /// and the last are F; "<Fsss": counted back from the last layer.
    std::string_view layer_cycle = {};
    std::string_view cycle_key = {};  ///< the key that gives the length of layer_cycle
    indexer_heads indexer = {};
    axis_order order = axis_order::as_the_config_says;
    std::array<index_t, 3> sections = {};  ///< used if mrope_section is not given; zeros: one axis, or equal shares

    /// Whether its code reads alpha, llama_4_scaling_beta, partial_rotary_factor (despite a default of 1),
    /// qk_rope_head_dim (without rotates_own_part), rope_interleave, rotary_dim or one of rarely_read_keys; whether it
    /// reads no head_dim beside qk_rope_head_dim; whether its rope type 'ntk' also divides all frequencies; whether it
    /// has Llama 4's attn_temperature_tuning; "no shared base": whether it takes the bases of some layers from the top
    /// level or its defaults, whatever a flat dictionary says; "no rope_scaling": whether it reads only
    /// rope_parameters; "whole head": whether it rotates all of head_dim if there is no share; "mlp blocks": whether
    /// attention and mlp, listed as two layers, are one.
    bool does_read(std::string_view key) const { return reads.find(key) != reads.npos; }

    /// The kind with this name; one without defaults if there is none.
    layer_kind kind(std::string_view layer_type) const {
        const auto found = std::ranges::find(layers, layer_type, &layer_kind::layer_type);
        return found == layers.end() ? layer_kind{layer_type} : *found;
    }
};

inline constexpr family unknown_family{
    .model_types = "",
    .reads =
        "alpha layer_rope_theta llama_4_scaling_beta no_rope_layer_interval no_rope_layers partial_rotary_factors "
        "qk_rope_head_dim rope_interleave rope_ratio rope_scaling_layers rotary_dim",
    .null_is_unrotated = true};

using enum pair_layout;
/// default_rope_type of families whose code has a dictionary by layer type.
inline constexpr const char* by_layer_type = "default, by layer type";

/// As in transformers 5.24 (layouts: of the weights that its model code expects); tests/hosts/test_configs.py compares
/// each entry with its class.
// clang-format off
inline constexpr family families[] = {
    {" arcee aria chameleon dbrx deepseek_ocr2_encoder diffllama doge dots1 esmc eurobert "
     "falcon falcon_h1 granite granite4_vision granite_docling granitemoe granitemoeshared hyperclovax idefics jais2 "
     "kyutai_speech_to_text lasr_encoder llama mimi mimi_decoder mimi_encoder ministral mistral mistral3 "
     "moshi olmo olmo2 olmo_hybrid olmoe pocket_tts_audio_tokenizer pocket_tts_audio_tokenizer_decoder "
     "pocket_tts_audio_tokenizer_encoder qwen2 qwen2_moe qwen3_moe starcoder2 "
     "voxtral_realtime ", half_split},
    {.model_types = " granite_swa granitemoe_swa ", .layout = half_split, .reads = "layer_rope_theta"},
    {.model_types = " hunyuan_v1_dense hunyuan_v1_moe ", .layout = half_split, .reads = "alpha"},
    {" bitnet csm exaone csm_depth_decoder_model evolla flex_olmo mllama_text_model ", half_split, 5e5},
    {" emu3_text_model mixtral phimoe ", half_split, 1e6},
    {.model_types = " lfm2 lfm2_moe ", .layout = half_split, .theta_base = 1e6, .layer_cycle = "F"},
    {.model_types = " minimax ", .layout = half_split, .theta_base = 1e6, .layer_cycle = "Fl"},
    {" nomic_bert ", half_split, 1e3},
    {" jina_embeddings_v3 ", half_split, 2e4},
    {.model_types = " gte new ", .layout = half_split, .theta_base = 1.6e5, .reads = "ntk"},
    {" glm4_moe glmasr_encoder nemotron "
     "persimmon phi ", half_split, 1e4, 0.5},
    {.model_types = " bamba ", .layout = half_split, .partial_rotary_factor = 0.5, .layer_cycle = "l"},
    {.model_types = " recurrent_gemma ", .layout = half_split, .partial_rotary_factor = 0.5, .layer_cycle = "lls"},
    {" stablelm ", half_split, 1e4, 0.25},
    {.model_types = " gpt_neox ", .layout = half_split, .partial_rotary_factor = 0.25, .base_key = "rotary_emb_base",
     .partial_factor_key = "rotary_pct"},
    {.model_types = " gpt_neox_japanese ", .layout = half_split, .reads = "partial_rotary_factor",
     .base_key = "rotary_emb_base", .partial_factor_key = "rotary_pct"},
    {" gradium_phonon_tts pocket_tts ", half_split},
    {" neucodec qwen2_5_omni_dit voxtral_realtime_encoder xcodec2 ", half_split, 1e4, 1.0, 64},
    {" timesfm2_5 ", half_split, 1e4, 1.0, 80},
    {" dia_decoder dia_encoder hrm_text internlm3 iquestcoder jetmoe qwen3 "
     "qwen3_omni_moe_talker_code_predictor seed_oss ", half_split, 1e4, 1.0, 128},
    {.model_types = " molmo2 ", .layout = half_split, .head_dim = 128, .reads = "rope_scaling_layers"},
    {" gemma gemma2 t5_gemma_module vaultgemma ", half_split, 1e4, 1.0, 256},
    {.model_types = " muse_spark ", .layout = half_split, .theta_base = 5e5, .head_dim = 64,
     .reads = "layer_rope_theta", .rotates_some_layers = true, .layer_cycle = "<Fsss"},
    {.model_types = " muse_glimmer ", .layout = half_split, .head_dim = 128, .reads = "layer_rope_theta",
     .rotates_some_layers = true, .layer_cycle = "<Fsss"},
    {" muse_glimmer_assistant ", half_split, 5e5, 1.0, 128},
    {" hy_v3 ", half_split, 11158840.0, 1.0, 128},
    {" sarvam_moe ", half_split, 8e6, 1.0, 64},
    {.model_types = " qwen3_next ", .layout = half_split, .partial_rotary_factor = 0.25, .head_dim = 256,
     .layer_cycle = "lllF", .cycle_key = "full_attention_interval"},
    {" blt_patcher roformer ", interleaved},
    {" blt_global_transformer blt_local_decoder blt_local_encoder cohere ernie4_5_moe ", interleaved, 5e5},
    {.model_types = " chatglm ", .layout = interleaved, .partial_rotary_factor = 0.5, .reads = "rope_ratio"},
    {" glm glm4 ", interleaved, 1e4, 0.5, 128},
    {" pe_audio_encoder pe_audio_video_encoder pe_video_encoder ", interleaved, 2e4, 1.0, 128},
    {" helium ", interleaved, 1e5, 1.0, 128},
    {" ernie4_5 ", interleaved, 5e5, 1.0, 128},
    {.model_types = " codegen gptj ", .layout = interleaved, .rotary_dim = 64, .reads = "rotary_dim"},
    {.model_types = " internlm2 minicpm nemotron3_diarization_audio phi3 phi4_multimodal qwen ",
     .layout = half_split, .reads = "partial_rotary_factor"},
    {.model_types = " deepseek_ocr2 unlimited_ocr ", .layout = half_split, .head_is_derived = true},
    {.model_types = " dots3_note_audio_encoder ", .layout = interleaved, .partial_rotary_factor = 0.5,
     .head_is_derived = true},
    {.model_types = " moonshine_streaming ", .layout = interleaved, .reads = "partial_rotary_factor",
     .default_rope_type = "default"},
    {.model_types = " nemotron3_5_transcribe_asr_audio nemotron3_5_transcribe_word_timestamp ", .layout = half_split,
     .reads = "partial_rotary_factor", .default_rope_type = "default"},
    {.model_types = " minicpm3 ", .layout = half_split, .rotates_own_part = true},
    {.model_types = " hy_v4 ", .layout = half_split, .rotates_own_part = true,
     .indexer = {.layout = half_split, .is_at_end = true, .cycle = "F^sFss"}},
    {.model_types = " deepseek_v2 ", .layout = interleaved, .rotates_own_part = true},
    {.model_types = " axk2 deepseek_v32 ", .layout = interleaved, .rotates_own_part = true,
     .indexer = {.layout = half_split}},
    {.model_types = " glm_moe_dsa ", .layout = interleaved, .rotates_own_part = true,
     .indexer = {.layout = interleaved}},
    {.model_types = " axk1 deepseek_v3 glm4_moe_lite kimi_k2 youtu ", .layout = interleaved,
     .rotates_own_part = true, .reads = "rope_interleave"},
    {.model_types = " sarvam_mla ", .layout = interleaved, .rotates_own_part = true,
     .reads = "rope_interleave no head_dim"},
    {.model_types = " bailing_hybrid ", .layout = interleaved, .theta_base = 6e6, .rotates_own_part = true,
     .layer_cycle = "lllllF", .cycle_key = "layer_group_size"},
    {.model_types = " longcat_flash ", .layout = interleaved, .theta_base = 1e7, .rotates_own_part = true},
    {.model_types = " moonshine ", .layout = interleaved, .partial_rotary_factor = 0.9,
     .heads_key = "decoder_num_attention_heads"},
    {.model_types = " wav2vec2-bert wav2vec2-conformer ", .layout = half_split, .reads_dictionary = false,
     .rotary_key = "position_embeddings_type"},
    {.model_types = " seamless_m4t ", .layout = half_split, .heads_key = "speech_encoder_attention_heads",
     .reads_dictionary = false, .rotary_key = "position_embeddings_type"},
    {.model_types = " cohere2 ", .layout = interleaved, .layers = cohere2_layers, .layer_cycle = "sssF",
     .cycle_key = "sliding_window_pattern"},
    {.model_types = " cohere2_moe ", .layout = interleaved, .head_dim = 128, .reads = "no rope_scaling",
     .layers = cohere2_layers, .rotates_dense_layers = true, .layer_cycle = "sssF", .cycle_key = "sliding_window_pattern"},
    {.model_types = " afmoe ", .layout = half_split, .head_dim = 128, .layers = cohere2_layers, .layer_cycle = "sssF",
     .cycle_key = "global_attn_every_n_layers"},
    {.model_types = " flint ", .layout = half_split, .head_dim = 128, .layers = cohere2_layers,
     .layer_cycle = "FF^sFss$F"},
    {.model_types = " lara_mini ", .layout = half_split, .head_dim = 128, .layers = cohere2_layers,
     .layer_cycle = "lslFs"},
    {.model_types = " exaone4 exaone_moe ", .layout = half_split, .layers = cohere2_layers,
     .layers_differ_by = "sliding_window", .layer_cycle = "sssF", .cycle_key = "sliding_window_pattern"},
    {.model_types = " kolibri1 ", .layout = half_split, .head_dim = 128, .layers = cohere2_layers,
     .layers_differ_by = "sliding_window", .layer_cycle = "ssssF"},
    {.model_types = " deepseek_v4 ", .layout = interleaved,
     .reads = "partial_rotary_factor qk_rope_head_dim no shared base", .layers = deepseek_v4_layers, .layer_cycle = "HH^HC",
     .indexer = {.layout = interleaved, .is_at_end = true, .layer_types = " compressed_sparse_attention ",
                 .of = "compress"}},
    {.model_types = " gemma3 t5gemma2 t5gemma2_decoder ", .layout = half_split, .theta_base = 1e6,
     .head_dim = 256, .layers = gemma3_layers, .reads_by_layer_type = true, .layer_cycle = "sssssF",
     .cycle_key = "sliding_window_pattern"},
    {.model_types = " gemma3n ", .layout = half_split, .theta_base = 1e6, .head_dim = 256, .layers = gemma3_layers,
     .reads_by_layer_type = true, .layer_cycle = "ssssF"},
    {.model_types = " modernbert modernbert-decoder ", .layout = half_split, .theta_base = 1.6e5,
     .base_key = "global_rope_theta", .layers = modernbert_layers, .reads_by_layer_type = true, .layer_cycle = "Fss",
     .cycle_key = "global_attn_every_n_layers"},
    {.model_types = " olmo3 ", .layout = half_split, .theta_base = 5e5, .reads = "no shared base", .layers = olmo3_layers,
     .reads_by_layer_type = true, .layer_cycle = "sssF"},
    {.model_types = " llama4 ", .layout = interleaved, .theta_base = 5e5, .head_dim = 128,
     .reads = "attn_temperature_tuning no_rope_layer_interval no_rope_layers", .rotates_some_layers = true},
    {.model_types = " smollm3 ", .layout = half_split, .theta_base = 2e6,
     .reads = "no_rope_layer_interval no_rope_layers", .rotates_some_layers = true},
    {.model_types = " minimax_m3_vl ", .layout = half_split, .theta_base = 5e6, .head_dim = 128,
     .rotary_dim = 64, .reads = "partial_rotary_factor",
     .indexer = {.layout = half_split, .layer_types = " minimax_m3_sparse "}},
    {.model_types = " minimax_m2 ", .layout = half_split, .theta_base = 5e6, .head_dim = 128,
     .reads = "partial_rotary_factor rotary_dim"},
    {.model_types = " solar_open ", .layout = half_split, .theta_base = 1e6, .head_dim = 128,
     .reads = "partial_rotary_factor"},
    {.model_types = " nanochat ", .layout = half_split, .is_inverse = true},
    {.model_types = " esm ", .layout = half_split, .reads_dictionary = false, .rotary_key = "position_embedding_type"},
    {.model_types = " granitemoehybrid ", .layout = half_split, .rotary_key = "position_embedding_type"},
    {.model_types = " zamba2 ", .layout = half_split, .head_width = 2.0, .rotary_key = "use_mem_rope"},
    {.model_types = " apertus apertus1p5 ", .layout = half_split, .theta_base = 12e6, .default_rope_type = "llama3"},
    {.model_types = " cwm ", .layout = half_split, .theta_base = 1e6, .head_dim = 128, .default_rope_type = "llama3"},
    {.model_types = " higgs_audio_v2 ", .layout = half_split, .head_dim = 128, .default_rope_type = "llama3"},
    {.model_types = " gpt_oss ", .layout = half_split, .theta_base = 1.5e5, .head_dim = 64,
     .default_rope_type = "yarn"},
    {.model_types = " openai_privacy_filter ", .layout = interleaved, .theta_base = 1.5e5, .head_dim = 64,
     .default_rope_type = "yarn"},
    {.model_types = " ministral3 ", .layout = half_split, .theta_base = 1e6, .head_dim = 128,
     .reads = "llama_4_scaling_beta", .default_rope_type = "yarn"},
    {.model_types = " mistral4 ", .layout = interleaved, .rotates_own_part = true,
     .reads = "llama_4_scaling_beta rope_interleave whole head", .default_rope_type = "yarn"},
    {.model_types = " mistral_large4 ", .layout = interleaved, .rotates_own_part = true,
     .reads = "no_rope_layer_interval no_rope_layers", .rotates_some_layers = true, .is_lerope = true,
     .default_rope_type = "yarn", .indexer = {.layout = interleaved}},
    {.model_types = " gemma4 gemma4_unified ", .layout = half_split, .head_dim = 256,
     .default_rope_type = "proportional", .layers = gemma4_layers, .layer_cycle = "sssssF$F"},
    {.model_types = " diffusion_gemma ", .layout = half_split, .head_dim = 256, .reads = "partial_rotary_factor",
     .default_rope_type = "proportional", .layers = gemma4_layers, .layer_cycle = "sssssF$F"},
    {.model_types = " beam ", .layout = half_split, .head_dim = 128, .default_rope_type = by_layer_type,
     .null_is_unrotated = true, .layer_cycle = "sssssF$F"},
    {.model_types = " dory ", .layout = half_split, .head_dim = 256, .reads = "mlp blocks",
     .default_rope_type = by_layer_type, .null_is_unrotated = true, .layer_cycle = "sssF"},
    {.model_types = " lfm3 ", .layout = half_split, .head_dim = 128, .default_rope_type = by_layer_type,
     .layer_cycle = "v^svFv"},
    {.model_types = " ultrabert ", .layout = half_split, .reads = "no shared base", .default_rope_type = by_layer_type, .layer_cycle = "ssF"},
    {.model_types = " laguna mellum ", .layout = half_split, .head_dim = 128, .reads = "partial_rotary_factor",
     .default_rope_type = by_layer_type, .layer_cycle = "F"},
    {.model_types = " embedding_gemma2 ", .layout = half_split, .head_dim = 256, .default_rope_type = by_layer_type,
     .layers = gemma4_layers, .layer_cycle = "sssssF$F", .cycle_key = "sliding_window_pattern"},
    {.model_types = " mimo_v2_flash ", .layout = half_split, .partial_rotary_factor = 0.334, .head_dim = 192,
     .default_rope_type = by_layer_type, .layer_cycle = "F^sssssF"},
    {.model_types = " step3p5 step3p7 ", .layout = half_split, .head_dim = 128,
     .reads = "partial_rotary_factors no shared base",
     .default_rope_type = by_layer_type, .layers = olmo3_layers, .reads_by_layer_type = true, .layer_cycle = "F"},
    {.model_types = " zaya ", .layout = half_split, .head_dim = 128, .reads = "partial_rotary_factor",
     .default_rope_type = by_layer_type},
    {.model_types = " dots3_note ", .layout = interleaved, .reads = "partial_rotary_factor qk_rope_head_dim",
     .default_rope_type = by_layer_type, .layer_cycle = "ii^siss",
     .indexer = {.layout = interleaved, .layer_types = " indexed_attention ", .of = "indexed_attention"}},
    // positions of several axes
    {.model_types = " qwen2_vl qwen2_5_vl qwen2_5_omni ", .layout = half_split, .theta_base = 1e6,
     .order = axis_order::blocks, .sections = {16, 24, 24}},
    {.model_types = " qwen2_5_omni_talker ", .layout = half_split, .theta_base = 1e6, .head_dim = 128,
     .order = axis_order::blocks, .sections = {16, 24, 24}},
    {.model_types = " paddleocr_vl ", .layout = half_split, .theta_base = 5e5, .head_dim = 128,
     .order = axis_order::blocks, .sections = {16, 24, 24}},
    {.model_types = " glm4v glm_ocr ", .layout = interleaved, .reads = "partial_rotary_factor", .order = axis_order::blocks,
     .sections = {8, 12, 12}},
    {.model_types = " glm_image ", .layout = half_split, .reads = "partial_rotary_factor", .order = axis_order::blocks,
     .sections = {8, 12, 12}},
    {.model_types = " glm4v_moe ", .layout = half_split, .partial_rotary_factor = 0.5, .order = axis_order::blocks,
     .sections = {8, 12, 12}},
    {.model_types = " qwen3_vl ", .layout = half_split, .theta_base = 5e5, .head_dim = 128,
     .order = axis_order::interleaved, .sections = {24, 20, 20}},
    {.model_types = " qwen3_vl_moe ", .layout = half_split, .theta_base = 5e5, .order = axis_order::interleaved,
     .sections = {24, 20, 20}},
    {.model_types = " qwen3_omni_moe ", .layout = half_split, .theta_base = 1e6, .order = axis_order::interleaved,
     .sections = {24, 20, 20}},
    {.model_types = " qwen3_omni_moe_talker ", .layout = half_split, .order = axis_order::interleaved,
     .sections = {24, 20, 20}},
    {.model_types = " cosmos3_edge ", .layout = half_split, .theta_base = 1e8, .head_dim = 128,
     .default_rope_type = "default", .order = axis_order::interleaved, .sections = {24, 20, 20}},
    {.model_types = " qwen3_5 qwen3_5_moe ", .layout = half_split, .partial_rotary_factor = 0.25, .head_dim = 256,
     .layer_cycle = "lllF", .cycle_key = "full_attention_interval", .order = axis_order::interleaved,
     .sections = {11, 11, 10}},
    {.model_types = " qwen4_exp ", .layout = half_split, .head_dim = 256, .reads = "partial_rotary_factor",
     .layer_cycle = "llli", .cycle_key = "full_attention_interval",
     .indexer = {.layout = half_split, .layer_types = " full_attention indexed_attention ", .key = "indexer_head_dim", .head_dim = 0},
     .order = axis_order::interleaved, .sections = {11, 11, 10}},
    {.model_types = " hy_v4_vl ", .layout = interleaved, .rotates_own_part = true, .reads = "no head_dim",
     .indexer = {.layout = interleaved, .is_at_end = true, .cycle = "F^sFss"}, .order = axis_order::interleaved,
     .sections = {12, 10, 10}},
    {.model_types = " cohere_compass ", .layout = half_split, .head_dim = 128, .default_rope_type = by_layer_type,
     .null_is_unrotated = true, .layer_cycle = "F", .order = axis_order::interleaved, .sections = {24, 20, 20}},
    {.model_types = " neomme ", .layout = half_split, .head_dim = 64, .reads = "partial_rotary_factor",
     .default_rope_type = by_layer_type, .layers = neomme_layers, .base_is_for_all = true,
     .layer_cycle = "sssssF$F", .order = axis_order::interleaved},
    {.model_types = " ernie4_5_moe_vl ernie4_5_vl_moe ", .layout = interleaved, .theta_base = 5e5,
     .order = axis_order::rows_columns_time, .sections = {22, 22, 20}},
    {.model_types = " hunyuan_vl ", .layout = half_split, .reads = "alpha", .order = axis_order::lanes}};

/// Model types without a supported rotary embedding, and what they use instead; as in transformers 5.24.
struct other_positions {
    std::string_view what;
    std::string_view model_types;  ///< as family::model_types
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
/// Model types whose rotation is not supported, and how they rotate.
inline constexpr other_positions rotated_otherwise[] = {
    {"the two lanes of a pair by different angles", " vjepa2 "},
    {"by learned directions of its key points", " lightglue "},
    {"its values too", " clvp_encoder "},
    {"by the rules of its parts, each with its own config", " blt chmv2 deepseek_ocr2_vision_encoder "}};
// clang-format on

/// The entry of a model_type, or of the part before its "_text"; nullptr if there is none.
inline const auto* entry_of(const auto& table, std::string_view model_type) {
    const auto entry_of_word = [&](std::string_view type) {
        const std::string word = " " + std::string(type) + " ";
        const auto* const found = std::ranges::find_if(table, [&](const auto& entry) {
            return type.find(' ') == type.npos && entry.model_types.find(word) != word.npos;
        });
        return found == std::end(table) ? nullptr : found;
    };
    const auto* const found = entry_of_word(model_type);
    if (found != nullptr || !model_type.ends_with("_text")) return found;
    return entry_of_word(model_type.substr(0, model_type.size() - 5));
}

/// The family of a model_type; nullptr for an unknown one.
inline const family* find_family(std::string_view model_type) { return entry_of(families, model_type); }

/// The description of a model_type in one of the tables above; empty if it is not there.
inline std::string_view what_of(const auto& table, std::string_view model_type) {
    const other_positions* const found = entry_of(table, model_type);
    return found == nullptr ? "" : found->what;
}

}  // namespace cordage::hf::config_detail
