// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <string>
#include <vector>

#include "cordage/models/config/read.hpp"

using namespace cordage;

namespace {

/// The layer_type of each layer's rule, "none" for a layer that does not rotate, followed by "+" for an indexer.
std::string rules_of(const std::string& text) {
    const auto model = hf::read_config(text);
    std::string rules;
    for (index_t i = 0; i < std::ssize(model.layers); ++i) {
        const auto& rule = model.at(i);
        rules += (i == 0 ? "" : " ") + (rule.rotates() ? rule.layer_type : "none");
        if (model.indexer_at(i) != nullptr) rules += "+";
    }
    return rules;
}

/// {"model_type": ..., sizes, ...}
std::string config(const std::string& model_type, int layers, const std::string& more) {
    return R"({"hidden_size": 64, "num_attention_heads": 4, "head_dim": 16, "max_position_embeddings": 4096,
               "model_type": ")" +
           model_type + R"(", "num_hidden_layers": )" + std::to_string(layers) + ", " + more + "}";
}

}  // namespace

TEST_CASE("models/config/layers: a layer's rule is found by the keys of the file and by the family's code") {
    CHECK(rules_of(config("llama", 2, R"("rope_theta": 10000)")) == " ");
    CHECK(rules_of(config("gemma3_text", 7, R"("sliding_window_pattern": 3)")) ==
          "sliding_attention sliding_attention full_attention sliding_attention sliding_attention full_attention "
          "sliding_attention");
    CHECK(rules_of(config("modernbert", 4, R"("global_attn_every_n_layers": 2)")) ==
          "full_attention sliding_attention full_attention sliding_attention");
    CHECK(rules_of(config("cohere2", 5, R"("rope_theta": 50000)")) ==
          "sliding_attention sliding_attention sliding_attention none sliding_attention");
    CHECK(rules_of(config("exaone4", 4, R"("sliding_window": 128, "sliding_window_pattern": "LG")")) ==
          "sliding_attention none sliding_attention none");
    CHECK(rules_of(config("exaone4", 2, R"("sliding_window": null)")) == " ");
    CHECK(rules_of(config("llama4_text", 5, R"("rope_theta": 500000)")) == "rope rope rope none rope");
    CHECK(rules_of(config("smollm3", 3, R"("no_rope_layers": [0, 1, 1])")) == "none rope rope");
    CHECK(rules_of(config("smollm3", 3, R"("no_rope_layer_interval": 2)")) == "rope none rope");
    CHECK(rules_of(config("muse_glimmer_text", 6, R"("rope_theta": 500000)")) == "rope none rope rope rope none");
    CHECK(rules_of(config("granite_swa", 3, R"("layer_rope_theta": [10000, 0, 10000])")) == "rope none rope");
    CHECK(rules_of(config("qwen3_next", 4, R"("full_attention_interval": 2)")) == "none  none ");
    CHECK(rules_of(config("lfm2", 3, R"("full_attn_idxs": [1])")) == "none  none");
    CHECK(rules_of(config("lara_mini", 5, R"("rope_theta": 10000)")) ==
          "none sliding_attention none none sliding_attention");
    CHECK(rules_of(config("molmo2_text", 3, R"("rope_theta": 1000000, "rope_scaling_layers": [1],
                                               "rope_scaling": {"rope_type": "linear", "factor": 2.0})")) ==
          "unscaled scaled unscaled");
    CHECK(rules_of(config("dory", 4, R"("layer_types": ["sliding_attention", "mlp", "full_attention", "mlp"],
          "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
                              "full_attention": {"rope_type": "default", "rope_theta": 20000.0}})")) ==
          "sliding_attention full_attention");
}

TEST_CASE(
    "models/config/layers: DeepSeek V4's compress_ratios give the types that transformers names, and an indexer") {
    const std::string text = config("deepseek_v4", 4, R"("head_dim": 512, "qk_rope_head_dim": 64, "index_head_dim": 128,
        "compress_ratios": [0, 4, 128, 0, 0], "rope_theta": 10000, "compress_rope_theta": 160000,
        "rope_scaling": {"type": "yarn", "factor": 16, "original_max_position_embeddings": 1024})");
    const std::string with_sizes =
        text.substr(0, text.find(R"("head_dim": 16, )")) + text.substr(text.find(R"("max_p)"));
    CHECK(rules_of(with_sizes) == "main compress+ compress main");
    const auto model = hf::read_config(with_sizes);
    CHECK(model.layers[1].type == "compressed_sparse_attention");
    CHECK(model.of("sliding_attention").layer_type == "main");
    CHECK(model.of("heavily_compressed_attention").layer_type == "compress");
    CHECK(model.indexer_at(1)->config.theta_base == 160000.0);
    CHECK(model.indexer_at(1)->first_lane == 64);  // the last 64 of 128 lanes
    CHECK_THROWS_WITH_AS(model.at(4), "model_ropes: layer 4 must be in 0 ... 3", value_error);
}

TEST_CASE(
    "models/config/layers: indexers have pairs and lanes of their own, and only layers that choose keys have one") {
    const auto of_family = [](const std::string& type, const std::string& more) {
        return hf::read_config(R"({"model_type": ")" + type + R"(", "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
            "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 6, "index_head_dim": 96,
            "max_position_embeddings": 4096, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0})" +
                               more + "}");
    };
    const auto which = [](const hf::model_ropes& model) {
        std::string found;
        for (index_t i = 0; i < std::ssize(model.layers); ++i) found += model.indexer_at(i) != nullptr ? 'F' : 's';
        return found;
    };
    const auto glm = of_family("glm_moe_dsa", R"(, "index_topk_freq": 2, "index_skip_topk_offset": 3)");
    CHECK(which(glm) == "FFFsFs");
    CHECK(glm.of("indexer").layout == hf::pair_layout::interleaved);
    CHECK(glm.of("indexer").first_lane == 0);
    CHECK(glm.of("indexer").config.head_dim == 96);
    CHECK(&glm.of("indexed_attention") == &glm.of("attention"));  // the layers are alike
    CHECK(which(of_family("glm_moe_dsa", R"(, "index_topk_pattern": "FsFsss")")) == "FsFsss");
    CHECK(which(of_family("glm_moe_dsa", R"(, "indexer_types": ["full", "shared", "full", "full", "full", "full"])")) ==
          "FsFFFF");
    const auto axk2 = of_family("axk2", "");
    CHECK(which(axk2) == "FFFFFF");
    CHECK(axk2.of("attention").layout == hf::pair_layout::interleaved);
    CHECK(axk2.of("indexer").layout == hf::pair_layout::half_split);
    const auto hy = of_family("hy_v4", "");
    CHECK(which(hy) == "FFsssF");
    CHECK(hy.of("indexer").layout == hf::pair_layout::half_split);
    CHECK(hy.of("indexer").first_lane == 32);
}

