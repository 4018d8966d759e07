// SPDX-License-Identifier: MIT
// What follows from a model_type: models without rotation, and values that configs omit.
#include "cordage/models/config/family.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "cordage/basis/basis.hpp"
#include "cordage/models/config/read.hpp"
#include "message_of_error.hpp"

using namespace cordage;

namespace {

/// The config of this model_type with these further fields.
std::string config_of(const std::string& model_type, const std::string& fields) {
    return R"({"model_type": ")" + model_type + R"(", "max_position_embeddings": 1024)" +
           (fields.empty() ? "" : ", " + fields) + "}";
}
std::string error_of(const std::string& model_type, const std::string& fields, bool lenient = false) {
    return cordage_test::message_of_error(
        [&] { hf::read_config(config_of(model_type, fields), {.lenient = lenient}); });
}
rope_config read(const std::string& model_type, const std::string& fields, const std::string& layer = "") {
    return hf::read_config(config_of(model_type, fields)).of(layer).config;
}

const std::string sizes = R"("hidden_size": 768, "num_attention_heads": 12)";
const std::string only_rotating = "; only models that rotate q and k can be read";

}  // namespace

// These were once read as a rotation with theta_base 10000.
TEST_CASE("models/config/family: a model type without a rotary embedding is rejected, naming what it has instead") {
    CHECK(error_of("gpt2", sizes) ==
          "config: model_type 'gpt2' has no rotary embedding but learned positions" + only_rotating);
    CHECK(error_of("bloom", sizes, true) ==
          "config: model_type 'bloom' has no rotary embedding but ALiBi" + only_rotating);
    for (const char* type : {"bert", "opt", "ctrl", "xglm", "mpt", "t5", "xlnet", "mamba", "zamba", "jamba",
                             "kimi_linear", "inkling_text", "yoso", "albert"}) {
        CAPTURE(type);
        CHECK(error_of(type, sizes + R"(, "rope_theta": 1e4)", true).find("has no rotary embedding") !=
              std::string::npos);
    }
    CHECK(error_of("llava", R"("text_config": {"model_type": "opt"})").find("model_type 'opt' has no rotary") !=
          std::string::npos);
}

TEST_CASE("models/config/family: keys that disable rotation") {
    CHECK(error_of("falcon", sizes + R"(, "alibi": true, "rope_theta": 1e4)") ==
          "config: alibi true selects ALiBi instead of a rotary embedding" + only_rotating);
    CHECK(error_of("falcon", sizes + R"(, "alibi": false)").empty());
    CHECK(error_of("somebody_s", sizes + R"(, "attn_config": {"alibi": true})").find("alibi true") !=
          std::string::npos);
    CHECK(error_of("esm", sizes + R"(, "position_embedding_type": "absolute")") ==
          "config: position_embedding_type 'absolute' must be 'rope' or 'rotary'" + only_rotating);
    CHECK(error_of("esm", sizes) ==
          "config: model_type 'esm' has a rotary embedding only if position_embedding_type is given" + only_rotating);
    CHECK(error_of("esm", sizes + R"(, "position_embedding_type": "rotary")").empty());
    CHECK(error_of("granitemoehybrid", sizes + R"(, "position_embedding_type": null, "rope_theta": 1e4)")
              .find("only if position_embedding_type is given") != std::string::npos);
    CHECK(error_of("granitemoehybrid", sizes + R"(, "position_embedding_type": "rope")").empty());
    CHECK(error_of("zamba2", sizes + R"(, "use_mem_rope": false)").find("use_mem_rope false") != std::string::npos);
    CHECK(error_of("glm5_next", R"("qk_rope_head_dim": 0, "qk_nope_head_dim": 192)") ==
          "config: qk_rope_head_dim 0 means that no lanes are rotated" + only_rotating);
}

