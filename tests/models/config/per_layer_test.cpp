// SPDX-License-Identifier: MIT
// Configs with different layers; those of transformers 5.24 as its own classes write them.
#include "cordage/models/config/per_layer.hpp"

#include <doctest/doctest.h>

#include <string>

#include "cordage/basis/rope_scaling.hpp"
#include "cordage/models/config/read.hpp"
#include "message_of_error.hpp"

using namespace cordage;

namespace {

hf::model_ropes read(const std::string& fields, bool lenient = false) {
    return hf::read_config(R"({"max_position_embeddings": 4096, )" + fields + "}", {.lenient = lenient});
}
std::string error_of(const std::string& fields) {
    return cordage_test::message_of_error([&] { read(fields); });
}

const std::string gemma4 = R"("model_type": "gemma4_text", "head_dim": 256, "num_hidden_layers": 6, "layer_types":
    ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention", "sliding_attention",
     "full_attention"], "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
     "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1000000.0}})";
const std::string two_types =
    R"("model_type": "llama", "head_dim": 64, "rope_theta": 1e4,
       "layer_types": ["full_attention", "sliding_attention", "full_attention"])";

}  // namespace

// Once the 256 of the other layers was used: half as many frequencies, all of them wrong.
TEST_CASE("models/config/per_layer: Gemma 4's full-attention layers have the head size of per_layer_config") {
    const auto model = read(gemma4 + R"(, "per_layer_config": {"2": {"head_dim": 512, "num_key_value_heads": 4},
                                                               "05": {"head_dim": 512, "num_key_value_heads": 4}})");
    const auto& full = model.of("full_attention");
    CHECK(full.config == rope_config{512, 512, 1e6, 4096});
    CHECK(model.of("sliding_attention").config == rope_config{256, 256, 1e4, 4096});
    const basis b = cordage::rope_scaling(full.config, full.policy, full.schedule).at_length(100);
    CHECK(b.inv_freq()[63] == doctest::Approx(std::pow(1e6, -126.0 / 512.0)).epsilon(1e-14));
    CHECK(b.inv_freq()[64] == 0.0);
    CHECK(hf::describe(full).find("\n  overridden: head_dim 512, by 2 layers\n") != std::string::npos);
    CHECK(hf::describe(model.of("sliding_attention")).find("overridden") == std::string::npos);
    CHECK(read(gemma4 + R"(, "per_layer_config": {"2": {"head_dim": 384}, "5": {"head_dim": 384}})")
              .of("full_attention")
              .config.head_dim == 384);
    CHECK(read(gemma4 + R"(, "per_layer_config": {})").of("full_attention").config.head_dim == 256);
    // Without it, by the older key, or by the default of its code.
    CHECK(read(gemma4).of("full_attention").config.head_dim == 512);
    CHECK(read(gemma4 + R"(, "global_head_dim": 384)").of("full_attention").config.head_dim == 384);
    CHECK(error_of(gemma4 + R"(, "global_head_dim": 384, "per_layer_config": {"2": {"head_dim": 512},
                                                                              "5": {"head_dim": 512}})") ==
          "config: global_head_dim 384 must equal head_dim 512");
}

TEST_CASE("models/config/per_layer: layers with one dictionary are distinguished by their overrides") {
    const auto model = read(two_types + R"(, "rope_scaling": {"type": "linear", "factor": 2.0},
        "per_layer_config": {"1": {"head_dim": 32, "partial_rotary_factor": 0.5, "rope_theta": 500.0}})");
    CHECK(model.of("full_attention").config == rope_config{64, 64, 1e4, 4096});
    CHECK(model.of("sliding_attention").config == rope_config{32, 16, 500.0, 4096});
    CHECK(model.of("sliding_attention").rope_type == "linear");
    const auto longer = read(two_types + R"(, "rope_scaling": {"type": "dynamic", "factor": 2.0},
        "per_layer_config": {"1": {"max_position_embeddings": 8192}})")
                            .of("sliding_attention");
    CHECK(ratio_at(longer.schedule, longer.config, 8192.0) == 1.0);
    // Values equal to the config's own, or unrelated to rotation, are not overrides.
    CHECK(read(two_types + R"(, "per_layer_config": {"1": {"head_dim": 64, "intermediate_size": 7}, "2": {}})")
              .ropes.size() == 1);
    CHECK(read(two_types + R"(, "per_layer_config": {})").ropes.size() == 1);
    // All layers alike, but different from the top level.
    CHECK(read(R"("head_dim": 64, "rope_theta": 1e4, "num_hidden_layers": 2, "per_layer_config":
               {"0": {"head_dim": 32}, "1": {"head_dim": 32}})")
              .of("")
              .config.head_dim == 32);
}

