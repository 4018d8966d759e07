// SPDX-License-Identifier: MIT
// Configs as they are released: older names of keys, what is left over from other models, keys of other engines. Facts
// about files of models and their code, written down anew; only the keys that concern the rotation.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cordage/basis/rope_scaling.hpp"
#include "cordage/models/config/read.hpp"
#include "message_of_error.hpp"

using namespace cordage;

namespace {

const std::string heads = R"("hidden_size": 4096, "num_attention_heads": 32, "max_position_embeddings": 32768, )";

hf::model_ropes read(const std::string& fields, bool lenient = false) {
    return hf::read_config("{" + heads + fields + "}", {.lenient = lenient});
}
std::string error_of(const std::string& fields) {
    return cordage_test::message_of_error([&] { read(fields); });
}
bool starts(const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; }

basis at(const hf::layer_rope& rope, double length) {
    return cordage::rope_scaling(rope.config, rope.policy, rope.schedule).at_length(length);
}

const std::string laguna_full = R"("full_attention": {"rope_theta": 500000.0, "rope_type": "yarn", "factor": 64.0,
    "original_max_position_embeddings": 4096, "partial_rotary_factor": 0.5})",
                  laguna_sliding = R"("sliding_attention": {"rope_type": "default", "rope_theta": 10000.0})";

}  // namespace

// One wrong rule was read with `lenient`, and otherwise an error said that rope_theta must be given.
TEST_CASE("models/config/released: Laguna's length beside the dictionaries of its layer types") {
    const std::string type = R"("model_type": "laguna", )";
    const auto model = read(type + R"("rope_parameters": {)" + laguna_full + ", " + laguna_sliding +
                            R"(, "original_max_position_embeddings": 4096})");
    CHECK(model.of("full_attention").rope_type == "yarn");
    CHECK(model.of("sliding_attention").rope_type == "default");
    CHECK(model.of("sliding_attention").config.theta_base == 10000.0);
    // A dictionary that lacks it would have another value in transformers than in engines that use it for all.
    CHECK(starts(error_of(type + R"("rope_parameters": {"full_attention": {"rope_theta": 5e5, "rope_type": "yarn",
        "factor": 64.0}, )" +
                          laguna_sliding + R"(, "original_max_position_embeddings": 4096})"),
                 "rope_parameters.full_attention: original_max_position_embeddings must be given here, not beside"));
    CHECK(starts(error_of(type + R"("rope_parameters": {)" + laguna_full + R"(, "factor": 2.0})"),
                 "rope_parameters.full_attention: factor must be that beside the dictionaries of the layer types"));
    CHECK(starts(error_of(type + R"("num_hidden_layers": 2, "layer_types": ["full_attention", "sliding_attention"],
        "rope_parameters": {)" +
                          laguna_full + "}"),
                 "rope_parameters: layer type 'sliding_attention' must have a dictionary"));
}

// The sliding layers were scaled too, off by a factor of 1.91.
TEST_CASE("models/config/released: Step scales its layers with full attention only") {
    const auto model = read(R"("model_type": "step3p5", "head_dim": 128, "num_hidden_layers": 2,
        "layer_types": ["full_attention", "sliding_attention", "full_attention"], "yarn_only_types": ["full_attention"],
        "rope_theta": [5000000.0, 10000.0, 5000000.0], "partial_rotary_factors": [0.5, 1.0, 0.5],
        "rope_scaling": {"rope_type": "llama3", "factor": 2.0, "original_max_position_embeddings": 131072,
                         "low_freq_factor": 1.0, "high_freq_factor": 32.0})");
    CHECK(model.at(0).rope_type == "llama3");
    CHECK(model.at(0).config.rotary_dim == 64);
    CHECK(model.at(1).rope_type == "default");
    CHECK(at(model.at(1), 1).inv_freq().back() == doctest::Approx(std::pow(1e4, -126.0 / 128.0)).epsilon(1e-14));
    CHECK(starts(error_of(R"("model_type": "step3p5", "rope_theta": [1e4, 1e4], "num_hidden_layers": 2,
        "yarn_only_types": ["sliding_attention"], "layer_types": ["full_attention", "sliding_attention"],
        "rope_scaling": {"rope_type": "linear", "factor": 2.0})"),
                 "config: yarn_only_types must be left out or [\"full_attention\"]"));
}