TEST_CASE("models/config/family: an unknown model type without evidence of rotation is doubtful") {
    const std::string doubt =
        "config: model_type 'somebody_s' must be a known model type, or rope_theta or rope_parameters must be "
        "given: no key shows that q and k are rotated";
    CHECK(error_of("somebody_s", sizes) == doubt);
    const auto lenient = hf::read_config(config_of("somebody_s", sizes), {.lenient = true});
    CHECK(lenient.warnings == std::vector<std::string>{doubt});
    CHECK(lenient.of("").config == rope_config{64, 64, 10000.0, 1024});
    for (const char* key : {R"("rope_theta": 1e4)", R"("rope_scaling": null)", R"("rotary_pct": 0.5)",
                            R"("position_embedding_type": "rope")", R"("qk_rope_head_dim": 64)"}) {
        CAPTURE(key);
        CHECK(error_of("somebody_s", sizes + ", " + key).empty());
    }
    CHECK(error_of("llama", sizes).empty());
    CHECK(error_of("gpt2 gpt_bigcode", sizes).find("no key shows") !=
          std::string::npos);  // two names: not a model type, although it occurs in the list
}

// hidden_size / num_attention_heads was once used.
TEST_CASE("models/config/family: sizes that only the model's code states") {
    CHECK(read("gemma2", R"("hidden_size": 2304, "num_attention_heads": 8)").head_dim == 256);
    CHECK(read("qwen3", R"("hidden_size": 1024, "num_attention_heads": 16)").head_dim == 128);
    CHECK(read("qwen3", R"("hidden_size": 1024, "num_attention_heads": 16, "head_dim": 64)").head_dim == 64);
    CHECK(read("gptj", R"("n_embd": 4096, "n_head": 16)").rotary_dim == 64);
    CHECK(read("gptj", R"("n_embd": 4096, "n_head": 16, "rotary_dim": 32)").rotary_dim == 32);
    CHECK(read("gemma3_text", "", "sliding_attention") == rope_config{256, 256, 1e4, 1024});
    CHECK(read("gemma3_text", R"("rope_scaling": {"rope_type": "linear", "factor": 8.0})", "full_attention") ==
          rope_config{256, 256, 1e6, 1024});
}

// The rules of transformers 5.24's classes; tests/hosts/test_configs.py compares each.
TEST_CASE("models/config/family: towers and models with other rotations are rejected, naming the reader to use") {
    CHECK(error_of("qwen2_vl_vision", R"("rope_theta": 1e4, "head_dim": 64)", true) ==
          "config: model_type 'qwen2_vl_vision' is a tower with positions on a grid: use hf::read_tower");
    CHECK(error_of("vjepa2", sizes + R"(, "rope_theta": 1e4)") ==
          "config: model_type 'vjepa2' rotates the two lanes of a pair by different angles, which is not supported");
    CHECK(error_of("clvp_encoder", sizes + R"(, "use_rotary_embedding": true)").find("rotates its values too") !=
          std::string::npos);
    CHECK(error_of("musicflamingo", R"("head_dim": 1280, "rope_parameters": {"rope_theta": 1200.0})")
              .find("use hf::read_tower") != std::string::npos);
    CHECK(error_of("musicflamingo", R"("text_config": {"model_type": "qwen2", "head_dim": 64})").empty());
    CHECK(error_of("blt", R"("decoder_config": {"model_type": "blt_local_decoder", "head_dim": 64})")
              .find("rotates by the rules of its parts") != std::string::npos);
    const std::string patches = sizes + R"(, "patch_size": 14, "rope_theta": 100.0)";
    CHECK(error_of("somebody_s_vit", patches) ==
          "config: model_type 'somebody_s_vit' must be a known model type: patch_size suggests a tower with "
          "positions on a grid");
    CHECK(error_of("somebody_s", patches + R"(, "vocab_size": 100)").empty());
    CHECK(error_of("dinov3_vit", sizes + R"(, "rope_theta": 100.0)").find("a grid") != std::string::npos);
}

TEST_CASE("models/config/family: a model that names no longest input is read where its rule needs none") {
    const auto read_bare = [](const std::string& fields) {
        return hf::read_config(R"({"model_type": "recurrent_gemma", "head_dim": 256)" + fields + "}");
    };
    const auto model = read_bare("");
    CHECK(model.max_length == 0.0);
    CHECK(model.of("").config == rope_config{256, 128, 1e4, 0x1p53});
    CHECK(ratio_at(continuous{}, model.of("").config, 1e9) == 1.0);
    CHECK(hf::describe(model).find("model type recurrent_gemma, of any length\n") != std::string::npos);
    CHECK(read_bare(R"(, "model_max_length": 4096)").max_length == 4096.0);
    const auto yarn = R"(, "rope_scaling": {"type": "yarn", "factor": 2.0, "original_max_position_embeddings": 64})";
    CHECK(read_bare(yarn).of("").config.original_length == 64.0);
    for (const char* scaling : {R"({"type": "dynamic", "factor": 2.0})", R"({"type": "yarn", "factor": 2.0})",
                                R"({"type": "yarn", "original_max_position_embeddings": 64})", R"({"type": "clex"})"}) {
        CAPTURE(scaling);
        CHECK_THROWS_WITH_AS(read_bare(std::string(R"(, "rope_scaling": )") + scaling),
                             doctest::Contains("max_position_embeddings must be given for rope type"), value_error);
    }
}

