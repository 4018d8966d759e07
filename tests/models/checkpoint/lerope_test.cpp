// SPDX-License-Identifier: MIT
// LeRoPE from a checkpoint, combined with its config, compared with the frequencies of transformers' class.
#include "cordage/models/checkpoint/lerope.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cordage/basis/rope_scaling.hpp"
#include "cordage/models/checkpoint/with_weights.hpp"
#include "cordage/models/config/read.hpp"
#include "models/checkpoint/written_files.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

/// Relative error of values that transformers computes in float32.
constexpr double in_float = 4e-6;

const nlohmann::json& golden_bases() {
    static const nlohmann::json bases = [] {
        std::ifstream in(CORDAGE_GOLDEN_DIR "/lerope.json");
        auto cases = nlohmann::json::parse(in)["cases"];
        for (std::size_t i = cases.size(); i-- > 0;) {
            if (cases[i]["kind"] != "lerope") cases.erase(i);
        }
        return cases;
    }();
    return bases;
}

checkpoint file_of(const temporary_folder& folder, const std::vector<tensor_to_write>& tensors) {
    return checkpoint(folder.write("model.safetensors", safetensors_bytes(tensors)));
}

tensor_to_write alpha(const std::string& name, const std::vector<double>& numbers) {
    return {name, "F32", "[" + std::to_string(numbers.size()) + "]", numbers};
}

const hf::model_ropes plain =
    hf::read_config(R"({"model_type": "llama", "head_dim": 8, "max_position_embeddings": 64})");
const std::vector<double> three{0.5, -0.25, 2.0};

}  // namespace

TEST_CASE("models/checkpoint/lerope: config and checkpoint give the frequencies of transformers' class") {
    REQUIRE(golden_bases().size() == 3);
    for (const auto& one : golden_bases()) {
        const auto config = hf::read_config(one["config"].dump());
        const auto offsets = one["alpha_float32"].get<std::vector<double>>();
        const auto inv_freq = one["inv_freq_float32"].get<std::vector<double>>();
        const temporary_folder folder;
        const auto file = file_of(folder, {alpha("model.rotary_emb.alpha", offsets)});
        const auto model = hf::with_weights(config, file);
        const auto& rule = model.of("rope");
        CHECK(!rule.needs_weights);
        CHECK(rule.layout == hf::pair_layout::interleaved);
        const rope_scaling served(rule.config, rule.policy, rule.schedule);
        for (const double length : {1.0, 1048576.0}) {
            const basis b = served.at_length(length);
            REQUIRE(b.inv_freq().size() == inv_freq.size());
            for (std::size_t pair = 0; pair < inv_freq.size(); ++pair) {
                CHECK(b.inv_freq()[pair] == doctest::Approx(inv_freq[pair]).epsilon(in_float));
            }
            CHECK(b.attention_factor() == doctest::Approx(one["attention_factor"].get<double>()).epsilon(1e-12));
        }
        const auto& at_rest = model.of("no_rope");
        CHECK(make_basis(at_rest.config, at_rest.policy, 1.0).inv_freq()[0] == 0.0);
        for (const auto& rope : model.ropes) CHECK(rope.has_head_temperatures);
        const auto& before = config.of("rope");  // without its offsets a different rule, and described as such
        CHECK(before.needs_weights);
        CHECK(hf::describe(before).find("learned: frequencies times exp(alpha)") != std::string::npos);
        CHECK(hf::describe(rule).find("times exp(alpha) of the weights (LeRoPE)") != std::string::npos);
        CHECK(hf::describe(rule).find("query temperature: scale ln(position + 1) + bias for each head") !=
              std::string::npos);
    }
}

TEST_CASE("models/checkpoint/lerope: a folder with config and checkpoint") {
    const temporary_folder folder;
    const auto config = folder.write("config.json", golden_bases()[0]["config"].dump()).string();
    const auto offsets = golden_bases()[0]["alpha_float32"].get<std::vector<double>>();
    const std::string temperature = "model.layers.0.self_attn.softmax_scaling.";
    const auto weights =
        file_of(folder, {alpha("model.language_model.rotary_emb.alpha", offsets),
                         alpha(temperature + "scale", {0.5, 0.25}), alpha(temperature + "bias", {1, 2})});
    const auto& checkpoint = folder.path();
    // [lerope_checkpoint]
    const auto model = cordage::hf::with_weights(cordage::hf::read_config_file(config), checkpoint);
    const auto& rule = model.of("rope");
    const cordage::rope_scaling served(rule.config, rule.policy, rule.schedule);
    const cordage::head_temperatures of_layer = cordage::load_head_temperatures(weights, 0, 2);  // layer 0, two heads
    // [/lerope_checkpoint]
    CHECK(served.at_length(8.0).inv_freq()[0] == doctest::Approx(std::exp(offsets[0])).epsilon(1e-14));
    CHECK(of_layer.at(1, 0.0) == 2.0);
}

TEST_CASE("models/checkpoint/lerope: the tensor is found by both its names") {
    for (const char* name : {"lerope.alpha", "rotary_emb.alpha", "model.language_model.rotary_emb.alpha"}) {
        const temporary_folder folder;
        const auto file = file_of(folder, {alpha("model.layers.0.self_attn.alpha", {1.0}), alpha(name, three)});
        CHECK(lerope_tensors(file) == std::vector<std::string>{name});
        CHECK(load_lerope(file, 3) == three);
    }
}