TEST_CASE("models/config/released: the type ntk of gte's models divides all frequencies") {
    const auto gte = read(R"("model_type": "new", "head_dim": 64, "rope_theta": 160000,
                             "rope_scaling": {"type": "ntk", "factor": 2.0})");
    const basis b = at(gte.of(""), 1);
    for (const std::size_t i : {std::size_t{0}, std::size_t{7}, std::size_t{31}}) {
        const double pair = static_cast<double>(i);
        CHECK(b.inv_freq()[i] ==
              doctest::Approx(std::pow(160000.0, -pair / 32.0) * std::pow(2.0, -(pair + 1.0) / 32.0)).epsilon(1e-14));
    }
    CHECK(gte.of("").layout == hf::pair_layout::half_split);
    // Other models have the formula of CLEX's baselines; the description names both.
    const auto llama = read(R"("model_type": "llama", "head_dim": 64, "rope_theta": 160000,
                               "rope_scaling": {"type": "ntk", "factor": 2.0})");
    CHECK(at(llama.of(""), 1).inv_freq()[7] ==
          doctest::Approx(std::pow(160000.0, -7.0 / 32.0) * std::pow(2.0, -7.0 / 31.0)).epsilon(1e-14));
    CHECK(hf::describe(llama).find("gte's authors and vLLM give this name to t^(-2(i+1)/d)") != std::string::npos);
}

TEST_CASE("models/config/released: values of position_embedding_type that are left over, or name the pairs") {
    const auto command_r = read(R"("model_type": "cohere2", "position_embedding_type": "rope_gptj")");
    CHECK(command_r.of("sliding_attention").layout == hf::pair_layout::interleaved);
    CHECK(read(R"("model_type": "mine", "position_embedding_type": "rope_gptj")").of("").layout ==
          hf::pair_layout::interleaved);
    for (const char* left_over : {"absolute", "sans_pos"}) {
        CHECK(read(R"("model_type": "modernbert", "global_rope_theta": 160000.0, "local_rope_theta": 10000.0,
                      "position_embedding_type": ")" +
                   std::string(left_over) + "\"")
                  .of("full_attention")
                  .config.theta_base == 160000.0);
    }
    CHECK(starts(error_of(R"("model_type": "llama", "position_embedding_type": "rope_gptj")"),
                 "config: position_embedding_type 'rope_gptj' must be left out: the code of this model_type does not"));
    CHECK(starts(error_of(R"("model_type": "llama", "position_embedding_type": "alibi")"),
                 "config: position_embedding_type 'alibi' must be left out"));
    CHECK(error_of(R"("model_type": "mine", "position_embedding_type": "learned")") ==
          "config: position_embedding_type 'learned' must be 'rope' or 'rotary', or 'rope_gptj'; only models that "
          "rotate q and k can be read");
}

TEST_CASE("models/config/released: sizes of 0 are those of latent attention that is not used") {
    const auto ocr = hf::read_config(R"({"language_config": {"model_type": "deepseek_v2", "hidden_size": 1280,
        "num_attention_heads": 10, "qk_nope_head_dim": 0, "qk_rope_head_dim": 0, "v_head_dim": 0, "use_mla": false,
        "max_position_embeddings": 4096}})");
    CHECK(ocr.of("").config == rope_config{128, 128, 1e4, 4096});
    CHECK(ocr.of("").layout == hf::pair_layout::half_split);
    const std::string v2 = R"("model_type": "deepseek_v2", "qk_nope_head_dim": 128, )";
    CHECK(starts(error_of(v2 + R"("qk_rope_head_dim": 0)"),
                 "config: qk_rope_head_dim 0 means that no lanes are rotated"));
    CHECK(
        starts(error_of(v2 + R"("qk_rope_head_dim": 64, "use_mla": false)"), "config: use_mla false must be true, or"));
    CHECK(read(R"("model_type": "llama", "head_dim": 0)").of("").config.head_dim == 128);
}