TEST_CASE("models/config/family: sizes of heads by names and rules of a family's own") {
    CHECK(read("glm4_moe", R"("hidden_size": 4096, "num_attention_heads": 96)").head_dim == 42);  // rounded down
    CHECK(read("moonshine", R"("hidden_size": 288, "decoder_num_attention_heads": 8)") ==
          rope_config{36, 32, 1e4, 1024});
    CHECK(error_of("moonshine", sizes) ==
          "config: head_dim, or hidden_size and decoder_num_attention_heads, must be given");
    const std::string conformer = R"("hidden_size": 1024, "speech_encoder_attention_heads": 16, )";
    CHECK(read("seamless_m4t", conformer + R"("position_embeddings_type": "rotary", "rotary_embedding_base": 500)") ==
          rope_config{64, 64, 500.0, 1024});
    CHECK(error_of("wav2vec2-conformer", sizes).find("only if position_embeddings_type is given") != std::string::npos);
    CHECK(read("wav2vec2-conformer", sizes + R"(, "position_embeddings_type": "rotary", "rotary_embedding_base": 500)")
              .theta_base == 500.0);
    // Zamba 2's kv_channels, half as wide, were once used without attention_head_dim.
    CHECK(read("zamba2", R"("use_mem_rope": true, "hidden_size": 2560, "num_attention_heads": 32, "kv_channels": 80)")
              .head_dim == 160);
    CHECK(read("deepseek_ocr2_text", sizes) == rope_config{64, 64, 1e4, 1024});
    CHECK(error_of("deepseek_ocr2_text", sizes + R"(, "head_dim": 128)") ==
          "config: head_dim 128 must be left out or hidden_size / num_attention_heads = 64");
    // MiniMax M3's code does not read rotary_dim.
    CHECK(read("minimax_m3_vl_text", R"("rotary_dim": 64)").rotary_dim == 128);
    CHECK(read("minimax_m3_vl_text", R"("rotary_dim": 64, "rope_parameters": {"partial_rotary_factor": 0.5})")
              .rotary_dim == 64);
    CHECK(error_of("minimax_m3_vl_text", R"("rotary_dim": 64, "rope_parameters": {"partial_rotary_factor": 0.25})")
              .find("rotary_dim 64 must be partial_rotary_factor 0.25 of head_dim 128") != std::string::npos);
}

TEST_CASE("models/config/family: a share that the family's code does not read is doubtful") {
    const std::string share = R"("head_dim": 64, "rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5)";
    CHECK(error_of("llama", share + "}") ==
          "rope_parameters: partial_rotary_factor must be left out: the code of this model_type does not read it");
    CHECK(error_of("llama", share + R"(, "rope_type": "linear", "factor": 2.0})").empty());
    CHECK(error_of("phi3", share + "}").empty());
    CHECK(error_of("persimmon", R"("head_dim": 64, "rope_parameters": {"partial_rotary_factor": 0.25})").empty());
    CHECK(error_of("somebody_s", share + "}").empty());
}