TEST_CASE("models/config/per_layer: different layers of one type are rejected") {
    CHECK(error_of(two_types + R"(, "per_layer_config": {"0": {"head_dim": 32}})") ==
          "config: head_dim of layers 0 and 2: overrides 32 and none must be equal, or the layers must have "
          "different layer_types");
    CHECK(error_of(R"("head_dim": 64, "rope_theta": 1e4, "num_hidden_layers": 3, "per_layer_config":
                   {"1": {"head_dim": 32}})")
              .find("head_dim of layers 0 and 1: overrides none and 32 must be equal") != std::string::npos);
    const auto entry = [](const std::string& text) { return error_of(two_types + R"(, "per_layer_config": )" + text); };
    CHECK(entry(R"({"3": {"head_dim": 32}})") == "per_layer_config: key '3' must be the index of a layer");
    CHECK(entry(R"({"-1": {}})") == "per_layer_config: key '-1' must be the index of a layer");
    CHECK(entry(R"({"one": {}})") == "per_layer_config: key 'one' must be the index of a layer");
    CHECK(entry(R"({"": {}})") == "per_layer_config: key '' must be the index of a layer");
    CHECK(entry(R"({"1": {"head_dim": 32}, "01": {"head_dim": 32}})") == "per_layer_config: layer 1 must occur once");
    CHECK(entry(R"({"1": 32})") == "per_layer_config.1: 32 must be an object");
    CHECK(entry("[]") == "per_layer_config: [...] must be an object");
    CHECK(entry(R"({"1": {"head_dim": "wide"}})") == "per_layer_config.1: head_dim \"wide\" must be a number");
    // A list was copied into each of 16384 layers, so that 266 KB took 25 GB.
    CHECK(error_of(two_types + R"(, "attention_other_setting": {"head_dim": [0, 0]})") ==
          "attention_other_setting: head_dim [...] must be a number");
    CHECK(entry(R"({"1": {"rope_parameters": {}}})") ==
          "per_layer_config.1: rope_parameters must be given by layer type instead");
    CHECK(error_of(R"("head_dim": 64, "rope_theta": 1e4, "per_layer_config": {"4000000": {"head_dim": 32}})") ==
          "config: per_layer_config must have at most 16384 layers");
    CHECK(error_of(R"("head_dim": 64, "rope_theta": 1e4, "layer_types": [1])") ==
          "config: layer_types 1 must be a list of strings");
    CHECK(error_of(R"("head_dim": 64, "rope_theta": 1e4, "layers_block_type": [1])") ==
          "config: layers_block_type 1 must be a list of strings");
    CHECK(error_of(R"("head_dim": 64, "rope_theta": 1e4, "layer_types": "full_attention")") ==
          "config: layer_types \"full_attention\" must be a list of strings");
}

// Once kv_channels, half as large, was used.
TEST_CASE("models/config/per_layer: Zamba 2's heads are as wide as attention_head_dim, or two hidden states") {
    const std::string zamba2 = R"("model_type": "zamba2", "hidden_size": 2560, "num_attention_heads": 32,
        "use_mem_rope": true, "rope_theta": 10000)";
    CHECK(read(zamba2 + R"(, "attention_head_dim": 160, "kv_channels": 80)").of("").config ==
          rope_config{160, 160, 1e4, 4096});
    CHECK(read(zamba2).of("").config.head_dim == 160);
    CHECK(read(R"("rope_theta": 1e4, "attention_head_dim": 96, "hidden_size": 64, "num_attention_heads": 1)")
              .of("")
              .config.head_dim == 96);
    CHECK(error_of(R"("rope_theta": 1e4, "attention_head_dim": 96, "head_dim": 64)") ==
          "config: attention_head_dim 96 must equal head_dim 64");
}

TEST_CASE("models/config/per_layer: sizes of the layers that see a window, by names of their own") {
    const auto mimo = read(R"("head_dim": 192, "swa_head_dim": 128, "rope_theta": 5e6, "swa_rope_theta": 1e4)");
    CHECK(mimo.of("full_attention").config == rope_config{192, 192, 5e6, 4096});
    CHECK(mimo.of("sliding_attention").config == rope_config{128, 128, 1e4, 4096});
    const auto dots = read(R"("head_dim": 256, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "rope_theta": 1e4,
        "swa_qk_rope_head_dim": 32, "swa_qk_nope_head_dim": 192, "rope_scaling": {"type": "linear", "factor": 2.0})");
    CHECK(dots.of("full_attention").config.rotary_dim == 64);
    CHECK(dots.of("full_attention").first_lane == 128);
    CHECK(dots.of("sliding_attention").config.rotary_dim == 32);
    CHECK(dots.of("sliding_attention").first_lane == 192);
    CHECK(dots.of("sliding_attention").rope_type == "linear");
    // A share of head_dim if that is larger than the two parts of the head (dots.note).
    CHECK(error_of(R"("head_dim": 256, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "rope_theta": 1e4,
                   "partial_rotary_factor": 0.25)")
              .empty());
    const auto step = read(two_types + R"(, "attention_other_setting": {"attention_type": "sliding_attention",
                                             "num_attention_heads": 96, "head_dim": 32})");
    CHECK(step.of("sliding_attention").config.head_dim == 32);
    CHECK(step.of("full_attention").config.head_dim == 64);
    CHECK(error_of(R"("head_dim": 64, "rope_theta": 1e4, "attention_other_setting": {"head_dim": 32})") ==
          "config: layer_types must have the type 'sliding_attention' of attention_other_setting");
}