TEST_CASE("models/config/released: MiMo's bases and share at the top level") {
    const auto mimo = read(R"("model_type": "mimo_v2_flash", "head_dim": 192, "partial_rotary_factor": 0.334,
        "rope_theta": 5000000, "swa_rope_theta": 10000, "num_hidden_layers": 3, "hybrid_layer_pattern": [0, 1, 1])");
    CHECK(mimo.at(0).config == rope_config{192, 64, 5e6, 32768});
    CHECK(mimo.at(2).config == rope_config{192, 64, 1e4, 32768});
}

TEST_CASE("models/config/released: keys of other engines, each with what the engines do") {
    const std::string yarn =
        R"("model_type": "qwen3", "head_dim": 128, "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
           "original_max_position_embeddings": 8192, )";
    CHECK(at(read(yarn + R"("apply_yarn_scaling": false})").of(""), 1).attention_factor() == 1.0);
    const std::string both = error_of(yarn + R"("attn_factor": 0.5})");
    CHECK(starts(both, "rope_scaling: attn_factor 0.5 must be 1 or left out"));
    CHECK(both.find("attention_factor: 1.13862943") != both.npos);  // 0.1 ln 4 + 1, in transformers
    CHECK(both.find(", or 0.56931471") != both.npos);
    CHECK(starts(error_of(R"("model_type": "mine", "rope_theta": 1e4, "yarn": {"factor": 16, "beta": 32})"),
                 "config: yarn must be left out: a part of Mistral's params.json"));
    CHECK(starts(error_of(R"("model_type": "qwen2", "dual_chunk_attention_config": {"chunk_size": 262144})"),
                 "config: dual_chunk_attention_config must be left out"));
    CHECK(starts(error_of(R"("model_type": "mine", "rope_theta": 1e4, "use_scaled_rope": true)"),
                 "config: use_scaled_rope true must be false"));
    CHECK(error_of(R"("model_type": "mine", "rope_theta": 1e4, "use_scaled_rope": false)").empty());
    // It has no effect in type 'dynamic', but it must not contradict the length that is used.
    const std::string dynamic =
        R"("rope_scaling": {"rope_type": "dynamic", "factor": 2.0, "original_max_position_embeddings": )";
    CHECK(error_of(dynamic + "32768}, \"model_type\": \"llama\"").empty());
    CHECK(starts(error_of(dynamic + "8192}, \"model_type\": \"llama\""),
                 "rope_scaling: key 'original_max_position_embeddings' must be left out"));
}

TEST_CASE("models/config/released: query temperatures of Llama 4 and, by vLLM's key, of Ministral 3") {
    const auto llama4 = read(R"("model_type": "llama4_text", "head_dim": 128, "attn_temperature_tuning": true,
                                "floor_scale": 4096, "attn_scale": 0.2, "num_hidden_layers": 4)");
    CHECK(!llama4.at(0).temperature.has_value());
    REQUIRE(llama4.at(3).temperature.has_value());
    CHECK(llama4.at(3).temperature->at(4095) == doctest::Approx(1.0 + 0.2 * std::log(2.0)));
    CHECK(hf::describe(llama4).find("query temperature: 1 + 0.2 ln(1 + floor((position + 1) / 4096))") !=
          std::string::npos);
    CHECK(!read(R"("model_type": "llama4_text", "attn_temperature_tuning": false)").of("no_rope").temperature);
    const auto ministral = read(R"("model_type": "ministral3", "rope_parameters": {"rope_type": "yarn", "factor": 2.0,
        "rope_theta": 1e6, "original_max_position_embeddings": 16384},
        "llama_4_scaling": {"beta": 0.1, "original_max_position_embeddings": 16384})");
    REQUIRE(ministral.of("").temperature.has_value());
    CHECK(ministral.of("").temperature->at(16384) == doctest::Approx(1.0 + 0.1 * std::log(2.0)));
}