TEST_CASE(
    "models/config/family: a key that the family's code does not read is doubtful if it would change the rotation") {
    const std::string unread = ": the code of this model_type does not read it", head = R"("head_dim": 64, )";
    CHECK(error_of("llama", head + R"("rotary_dim": 32)") == "config: rotary_dim 32 must be left out or 64" + unread);
    CHECK(error_of("llama", head + R"("rotary_dim": 64)").empty());
    CHECK(error_of("phi", head + R"("rotary_dim": 32)").empty());  // half of the head, as its share says
    CHECK(
        hf::read_config(config_of("llama", head + R"("rotary_dim": 32)"), {.lenient = true}).of("").config.rotary_dim ==
        64);
    CHECK(read("minimax_m2", R"("rotary_dim": 64)").rotary_dim == 64);
    CHECK(error_of("gptj", R"("n_embd": 4096, "n_head": 16, "rotary_dim": null)") ==
          "config: rotary_dim null must be a number");
    CHECK(error_of("llama", head + R"("qk_rope_head_dim": 32)") ==
          "config: qk_rope_head_dim must be left out" + unread);
    CHECK(read("deepseek_v4", R"("head_dim": 512, "qk_rope_head_dim": 64)", "main").rotary_dim == 64);
    CHECK(error_of("llama", head + R"("rope_interleave": true)") ==
          "config: rope_interleave true must be false or left out" + unread);
    CHECK(hf::read_config(config_of("llama", head + R"("rope_interleave": true)"), {.lenient = true}).of("").layout ==
          hf::pair_layout::half_split);
    CHECK(error_of("glm", head + R"("rope_interleaved": false)") ==
          "config: rope_interleaved false must be true or left out" + unread);
    CHECK(error_of("nomic_bert", head + R"("rotary_emb_interleaved": false)").empty());
    CHECK(hf::read_config(config_of("deepseek_v3", R"("qk_rope_head_dim": 64, "rope_interleave": false)"))
              .of("")
              .layout == hf::pair_layout::half_split);
    const std::string alpha = R"("rope_scaling": {"type": "dynamic", "factor": 2.0, "alpha": 1000.0})";
    CHECK(error_of("llama", head + alpha) ==
          "rope_scaling: key 'alpha' must be left out: rope type 'dynamic' ignores it");
    CHECK(error_of("hunyuan_v1_dense", head + alpha).empty());
    CHECK(error_of("somebody_s", head + alpha).empty());
}

TEST_CASE("models/config/family: names of the base and the share that the family's code does not read are doubtful") {
    const std::string unread = ": the code of this model_type does not read it", head = R"("head_dim": 64, )";
    CHECK(error_of("gpt_neox", head + R"("rope_theta": 5e5)") ==
          "config: rope_theta must be named rotary_emb_base" + unread);
    CHECK(error_of("gpt_neox", head + R"("rope_theta": 5e5, "rotary_emb_base": 5e5)").empty());
    CHECK(error_of("gpt_neox", head + R"("rope_theta": 5e5, "rope_parameters": {"rope_theta": 5e5})").empty());
    CHECK(error_of("gpt_neox_japanese", head + R"("partial_rotary_factor": 0.5)") ==
          "config: partial_rotary_factor must be named rotary_pct" + unread);
    CHECK(error_of("gpt_neox", head + R"("partial_rotary_factor": 0.5, "rotary_pct": 0.5)").empty());
    CHECK(error_of("modernbert", head + R"("rope_theta": 5e5)") ==
          "config: rope_theta must be named global_rope_theta" + unread);
}

TEST_CASE("models/config/family: a rope dictionary that the family's code does not read is doubtful") {
    const std::string unread = ": the code of this model_type does not read it", head = R"("head_dim": 64, )";
    const std::string linear = R"({"rope_type": "linear", "factor": 4.0, "rope_theta": 3e4})";
    const std::string esm = sizes + R"(, "position_embedding_type": "rotary", "rope_scaling": )" + linear;
    CHECK(error_of("esm", esm) == "config: rope_scaling must be left out" + unread);
    const auto read_all_the_same = hf::read_config(config_of("esm", esm), {.lenient = true});
    CHECK(read_all_the_same.of("").rope_type == "default");
    CHECK(read_all_the_same.of("").config.theta_base == 1e4);
    const auto callers = hf::read_config(config_of("esm", esm), {.dictionary_is_callers = true});
    CHECK(callers.of("").rope_type == "linear");
    CHECK(callers.of("").config.theta_base == 3e4);
    const std::string parameters = head + R"("rope_parameters": )" + linear;
    const std::string scaling = head + R"("rope_scaling": )" + linear;
    for (const char* type : {"gemma3_text", "olmo3", "modernbert"}) {
        CAPTURE(type);
        CHECK(error_of(type, parameters) ==
              "rope_parameters: a dictionary for each layer type must be given instead of one for all" + unread);
        // Olmo 3 takes this base for one layer type, and its default for the other.
        CHECK(error_of(type, scaling) ==
              (type == std::string("olmo3")
                   ? "rope_scaling: rope_theta must be left out and given at the top level" + unread
                   : ""));
    }
    // ModernBERT's flat dictionary is for both layer types, with its base.
    CHECK(read("modernbert", scaling, "sliding_attention").theta_base == 3e4);
    CHECK(read("gemma3_text", scaling, "sliding_attention").theta_base == 1e4);
}