TEST_CASE("models/checkpoint/lerope: a tensor that is missing, double or does not fit is named") {
    const temporary_folder folder;
    const auto error_of = [&](const std::vector<tensor_to_write>& tensors) {
        try {
            load_lerope(file_of(folder, tensors), 3);
        } catch (const error& why) {
            return std::string(why.what());
        }
        return std::string();
    };
    const std::string must =
        "lerope: the checkpoint must have one tensor 'lerope.alpha' or '...rotary_emb.alpha', not ";
    CHECK(error_of({alpha("model.alpha", three)}) == must + "0");
    CHECK(error_of({alpha("lerope.alpha", three), alpha("rotary_emb.alpha", three)}) ==
          must + "2, 'lerope.alpha' and 'rotary_emb.alpha'");
    CHECK(error_of({alpha("lerope.alpha", {1.0, 2.0})}) == "lerope: tensor 'lerope.alpha' [2] must have shape [3]");
    for (const std::string shape : {"[1, 3]", "[3, 1]"}) {
        CHECK(error_of({{"lerope.alpha", "F32", shape, three}}) ==
              "lerope: tensor 'lerope.alpha' " + shape + " must have shape [3]");
    }
    CHECK(error_of({alpha("lerope.alpha", {1.0, std::nan(""), 2.0})}) ==
          "lerope: tensor 'lerope.alpha'[1] nan must be finite");
    CHECK(error_of({alpha("lerope.alpha", {1.0, 2.0, 41.0})}) ==
          "lerope: tensor 'lerope.alpha': offset[2] 41 must be finite and within -40 ... 40");
    CHECK(error_of({{"lerope.alpha", "I16", "[3]", {}}}).find("data_offsets") != std::string::npos);
}

TEST_CASE(
    "models/checkpoint/lerope: a learned basis of which the config does not speak is an error, as is one that it "
    "lacks") {
    const temporary_folder folder;
    CHECK_THROWS_WITH_AS(
        hf::with_weights(plain, file_of(folder, {alpha("model.rotary_emb.alpha", three)})),
        "hf::with_weights: tensor 'model.rotary_emb.alpha' must be left out, or model_type 'llama' must be one "
        "with LeRoPE, whose code multiplies inv_freq by its exponential, such as 'mistral_large4'",
        value_error);
    CHECK_THROWS_WITH_AS(hf::with_weights(plain, file_of(folder, {alpha("a.proj_func.ode_down_proj", three)})),
                         "hf::with_weights: tensor 'a.proj_func.ode_down_proj' must be left out, or the config "
                         "must have rope type 'clex': it is a learned basis",
                         value_error);
    const auto large = hf::read_config(R"({"model_type": "mistral_large4", "text_config": {
        "model_type": "mistral_large4_text", "qk_rope_head_dim": 64, "qk_nope_head_dim": 64, "rope_parameters": {
        "rope_type": "yarn", "factor": 2048.0, "original_max_position_embeddings": 512, "rope_theta": 1e4}}})");
    CHECK(large.of("no_rope").rope_type == "none");  // every fourth layer, by default
    CHECK_THROWS_WITH_AS(hf::with_weights(large, file_of(folder, {alpha("lm_head.weight", three)})),
                         doctest::Contains("must have one tensor 'lerope.alpha'"), value_error);
    CHECK_THROWS_WITH_AS(hf::with_weights(large, file_of(folder, {alpha("lerope.alpha", three)})),
                         "lerope: tensor 'lerope.alpha' [3] must have shape [32]", shape_error);
}

TEST_CASE("models/checkpoint/lerope: a model without learned parameters keeps its config's rules") {
    const temporary_folder folder;
    file_of(folder, {alpha("model.norm.weight", three)});
    const auto model = hf::with_weights(plain, folder.path());
    CHECK(hf::describe(model) == hf::describe(plain));
}

TEST_CASE("models/checkpoint/lerope: temperatures of a layer's heads, and of its indexer's") {
    const std::vector<double> bias{1.0, 0.5, 0.0};
    for (const auto& [scale_name, bias_name] :
         {std::pair{"model.layers.12.self_attn.softmax_scaling.scale",
                    "model.layers.12.self_attn.softmax_scaling.bias"},
          std::pair{"layers.12.attention.ssmax_scaling.s", "layers.12.attention.ssmax_scaling.b"}}) {
        const temporary_folder folder;
        const auto file = file_of(folder, {alpha(scale_name, three), alpha(bias_name, bias)});
        const auto found = load_head_temperatures(file, 12, 3);
        CHECK(found.scale == three);
        CHECK(found.bias == bias);
        CHECK_THROWS_WITH_AS(load_head_temperatures(file, 2, 3), doctest::Contains("must have a tensor"), value_error);
        CHECK_THROWS_WITH_AS(load_head_temperatures(file, 12, 3, true), doctest::Contains("self_attn.indexer.softmax"),
                             value_error);
        CHECK_THROWS_WITH_AS(load_head_temperatures(file, 12, 4), doctest::Contains("[3] must have shape [4]"),
                             shape_error);
    }
    const temporary_folder folder;
    const auto of_two_models = file_of(folder, {alpha("a.layers.0.self_attn.softmax_scaling.scale", three),
                                                alpha("b.layers.0.self_attn.softmax_scaling.scale", three)});
    CHECK_THROWS_WITH_AS(
        load_head_temperatures(of_two_models, 0, 3),
        "lerope: the checkpoint must have one tensor '...layers.0.self_attn.softmax_scaling.scale', not "
        "'a.layers.0.self_attn.softmax_scaling.scale' and 'b.layers.0.self_attn.softmax_scaling.scale'",
        value_error);
    const auto of_indexer = file_of(folder, {alpha("layers.0.attention.indexer.ssmax_scaling.s", three)});
    CHECK_THROWS_WITH_AS(load_head_temperatures(of_indexer, 0, 3, true),
                         "checkpoint: tensor 'layers.0.attention.indexer.ssmax_scaling.b' must be in the checkpoint",
                         value_error);
}