TEST_CASE("models/config/released: what only the code of an unknown model tells is an error, and never one rule") {
    const std::string mine = R"("model_type": "mine", "rope_theta": 1e4, )";
    const std::string types = R"("layer_types": ["full_attention", "sliding_attention"])";
    CHECK(starts(
        error_of(mine + types),
        "config: layer types 'full_attention' and 'sliding_attention': which of its layers are rotated, and how, is in "
        "the code of this model_type"));
    const auto lenient = read(mine + types, true);
    CHECK(lenient.warnings.size() == 1);
    CHECK(lenient.ropes.size() == 2);
    // The types of the layers are not known either: lenient too would have one rule for all of them.
    for (const char* key : {"sliding_window_pattern", "full_attention_interval", "window_pattern", "layer_group_size",
                            "global_attention_interval"}) {
        const std::string pattern = mine + "\"" + key + "\": 6";
        const std::string why = cordage_test::message_of_error([&] { read(pattern, true); });
        CAPTURE(why);
        CHECK(starts(why, "config: " + std::string(key) +
                              ": which of its layers are rotated, and how, is in the code of this model_type, which is "
                              "not known. Give layer_types, a list with the type of each layer, and rope_parameters"));
        CHECK(error_of(pattern) == why);
        CHECK(error_of(pattern + R"(, "layer_types": ["full_attention", "full_attention"])").empty());
    }
    CHECK(error_of(R"("model_type": "llama", "sliding_window_pattern": 6)").empty());  // its code does not read it
    CHECK(read(mine + R"("compress_ratios": [0, 4], "compress_rope_theta": 1.6e5)").ropes.size() == 2);
    CHECK(error_of(mine + types + R"(, "layer_rope_theta": [1e4, 2e4])").empty());
    CHECK(error_of(R"("model_type": "mine", "rope_parameters": {"full_attention": null,
                      "sliding_attention": {"rope_theta": 1e4}}, )" +
                   types)
              .empty());
    CHECK(starts(
        error_of(R"("model_type": "mine", "rope_parameters": {"rope_theta": 1e4, "mrope_section": [24, 20, 20]})"),
        "rope_parameters: mrope_interleaved must be given"));
    CHECK(starts(error_of(mine + R"("nope_layer_interval": 4)"),
                 "config: nope_layer_interval must be given as no_rope_layers"));
}

TEST_CASE("models/config/released: models that are not known to rotate, or rotate otherwise") {
    CHECK(starts(error_of(R"("model_type": "mine", "rope_theta": 1e4, "patch_size": 14)"),
                 "config: model_type 'mine' must be a known model type: patch_size suggests a tower"));
    CHECK(starts(error_of(R"("model_type": "vjepa2")"),
                 "config: model_type 'vjepa2' rotates the two lanes of a pair by different angles"));
    CHECK(
        error_of(R"("model_type": "mine")") ==
        "config: model_type 'mine' must be a known model type, or rope_theta or rope_parameters must be given: no key "
        "shows that q and k are rotated");
    CHECK(
        error_of(R"("model_type": "mine", "draft": {"hidden_size": 64, "rope_theta": 1e4})") ==
        "config: model_type 'mine' must be a known model type, or rope_theta or rope_parameters must be given: no key "
        "shows that q and k are rotated. The part 'draft' has one: give it as the config");
    CHECK(
        starts(error_of(R"("model_type": "xlm-roberta", "position_embedding_type": "rotary")"),
               "config: model_type 'xlm-roberta' has no rotary embedding but learned positions in transformers, though "
               "the config has one: give a model_type that rotates"));
    CHECK(error_of(R"("model_type": "mpt", "attn_config": {"rope": true, "rope_theta": 1e4})")
              .find("though the config has one") != std::string::npos);
    CHECK(starts(error_of(R"("model_type": "mine", "rope_theta": 1e4, "index_head_dim": 128)"),
                 "config: index_head_dim must be left out: how an indexer is rotated is in the code"));
    CHECK(starts(error_of(R"("model_type": "mine", "rotary_base": 1e4, "position_embedding_type": "long_rope")"),
                 "config: position_embedding_type 'long_rope' must be 'rope'"));
    CHECK(starts(error_of(R"("model_type": "mine", "rotary_base": 1e4, "seq_len_interpolation_factor": 4)"),
                 "config: seq_len_interpolation_factor must be left out: Megatron's linear scaling"));
}