TEST_CASE("models/config/family: the rotated part of a head, if it is a separate part") {
    const std::string parts = R"("qk_rope_head_dim": 64, "qk_nope_head_dim": 128)";
    CHECK(read("deepseek_v3", parts) == rope_config{64, 64, 1e4, 1024});
    CHECK(error_of("deepseek_v3", parts + R"(, "head_dim": 64)").empty());
    CHECK(error_of("deepseek_v3", parts + R"(, "partial_rotary_factor": 1.0)").empty());  // of the rotated part
    CHECK(error_of("deepseek_v3", parts + R"(, "head_dim": 192)").find("for rope type 'default'") !=
          std::string::npos);  // its code rotates head_dim lanes
    CHECK(error_of("deepseek_v3", parts + R"(, "head_dim": 128)") ==
          "config: head_dim 128 must be qk_rope_head_dim 64, or that plus qk_nope_head_dim");
    CHECK(error_of("deepseek_v3", R"("head_dim": 64)").find("qk_rope_head_dim must be given") != std::string::npos);
    CHECK(read("bailing_hybrid", parts + R"(, "head_dim": 64)").theta_base == 6e6);
    const std::string mistral = R"("head_dim": 192, "rope_parameters": {"rope_type": "yarn", "factor": 2.0,
        "rope_theta": 1e4, "original_max_position_embeddings": 512, "partial_rotary_factor": )";
    CHECK(error_of("mistral4", parts + ", " + mistral + "0.3334}").empty());
    CHECK(error_of("mistral4", parts + ", " + mistral + "1.0}") ==
          "config: partial_rotary_factor 1 must give qk_rope_head_dim 64 lanes");
    CHECK(error_of("deepseek_v3", parts + R"(, "rope_parameters": {"rope_type": "proportional"})") ==
          "rope_parameters: qk_rope_head_dim must be left out for rope type 'proportional', which rotates pairs of "
          "the whole head");
}

TEST_CASE("models/config/family: axes that only the model's code states") {
    const auto axes = [](const std::string& model_type, const std::string& fields) {
        return hf::read_config(config_of(model_type, fields)).of("").axis_of_pair;
    };
    const std::string head = R"("head_dim": 128)";
    CHECK(axes("qwen2_vl_text", head) == contiguous_axes({16, 24, 24}));
    CHECK(axes("qwen3_vl_text", head) == interleaved_axes({24, 20, 20}));
    CHECK(axes("qwen3_5_text", "") == interleaved_axes({11, 11, 10}));
    CHECK(axes("qwen2", head).empty());
    // Time gets the remaining pairs if the sections are those of the code.
    CHECK(axes("qwen4_exp_text", "") == interleaved_axes({107, 11, 10}));
    CHECK(axes("qwen3_omni_moe_talker_text", R"("head_dim": 64)") == interleaved_axes({11, 11, 10}));
    const auto neomme =
        hf::read_config(config_of("neomme", R"("head_dim": 64, "rope_parameters": {"rope_theta": 1e4})"));
    CHECK(neomme.of("full_attention").config.rotary_dim == 16);  // a quarter
    CHECK(neomme.of("full_attention").axis_of_pair == interleaved_axes({4, 4}));
    CHECK(neomme.of("sliding_attention").axis_of_pair == interleaved_axes({16, 16}));
    const auto ernie = axes("ernie4_5_vl_moe_text", head);
    REQUIRE(ernie.size() == 64);
    for (std::size_t i = 0; i < 64; ++i) CHECK(ernie[i] == (i >= 44 ? 0 : i % 2 == 0 ? 1 : 2));
    const auto with = [&](const std::string& model_type, const std::string& keys) {
        return error_of(model_type, head + R"(, "rope_parameters": {)" + keys + "}");
    };
    CHECK(with("ernie4_5_vl_moe_text", R"("mrope_section": [20, 24, 20])") ==
          "rope_parameters: mrope_section must have 3 entries, the first two equal");
    CHECK(with("qwen3_vl_text", R"("mrope_interleaved": false)") ==
          "rope_parameters: mrope_interleaved false must be true or left out: the code of this model_type does not "
          "read it");
    CHECK(with("qwen2_5_vl_text", R"("mrope_interleaved": true)").find("true must be false") != std::string::npos);
    CHECK(with("glm4v_text", "") == "rope_parameters: mrope_section sums to 32, must sum to rotary_dim/2 = 64");
    CHECK(with("hunyuan_vl_text", R"("mrope_section": [16, 16, 16, 16])") ==
          "rope_parameters: mrope_section must be left out: the two lanes of a pair would be rotated by different "
          "axes");
    CHECK(with("hunyuan_vl_text", "").empty());
}

