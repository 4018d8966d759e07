// SPDX-License-Identifier: MIT
#include "cordage/models/config/params_json.hpp"

#include <doctest/doctest.h>

#include "cordage/basis/rope_scaling.hpp"
#include "cordage/models/config/read.hpp"

using namespace cordage;

namespace {

nlohmann::json params() {
    return {{"dim", 4096},   {"n_layers", 4},     {"head_dim", 128},     {"hidden_dim", 14336},
            {"n_heads", 32}, {"rope_theta", 1e6}, {"vocab_size", 32000}, {"max_position_embeddings", 262144}};
}
basis at(const hf::layer_rope& rule, double length) {
    return rope_scaling(rule.config, rule.policy, rule.schedule).at_length(length);
}

}  // namespace

TEST_CASE("models/config/params_json: sizes, base and pairs of Mistral's own format") {
    const auto model = hf::read_parsed_config(params());
    REQUIRE(model.ropes.size() == 1);
    CHECK(model.max_length == 262144.0);
    CHECK(model.ropes[0].config.head_dim == 128);
    CHECK(model.ropes[0].config.theta_base == 1e6);
    CHECK(model.ropes[0].layout == hf::pair_layout::interleaved);
    auto short_one = params();
    short_one.erase("max_position_embeddings"), short_one.erase("head_dim");
    CHECK(hf::read_parsed_config(short_one).max_length == 128000.0);
    CHECK(hf::read_parsed_config(short_one).ropes[0].config.head_dim == 128);
    short_one["max_seq_len"] = 8192;
    CHECK(hf::read_parsed_config(short_one).max_length == 8192.0);
    short_one.erase("rope_theta");
    CHECK_THROWS_WITH_AS(
        hf::read_parsed_config(short_one),
        "params.json: rope_theta must be given: its default differs between versions of Mistral's code", value_error);
}

TEST_CASE("models/config/params_json: yarn is YaRN, without apply_scale with no attention factor") {
    auto root = params();
    root["yarn"] = {{"factor", 16},
                    {"original_max_position_embeddings", 16384},
                    {"beta", 32},
                    {"alpha", 1},
                    {"apply_scale", false}};
    const basis expected = rope_scaling(rope_config{128, 128, 1e6, 16384.0}, yarn{}, fixed{16.0}).at_length(1.0);
    const basis unscaled_scores = at(hf::read_parsed_config(root).ropes[0], 1.0);
    CHECK(std::ranges::equal(unscaled_scores.inv_freq(), expected.inv_freq()));
    CHECK(unscaled_scores.attention_factor() == 1.0);
    root["yarn"]["apply_scale"] = true;
    CHECK(at(hf::read_parsed_config(root).ropes[0], 1.0).attention_factor() == expected.attention_factor());
    root["yarn"].erase("apply_scale");
    CHECK(at(hf::read_parsed_config(root).ropes[0], 1.0).attention_factor() == expected.attention_factor());
    root["yarn"] = nullptr;
    CHECK(hf::read_parsed_config(root).ropes[0].rope_type == "default");
    root.erase("yarn");
    CHECK(hf::read_parsed_config(root).ropes[0].rope_type == "default");
    root["model_type"] = "llama";  // then it is no params.json
    CHECK(hf::read_parsed_config(root).ropes[0].layout == hf::pair_layout::half_split);
    root.erase("model_type");
    root["yarn"] = {{"factor", 16}, {"original_max_position_embeddings", 16384}};
    root["yarn"]["bota"] = 1;
    CHECK_THROWS_WITH_AS(hf::read_parsed_config(root), "yarn: key 'bota' must be a known key; did you mean 'beta'?",
                         value_error);
}

TEST_CASE("models/config/params_json: llama_4_scaling is a temperature of queries") {
    auto root = params();
    root["llama_4_scaling"] = {{"original_max_position_embeddings", 8192}, {"beta", 0.1}};
    const auto rule = hf::read_parsed_config(root).ropes[0];
    REQUIRE(rule.temperature);
    CHECK(rule.temperature->beta == 0.1);
    CHECK(rule.temperature->block_length == 8192.0);
    root["yarn"] = {{"factor", 16}, {"original_max_position_embeddings", 16384}};
    const auto scaled = hf::read_parsed_config(root).ropes[0];  // each has a length of its own
    CHECK(scaled.config.original_length == 16384.0);
    CHECK(scaled.temperature->block_length == 8192.0);
    root["llama_4_scaling"].erase("beta");
    CHECK_THROWS_WITH_AS(hf::read_parsed_config(root),
                         "llama_4_scaling: beta must be given for a temperature of queries", value_error);
}

TEST_CASE("models/config/params_json: a speculator's decoder is its transformer_layer_config") {
    const auto model = hf::read_config(R"({"speculators_model_type": "eagle3", "transformer_layer_config":
        {"model_type": "llama", "head_dim": 64, "rope_theta": 5e5, "max_position_embeddings": 4096}})");
    CHECK(model.model_type == "llama");
    CHECK(model.ropes[0].config.theta_base == 5e5);
}