TEST_CASE("models/config/released: names of keys in the files of ChatGLM, OLMo, Bamba, Ernie, MLX and TensorRT-LLM") {
    const auto glm = read(R"("model_type": "chatglm", "kv_channels": 128, "original_rope": true, "rope_ratio": 500)");
    CHECK(glm.ropes[0].config.theta_base == 5e6);
    CHECK(glm.ropes[0].config.rotary_dim == 64);
    const auto olmo = hf::read_config(R"({"model_type": "hf_olmo", "d_model": 4096, "n_heads": 32, "rope": true,
        "alibi": false, "rope_full_precision": true, "max_sequence_length": 2048})");
    CHECK(olmo.max_length == 2048.0);
    CHECK(olmo.ropes[0].config.rotary_dim == 128);
    CHECK(read(R"("model_type": "bamba", "rope_theta": 1e4, "attn_rotary_emb": 64)").ropes[0].config.rotary_dim == 64);
    CHECK(starts(error_of(R"("model_type": "bamba", "rope_theta": 1e4, "attn_rotary_emb": 32)"),
                 "config: rotary_dim 32 must be left out or 64"));
    CHECK(read(R"("model_type": "mine", "rope_theta": 1e4, "attn_rotary_emb": 32)").ropes[0].config.rotary_dim == 32);
    const auto ernie =
        read(R"("model_type": "ernie4_5_moe_vl", "rope_theta": 5e5, "rope_3d": true, "freq_allocation": 20,
        "rope_scaling": {"type": "default", "mrope_section": [22, 22, 20]})");
    CHECK(ernie.ropes[0].layout == hf::pair_layout::interleaved);
    CHECK(ernie.ropes[0].axis_of_pair.size() == 64);
    CHECK(read(R"("model_type": "llama", "rope_traditional": false)").ropes[0].layout == hf::pair_layout::half_split);
    CHECK(starts(error_of(R"("model_type": "llama", "rope_traditional": true)"),
                 "config: rope_traditional true must be false or left out"));
    CHECK(read(R"("model_type": "mine", "rope_theta": 1e4, "rope_traditional": true)").ropes[0].layout ==
          hf::pair_layout::interleaved);
    CHECK(read(R"("architecture": "mine", "rotary_base": 1e4, "position_embedding_type": "rope_gpt_neox")")
              .ropes[0]
              .layout == hf::pair_layout::half_split);
    const std::string glm_dsa = R"("model_type": "glm_moe_dsa", "qk_rope_head_dim": 64, "qk_nope_head_dim": 192,
        "rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}, "indexer_rope_interleave": )";
    CHECK(read(glm_dsa + "true").of("indexer").layout == hf::pair_layout::interleaved);
    CHECK(starts(error_of(glm_dsa + "false"), "config: indexer_rope_interleave must be true, or left out"));
}

// All of these were ignored.
TEST_CASE("models/config/released: flags that say no rotation, in a part of the config too") {
    for (const char* flag : {"\"use_rope\": false", "\"use_rotary_pos_emb\": false", "\"rotary\": false",
                             "\"rope\": false", "\"mla_use_nope\": true", "\"use_nope\": true", "\"use_alibi\": true",
                             "\"positional_embedding\": \"alibi\"", "\"attn_config\": {\"rope\": false}"}) {
        CAPTURE(flag);
        const std::string why = error_of(R"("model_type": "mine", "rope_theta": 1e4, )" + std::string(flag));
        CHECK(why.find("only models that rotate q and k can be read") != std::string::npos);
        CHECK(!error_of(R"("model_type": "llama", )" + std::string(flag)).empty());
    }
    CHECK(error_of(R"("model_type": "mine", "use_rope": true)").empty());
}