// All layers were once read as rotated.
TEST_CASE("models/config/family: layers that see everything rest in Exaone 4 and its kin, unless there is no window") {
    const auto rules = [](const std::string& model_type, const std::string& fields) {
        return hf::read_config(config_of(model_type, sizes + fields)).ropes;
    };
    for (const char* type : {"exaone4", "exaone_moe", "kolibri1", "afmoe", "flint", "cohere2_moe"}) {
        CAPTURE(type);
        const auto both = rules(type, R"(, "sliding_window": 4096)");
        REQUIRE(both.size() == 2);
        CHECK(both[0].layer_type == "sliding_attention");
        CHECK(both[0].rope_type == "default");
        CHECK(both[1].rope_type == "none");
    }
    CHECK(rules("exaone4", R"(, "sliding_window": null)").size() == 1);
    CHECK(rules("exaone4", "").size() == 2);
    CHECK(rules("flint", R"(, "sliding_window": null)").size() == 2);
    // Dense layers of Cohere 2 MoE are rotated despite full attention.
    for (const char* dense : {R"(, "first_k_dense_replace": 1)", R"(, "mlp_layer_types": ["dense", "sparse"])"}) {
        CHECK(error_of("cohere2_moe", sizes + dense).find("prefix_dense_sliding_window_pattern must not be 1") !=
              std::string::npos);
        CHECK(error_of("cohere2_moe", sizes + dense + R"(, "prefix_dense_sliding_window_pattern": 4)").empty());
        CHECK(error_of("deepseek_v3", R"("qk_rope_head_dim": 64)" + std::string(dense)).empty());
    }
}

// It was once read as rotated like all others.
TEST_CASE("models/config/family: NanoChat rotates by the negative angle") {
    const auto model = hf::read_config(config_of("nanochat", sizes));
    CHECK(model.of("").is_inverse);
    CHECK(hf::describe(model).find("by the negative angle (rotate_inverse)") != std::string::npos);
    CHECK_FALSE(hf::read_config(config_of("llama", sizes)).of("").is_inverse);
}

TEST_CASE("models/config/family: of an encoder and a decoder the decoder is read") {
    CHECK(read("t5gemma", R"("encoder": {"model_type": "t5_gemma_module", "head_dim": 32},
                             "decoder": {"model_type": "t5_gemma_module", "head_dim": 64, "rope_theta": 500.0})") ==
          rope_config{64, 64, 500.0, 0x1p53});
    CHECK(read("dia", R"("decoder_config": {"model_type": "dia_decoder"})").head_dim == 128);
    CHECK(read("colpali", R"("vlm_config": {"text_config": {"model_type": "gemma"}})").head_dim == 256);
}

TEST_CASE("models/config/family: telechat3-yarn is YaRN") {
    CHECK(hf::read_config(config_of("telechat3", sizes + R"(, "rope_scaling": {"type": "telechat3-yarn", "factor": 4.0,
        "original_max_position_embeddings": 256, "beta_fast": 32, "beta_slow": 1})"))
              .of("")
              .rope_type == "yarn");
}

TEST_CASE("models/config/family: a model whose code has its own scaling defaults needs its dictionary") {
    CHECK(error_of("gpt_oss", sizes) ==
          "config: rope_parameters must be given for model_type 'gpt_oss': its code has its own defaults for rope "
          "type 'yarn'");
    CHECK(error_of("gpt_oss", sizes + R"(, "rope_parameters": {"rope_theta": 150000.0})").empty());
    CHECK(error_of("gpt_oss", sizes + R"(, "rope_parameters": {"rope_type": "default"})") ==
          "rope_parameters: rope_theta must be given: the code of this model_type has another default");
    CHECK(error_of("laguna", "").find("for rope type 'default, by layer type'") != std::string::npos);
}