// Once, one base and one share were used for all layers, or none could be read.
TEST_CASE("models/config/per_layer: lists of one base, or one share, a layer") {
    const std::string types =
        R"("head_dim": 64, "layer_types": ["full_attention", "sliding_attention", "full_attention"], )";
    const auto step = read(types + R"("rope_theta": [5e6, 1e4, 5e6], "partial_rotary_factors": [0.5, 1.0, 0.5, 1.0])");
    CHECK(step.of("full_attention").config == rope_config{64, 32, 5e6, 4096});
    CHECK(step.of("sliding_attention").config == rope_config{64, 64, 1e4, 4096});
    // A base of 0: a layer without rotation (Granite, Muse).
    const auto muse = read(types + R"("rope_parameters": {"rope_theta": 1e4}, "layer_rope_theta": [0, 500, 0])");
    CHECK(muse.of("rope").config.theta_base == 500.0);
    CHECK(muse.of("no_rope").rope_type == "none");
    const auto nested = read(types + R"("layer_rope_theta": [0, 500, 0], "rope_parameters":
        {"full_attention": {"rope_theta": 1e4}, "sliding_attention": {"rope_theta": 1e4}})");
    CHECK(nested.of("full_attention").rope_type == "none");
    CHECK(nested.of("sliding_attention").config.theta_base == 500.0);
    CHECK(read(R"("head_dim": 64, "layer_rope_theta": [500, 500])").of("").config.theta_base == 500.0);
    CHECK(
        error_of(R"("head_dim": 64, "layer_rope_theta": [500, 500], "no_rope_layers": [1, 0])") ==
        "config: no_rope_layers must be left out: layer_rope_theta has a base for each layer, 0 where none is rotated");
    CHECK(error_of(R"("head_dim": 64, "layer_rope_theta": [500, 0], "no_rope_layer_interval": 2)")
              .starts_with("config: no_rope_layer_interval must be left out"));
    CHECK(error_of(types + R"("layer_rope_theta": [500, 500])") ==
          "config: layer_rope_theta has 2 numbers, must have 3, one for each layer");
    CHECK(error_of(types + R"("layer_rope_theta": [500, 600, 700])") ==
          "config: rope_theta of layers 0 and 2: overrides 500.0 and 700.0 must be equal, or the layers must have "
          "different layer_types");
    CHECK(error_of(R"("head_dim": 64, "rope_theta": [500, 600])").find("different layer_types") != std::string::npos);
    CHECK(error_of(types + R"("layer_rope_theta": [500, 0, 500], "rope_theta": [500, 600, 500])") ==
          "config: rope_theta 600 of layer 1 must equal 0.0, the value of this layer elsewhere in the config");
    CHECK(error_of(R"("head_dim": 64, "rope_theta": [500, "a"])") ==
          "config: rope_theta \"a\" must be a list of numbers only");
}

TEST_CASE("models/config/per_layer: Molmo 2 scales some layers, DBRX keeps its base in attn_config") {
    const std::string molmo = R"("head_dim": 64, "num_hidden_layers": 4, "rope_theta": 1e4,
        "rope_scaling": {"type": "linear", "factor": 2.0}, "rope_scaling_layers": )";
    const auto model = read(molmo + "[0, 2]");
    CHECK(model.of("scaled").rope_type == "linear");
    CHECK(model.of("unscaled").rope_type == "default");
    CHECK(read(molmo + "[0, 1, 2, 3]").of("").rope_type == "linear");
    CHECK(hf::read_config(R"({"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "max_seq_len": 32768,
                              "attn_config": {"rope_theta": 500000, "kv_n_heads": 8}})")
              .of("")
              .config == rope_config{128, 128, 5e5, 32768});
}

TEST_CASE(
    "models/config/per_layer: keys of a flat dictionary other than scaling also apply to layers that it does not "
    "scale") {
    const auto olmo = read(R"("model_type": "olmo3", "head_dim": 128, "rope_theta": 3e5, "rope_scaling": {
        "rope_type": "linear", "factor": 8.0})");
    CHECK(olmo.of("sliding_attention").config == rope_config{128, 128, 3e5, 4096});
    CHECK(olmo.of("sliding_attention").rope_type == "default");
    CHECK(olmo.of("full_attention").config == rope_config{128, 128, 3e5, 4096});
    const auto partial = read(R"("rope_local_base_freq": 500.0, "head_dim": 128, "rope_parameters": {"rope_theta": 3e5,
        "rope_type": "linear", "factor": 8.0, "partial_rotary_factor": 0.5})");
    CHECK(partial.of("sliding_attention").config == rope_config{128, 64, 500.0, 4096});
    CHECK(partial.of("full_attention").config == rope_config{128, 64, 3e5, 4096});
}