// Only keys that begin with rope_ or rotary_ were compared, at the top level.
TEST_CASE("models/config/released: a misspelled key of a rotation is an error at every depth") {
    const std::string llama = R"("model_type": "llama", "num_hidden_layers": 2, )";
    for (const char* key : {"partial_rotary_facter", "qk_rope_headdim", "no_rope_layer", "layer_rope_thetas",
                            "swa_rope_thetas", "rope_tetha"}) {
        CAPTURE(key);
        const std::string entry = "\"" + std::string(key) + "\": 0.5";
        CHECK(starts(error_of(llama + entry),
                     "config: key '" + std::string(key) + "' must be a known key; did you mean"));
        CHECK(starts(error_of(llama + R"("attn_config": {)" + entry + "}"), "attn_config: key '"));
        CHECK(starts(error_of(llama + R"("per_layer_config": {"1": {)" + entry + "}}"), "per_layer_config.1: key '"));
        CHECK(starts(error_of(llama + R"("attention_other_setting": {)" + entry + "}"),
                     "attention_other_setting: key '"));
    }
    CHECK(error_of(llama + R"("per_layer_config": {"1": {"rotary_pct": 0.5}})") ==
          "per_layer_config.1: key 'rotary_pct' must be left out: it is not read here, only at the top level");
    CHECK(error_of(llama + R"("qk_nope_head_dim": 64, "moe_ratio": 2, "rope_unused": null)").empty());
    CHECK(error_of(llama + R"("max_position_embedings": 4096)") ==
          "config: key 'max_position_embedings' must be a known key; did you mean 'max_position_embeddings'?");
    CHECK(error_of(R"("model_type": "ministral3", "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
                      "llama_4_scaling": {"beta": 0.1, "orignal_max_position_embeddings": 16384})") ==
          "llama_4_scaling: key 'orignal_max_position_embeddings' must be a known key; did you mean "
          "'original_max_position_embeddings'?");
}

// Objects that are not read were not looked into.
TEST_CASE("models/config/released: keys of a rotation in objects where they are not read, at every depth") {
    const std::string llama = R"("model_type": "llama", "rope_theta": 1e4, )";
    const std::string left_out = " must be left out: it is not read here, only at the top level";
    CHECK(error_of(llama + R"("attention": {"rope_theta": 1e6})") == "config.attention: key 'rope_theta'" + left_out);
    CHECK(error_of(llama + R"("attention": {"self": {"rope_scaling": {"type": "linear", "factor": 2}}})") ==
          "config.attention.self: key 'rope_scaling'" + left_out);
    CHECK(error_of(llama + R"("blocks": [1, {"n": 1}, {"rope_tetha": 1e6}])") ==
          "config.blocks[2]: key 'rope_tetha' must be a known key");
    CHECK(error_of(llama + R"("attention": {"use_rope": false})") == "config.attention: key 'use_rope'" + left_out);
    CHECK(error_of(llama + R"("attention": {"position_embedding_type": "alibi"})") ==
          "config.attention: key 'position_embedding_type'" + left_out);
    CHECK(error_of(llama + R"("attention": {"nope_layers": [3]})") == "config.attention: key 'nope_layers'" + left_out);
    CHECK(error_of(llama + R"("attention": {"yarn": {"factor": 4}})") == "config.attention: key 'yarn'" + left_out);
    CHECK(error_of(llama + R"("per_layer_config": {"1": {"use_rope": false}})") ==
          "per_layer_config.1: key 'use_rope'" + left_out);
    CHECK(error_of(llama + R"("per_layer_config": {"1": {"head_dims": 64}})") ==
          "per_layer_config.1: key 'head_dims' must be a known key; did you mean 'head_dim'?");
    // What says the same as the top level, says nothing, or belongs to another model.
    CHECK(error_of(llama + R"("attention": {"rope_theta": 1e4, "rope_scaling": null, "use_rope": true, "beta": 1})")
              .empty());
    CHECK(error_of(llama + R"("attention": {"rope_parameters": {}, "yarn": false})").empty());
    CHECK(error_of(llama + R"("draft": {"hidden_size": 64, "rope_theta": 1e6})").empty());
    CHECK(error_of(llama + R"("vision_config": {"rope_theta": 1e6})").empty());
    const auto lenient = read(llama + R"("attention": {"rope_theta": 1e6})", true);
    CHECK(lenient.warnings == std::vector<std::string>{"config.attention: key 'rope_theta'" + left_out});
}