// No layer had an indexer.
TEST_CASE("models/config/layers: indexers by the names of released configs") {
    const auto qwen = hf::read_config(R"({"model_type": "qwen4_exp_text", "num_hidden_layers": 4, "head_dim": 256,
        "layer_types": ["linear_attention", "full_attention", "linear_attention", "indexed_attention"],
        "indexer_head_dim": 128, "max_position_embeddings": 4096, "rope_parameters": {"rope_type": "default",
        "rope_theta": 1e7, "partial_rotary_factor": 0.25, "mrope_section": [11, 11, 10]}})");
    CHECK(qwen.indexer_at(0) == nullptr);
    REQUIRE(qwen.indexer_at(1) != nullptr);  // transformers renames these layers
    CHECK(qwen.indexer_at(1)->config.head_dim == 128);
    CHECK(qwen.indexer_at(1) == qwen.indexer_at(3));
    const std::string minimax =
        R"("model_type": "minimax_m3_vl_text", "num_hidden_layers": 2, "rope_theta": 5e6, "partial_rotary_factor": 0.5,
        "rotary_dim": 64, "max_position_embeddings": 4096, "sparse_attention_config": {"sparse_attention_freq": [0, 1],
        "sparse_index_dim": 96})";
    const auto released = hf::read_config("{" + minimax + "}");
    CHECK(released.indexer_at(0) == nullptr);
    REQUIRE(released.indexer_at(1) != nullptr);
    CHECK(released.indexer_at(1)->config.head_dim == 96);
    CHECK(hf::read_config("{" + minimax + R"(, "layer_types": ["full_attention", "full_attention"]})").ropes.size() ==
          1);
    CHECK_THROWS_WITH_AS(hf::read_config("{" + minimax + R"(, "index_head_dim": 128})"),
                         doctest::Contains("index_head_dim 128 must equal sparse_index_dim 96"), value_error);
}

TEST_CASE("models/config/layers: a cycle may be counted back from the last layer") {
    const auto muse = hf::read_config(R"({"model_type": "muse_spark_text", "num_hidden_layers": 6, "rope_theta": 5e5,
        "hidden_size": 1024, "num_attention_heads": 16, "max_position_embeddings": 4096})");
    std::string types;
    for (const auto& layer : muse.layers) types += layer.type[0];
    CHECK(types == "sfsssf");
}

TEST_CASE("models/config/layers: a layer whose rule the file does not tell is an error") {
    const auto by_type = hf::read_config(R"({"head_dim": 16, "rope_parameters": {
        "full_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 20000.0}}})");
    CHECK(by_type.layers.empty());
    CHECK_THROWS_WITH_AS(by_type.at(1),
                         doctest::Contains("layer 1: num_hidden_layers and layer_types must be given in the config"),
                         value_error);
    const auto alike = hf::read_config(R"({"head_dim": 16, "rope_theta": 10000})");
    CHECK(&alike.at(100) == &alike.ropes[0]);
    CHECK(alike.indexer_at(100) == nullptr);
    CHECK_THROWS_AS(alike.at(-1), value_error);
}