TEST_CASE("models/config/family: every model type is there once, and in one of the tables") {
    using namespace hf::config_detail;
    std::vector<std::string> seen;
    const auto check_names = [&](std::string_view names) {
        CHECK(names.starts_with(' '));
        CHECK(names.ends_with(' '));
        for (const std::string& name : json_detail::words(std::string(names))) {
            CAPTURE(name);
            CHECK(std::ranges::find(seen, name) == seen.end());
            seen.push_back(name);
        }
    };
    for (const family& each : families) check_names(each.model_types);
    for (const other_positions& group : unrotated) check_names(group.model_types);
    for (const other_positions& group : rotated_otherwise) check_names(group.model_types);
    for (const tower_family& each : tower_families) check_names(each.model_types);
    CHECK(seen.size() > 300);
}

TEST_CASE("models/config/family: an Olmo hybrid whose rope_theta is null is not rotated") {
    CHECK(error_of("olmo_hybrid", sizes + R"(, "rope_parameters": {"rope_theta": null})") ==
          "config: model_type 'olmo_hybrid' has no rotary embedding if rope_theta of rope_parameters is null" +
              only_rotating);
    CHECK(read("olmo_hybrid", sizes + R"(, "rope_parameters": {"rope_theta": 5e5})").theta_base == 5e5);
}

// All layers were once rotated.
TEST_CASE("models/config/family: every fourth layer of Muse is not rotated, unless layer_rope_theta says otherwise") {
    for (const char* type : {"muse_spark", "muse_glimmer"}) {
        const auto model = hf::read_config(config_of(type, sizes + R"(, "num_hidden_layers": 8)"));
        CHECK(model.of("rope").rope_type == "default");
        CHECK(model.of("no_rope").rope_type == "none");
        const auto every = hf::read_config(config_of(type, sizes + R"(, "layer_rope_theta": [5e5, 5e5])"));
        CHECK(every.ropes.size() == 1);
    }
}

TEST_CASE("models/config/family: head_dim null is hidden_size / num_attention_heads, whatever the default is") {
    for (const char* type : {"ernie4_5", "seed_oss", "qwen3"}) {
        CHECK(read(type, sizes).head_dim == 128);
        CHECK(read(type, sizes + R"(, "head_dim": null)").head_dim == 64);
    }
    for (const char* type : {"internlm3", "iquestcoder"}) CHECK(read(type, sizes).head_dim == 128);
    for (const char* type : {"pocket_tts", "gradium_phonon_tts"}) {
        CHECK(read(type, R"("hidden_size": 512, "num_attention_heads": 4)").head_dim == 128);
    }
    const std::string two = R"("hidden_size": 512, "num_attention_heads": 4, "rope_parameters": {"full_attention":
        {"rope_type": "default", "rope_theta": 1e4}, "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}})";
    CHECK(read("ultrabert", two, "full_attention").head_dim == 128);
    CHECK(read("neomme", two, "sliding_attention").head_dim == 64);
}

TEST_CASE("models/config/family: NeoMME's rope_theta is for all layer types") {
    const std::string dictionaries = sizes + R"(, "rope_parameters": {"full_attention": {"rope_type": "default"},
        "sliding_attention": {"rope_type": "default"}})";
    for (const char* layer : {"full_attention", "sliding_attention"}) {
        CHECK(read("neomme", dictionaries + R"(, "rope_theta": 123456)", layer).theta_base == 123456.0);
    }
    CHECK(read("neomme", dictionaries, "full_attention").theta_base == 1e6);
    CHECK(read("neomme", dictionaries, "sliding_attention").theta_base == 1e4);
}

TEST_CASE("models/config/family: proportional rotary without a share has the family's") {
    const auto pairs = [](const std::string& type, const std::string& share) {
        const auto rope = hf::read_config(config_of(type, sizes + R"(, "rope_parameters": {"rope_type": "proportional",
            "rope_theta": 1e4)" + share + "}"))
                              .of("");
        const basis b = make_basis(rope.config, rope.policy, 1.0);
        return std::ranges::count_if(b.inv_freq(), [](double theta) { return theta > 0.0; });
    };
    CHECK(pairs("gpt_neox", "") == 8);  // a quarter of 32
    CHECK(pairs("gpt_neox", R"(, "partial_rotary_factor": 0.5)") == 16);
    CHECK(pairs("llama", "") == 32);
}