// They changed the rotation without a word.
TEST_CASE("models/config/released: keys that few model types read are errors in the others, which ignore them") {
    const std::string llama = R"("model_type": "llama", "num_hidden_layers": 4, )";
    const auto in_dictionary = [](const std::string& key) {
        return R"("rope_parameters": {"rope_type": "default", "rope_theta": 1e4, )" + key + "}";
    };
    const std::pair<const char*, std::string> keys[] = {
        {"config: no_rope_layers", R"("no_rope_layers": [1, 1, 1, 0])"},
        {"config: no_rope_layer_interval", R"("no_rope_layer_interval": 4)"},
        {"config: layer_rope_theta", R"("layer_rope_theta": [1e6, 1e6, 1e6, 0])"},
        {"config: partial_rotary_factors", R"("partial_rotary_factors": [1, 1, 1, 0.5])"},
        {"config: rope_ratio", R"("rope_ratio": 50)"},
        {"config: rope_scaling_layers", R"("rope_scaling_layers": [0])"},
        {"rope_parameters: llama_4_scaling_beta", in_dictionary(R"("llama_4_scaling_beta": 0.1)")},
        {"rope_parameters: mrope_section",
         in_dictionary(R"("mrope_section": [24, 20, 20], "mrope_interleaved": true)")}};
    for (const auto& [name, fields] : keys) {
        const std::string text = name + std::string(" must be left out: the code of this model_type does not read it");
        CHECK(error_of(llama + fields) == text);
        const auto model = read(llama + fields, true);  // as its code has it
        CHECK(model.warnings == std::vector<std::string>{text});
        REQUIRE(model.ropes.size() == 1);
        CHECK(model.ropes[0].config == rope_config{128, 128, 1e4, 32768});
        CHECK(!model.ropes[0].temperature);
        CHECK(model.ropes[0].axis_of_pair.empty());
        CHECK(model.at(3).rotates());
    }
    CHECK(error_of(llama + R"("no_rope_layers": [], "rope_scaling_layers": null)").empty());
    CHECK(error_of(R"("model_type": "muse_glimmer_text", "rope_theta": 5e5, "no_rope_layers": [1, 0])") ==
          "config: no_rope_layers must be left out: the code of this model_type does not read it");
}

// Values of the wrong type were taken as not given.
TEST_CASE("models/config/released: parts of a config are objects, and a temperature of queries is whole") {
    const std::string ministral =
        R"("model_type": "ministral3", "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}, )";
    CHECK(error_of(ministral + R"("llama_4_scaling": 0.1)") == "llama_4_scaling: 0.1 must be an object");
    CHECK(error_of(ministral + R"("llama_4_scaling": {"original_max_position_embeddings": 8192})") ==
          "llama_4_scaling: beta must be given for a temperature of queries");
    CHECK(error_of(R"("model_type": "dbrx", "attn_config": 7)") == "attn_config: 7 must be an object");
    CHECK(error_of(R"("model_type": "minimax_m3_vl", "rotary_dim": 64, "head_dim": 128, "num_hidden_layers": 2,
                      "sparse_attention_config": 5)") == "sparse_attention_config: 5 must be an object");
}

// The error said that rope_type 'xdrope' is none of the known ones.
TEST_CASE("models/config/released: HunYuan-VL's rope type xdrope is dynamic, with pairs whose lanes have two axes") {
    const std::string scaling = R"("rope_scaling": {"alpha": 1000.0, "beta_fast": 32, "beta_slow": 1, "factor": 1.0,
        "mscale": 1.0, "mscale_all_dim": 1.0, "type": "xdrope", "xdrope_section": [16, 16, 16, 16]})";
    const std::string why =
        "rope_scaling: xdrope_section must be left out: the two lanes of a pair would be rotated by different axes";
    CHECK(error_of(R"("model_type": "hunyuan_vl", )" + scaling) == why);
    const auto model = read(R"("model_type": "hunyuan_vl", )" + scaling, true);
    CHECK(model.warnings == std::vector<std::string>{why});
    CHECK(model.of("").rope_type == "dynamic");
    CHECK(model.of("").schedule.ratio(model.of("").config, 1.0) == 1000.0);
    CHECK(model.of("").axis_of_pair.empty());
}