TEST_CASE("models/config/layers: a dictionary of the rotation in itself is no layer type") {
    for (const std::string name : {"rope_scaling", "rope_parameters"}) {
        const std::string inner = "\"" + name + R"(": {"rope_type": "linear", "factor": 2.0})";
        CHECK_THROWS_WITH_AS(
            hf::read_config(config("llama", 2, R"("rope_parameters": {"rope_theta": 500.0, )" + inner + "}")),
            ("rope_parameters: key '" + name +
             "' must be left out and its values given in rope_parameters: a dictionary in a dictionary is of a layer "
             "type")
                .c_str(),
            value_error);
    }
}

// A misspelt layer type had the rule of "attention".
TEST_CASE("models/config/layers: a layer type named attention is one of several, beside an indexer that of all") {
    const std::string text = R"({"head_dim": 16, "model_type": "mine", "num_hidden_layers": 3, "layer_types": )";
    const std::string dictionaries = R"(, "rope_parameters": {
        "attention": {"rope_type": "default", "rope_theta": 10000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 20000.0}}})";
    const auto model = hf::read_config(text + R"(["attention", "sliding_attention", "mamba"])" + dictionaries);
    CHECK_THROWS_WITH_AS(model.of("sliding_atention"),
                         "model_ropes: layer_type 'sliding_atention' must be one of attention, sliding_attention",
                         value_error);
    CHECK(model.at(1).config.theta_base == 20000.0);
    const auto unknown =
        hf::read_config(text + R"(["attention", "sliding_attention", "chunked"])" + dictionaries, {.lenient = true});
    CHECK(unknown.layers.empty());  // which rule "chunked" has is not known
}

// Both types had the rule of the first one.
TEST_CASE("models/config/layers: the rule of a layer type's own name comes before that of its other name") {
    const std::string types = R"({"head_dim": 16, "model_type": "mine", "num_hidden_layers": 2,
        "layer_types": ["full_attention", "attention"], "rope_parameters": {)";
    const std::string full = R"("full_attention": {"rope_type": "default", "rope_theta": 20000.0})";
    const auto both =
        hf::read_config(types + full + R"(, "attention": {"rope_type": "default", "rope_theta": 10000.0}}})");
    CHECK(both.at(0).config.theta_base == 20000.0);
    CHECK(both.at(1).config.theta_base == 10000.0);
    const auto one = hf::read_config(types + full + "}}");
    CHECK(one.at(1).config.theta_base == 20000.0);
}

// The layers of every model with such a list were halved.
TEST_CASE("models/config/layers: alternating mlp entries are half of a layer in Dory alone") {
    CHECK(rules_of(config("granitemoehybrid", 4, R"("position_embedding_type": "rope",
        "layer_types": ["mamba", "mlp", "attention", "mlp"], "rope_theta": 10000)")) == "none none  none");
}

TEST_CASE("models/config/layers: errors about lists of layers name the key of the file") {
    CHECK_THROWS_WITH_AS(rules_of(config("mimo_v2_flash", 4, R"("hybrid_layer_pattern": [0, 1, 1], "rope_theta": 5e6,
                 "swa_rope_theta": 1e4, "partial_rotary_factor": 0.334)")),
                         "config: hybrid_layer_pattern has 3 entries, must have 4, one for each layer", value_error);
    const std::string glm = R"("qk_rope_head_dim": 16, "qk_nope_head_dim": 8, "rope_theta": 1e6, )";
    CHECK_THROWS_WITH_AS(rules_of(config("glm_moe_dsa", 4, glm + R"("index_topk_pattern": "FS")")),
                         "config: index_topk_pattern has 2 entries, must have 4, one for each layer", value_error);
    const auto alike = hf::read_config(R"({"head_dim": 16, "rope_theta": 10000})");
    CHECK_THROWS_WITH_AS(alike.at(-1), "model_ropes: layer -1 must be >= 0", value_error);
}

// The list was searched once for each layer: 16384 layers and a list of 100 000 entries took 3 s.
TEST_CASE("models/config/layers: the time to read rope_scaling_layers is linear in the list") {
    nlohmann::json root = {{"model_type", "molmo2_text"},
                           {"num_hidden_layers", 16384},
                           {"max_position_embeddings", 4096},
                           {"rope_scaling", {{"rope_type", "linear"}, {"factor", 2.0}}}};
    const auto seconds_of = [&](std::size_t entries) {
        root["rope_scaling_layers"] = std::vector<double>(entries, 0.5);
        const std::clock_t begin = std::clock();
        CHECK(hf::read_parsed_config(root).at(16383).layer_type == "unscaled");
        return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    };
    double few = 1.0;
    for (int round = 0; round < 3; ++round) few = std::min(few, seconds_of(1));
    CHECK(seconds_of(16384) < 8.0 * few + 0.1);
}
