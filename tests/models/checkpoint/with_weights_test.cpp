// SPDX-License-Identifier: MIT
// A released model from its two files, config and checkpoint, compared with recorded frequencies.
#include "cordage/models/checkpoint/with_weights.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cordage/basis/rope_scaling.hpp"
#include "cordage/models/config/read.hpp"
#include "models/checkpoint/written_files.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

/// golden/clex_released.json: dim 64, hidden 64, SiLU, steps of 0.1, base 10000.
const nlohmann::json& golden() {
    static const nlohmann::json one_case = [] {
        std::ifstream in(CORDAGE_GOLDEN_DIR "/clex_released.json");
        const auto file = nlohmann::json::parse(in);
        for (const auto& found : file["cases"]) {
            if (found["name"] == "dim 64 factor 1 silu dt 0.1 base 10000 down 0.003") return found;
        }
        throw std::runtime_error("clex_released.json lacks the case");
    }();
    return one_case;
}

hf::layer_rope rule(const std::string& more = "") {
    return hf::read_config(
               R"({"model_type": "llama", "head_dim": 64, "max_position_embeddings": 4096, "log_scale": false,
        "rope_scaling": {"type": "clex", "max_factor": 16, "param_factor": 1, "time_dt": 0.1, "act": "silu")" +
               more + "}}")
        .of("");
}

std::string checkpoint_bytes(const std::vector<std::string>& prefixes) {
    const auto numbers = [](const char* name) { return golden()["weights"][name]["data"].get<std::vector<double>>(); };
    std::vector<tensor_to_write> tensors;
    for (const std::string& prefix : prefixes) {
        tensors.push_back({prefix + "proj_func.ode_up_proj", "F32", "[32, 64]", numbers("up")});
        tensors.push_back({prefix + "proj_func.ode_down_proj", "F32", "[64, 32]", numbers("down")});
    }
    return safetensors_bytes(tensors);
}

}  // namespace

TEST_CASE("models/checkpoint/with_weights: config and checkpoint give the released frequencies at every whole t") {
    const temporary_folder folder;
    const auto file = folder.write("model.safetensors", checkpoint_bytes({"model.clex_layer."}));
    const auto all = hf::with_weights(rule(), file);
    REQUIRE(all.size() == 1);
    CHECK(all[0].layer_type.empty());
    const rope_scaling served(all[0].config, all[0].policy, all[0].schedule);
    const auto& grid = golden()["integer_grid"];
    const auto times = grid["t"].get<std::vector<double>>();
    const auto z = grid["z_float64"]["data"].get<std::vector<double>>();
    REQUIRE(z.size() == times.size() * 32);
    for (std::size_t k = 0; k < times.size() && times[k] <= 16.0; ++k) {
        const basis b = served.at_length(4096.0 * times[k] - 5.0);  // rounded up to the next whole t
        for (std::size_t pair = 0; pair < 32; ++pair) {
            CHECK(std::fabs(std::log(b.inv_freq()[pair]) - z[32 * k + pair]) < 1e-12);
        }
    }
}

TEST_CASE("models/checkpoint/with_weights: a field for each layer is a rule for each layer") {
    const temporary_folder folder;
    const auto file = folder.write("model.safetensors", checkpoint_bytes({"model.layers.7.self_attn.rotary_emb."}));
    const auto all = hf::with_weights(rule(), file);
    REQUIRE(all.size() == 1);
    CHECK(all[0].layer_type == "layer 7");
    CHECK(all[0].policy_words.find("with its weights") != std::string::npos);
    CHECK(!all[0].needs_weights);
}

TEST_CASE(
    "models/checkpoint/with_weights: each layer of a model has its own rule, or one message says which lacks it") {
    const temporary_folder folder;
    const auto model_of = [](int layers) {  // 0: not told
        return hf::read_config(R"({"model_type": "llama", "head_dim": 64, "max_position_embeddings": 4096,
            "rope_scaling": {"type": "clex", "max_factor": 16, "param_factor": 1, "time_dt": 0.1, "act": "silu"},
            "vocab_size": 8)" + (layers == 0 ? "" : R"(, "num_hidden_layers": )" + std::to_string(layers)) +
                               "}");
    };
    const auto weights_of = [&](const std::vector<std::string>& layers) {
        std::vector<std::string> prefixes;
        for (const std::string& layer : layers) prefixes.push_back("model.layers." + layer + ".rotary_emb.");
        return folder.write("model.safetensors", checkpoint_bytes(prefixes));
    };
    const auto all = hf::with_weights(model_of(2), weights_of({"0", "1"}));
    CHECK(all.at(1).layer_type == "layer 1");
    CHECK(all.layers.size() == 2);
    const char* const message =
        "hf::with_weights: the checkpoint must have the CLEX matrices of each of 3 layers once, and those of layer 1 "
        "are missing";
    CHECK_THROWS_WITH_AS(hf::with_weights(model_of(3), weights_of({"0", "2"})), message, value_error);
    CHECK_THROWS_WITH_AS(hf::with_weights(model_of(3), weights_of({"0"})), message, value_error);
    CHECK(hf::with_weights(model_of(0), weights_of({"7"})).ropes.at(0).layer_type == "layer 7");
    CHECK(hf::with_weights(model_of(2), std::filesystem::path()).ropes[0].needs_weights);  // there are none beside it
    const auto with_prefixes = [&](const std::vector<std::string>& prefixes) {
        return folder.write("model.safetensors", checkpoint_bytes(prefixes));
    };
    CHECK_THROWS_WITH_AS(hf::with_weights(model_of(2), with_prefixes({"model.", "model.layers.1."})),
                         "hf::with_weights: the checkpoint must have the CLEX matrices of each of 2 layers once, and "
                         "those of layer 0 are missing",
                         value_error);
    // Layers without attention stay as they are.
    const auto hybrid = hf::with_weights(hf::read_config(R"({"model_type": "lfm2", "head_dim": 64, "rope_theta": 1e4,
        "max_position_embeddings": 4096, "num_hidden_layers": 2, "layer_types": ["conv", "full_attention"],
        "rope_scaling": {"type": "clex", "max_factor": 16, "param_factor": 1, "time_dt": 0.1, "act": "silu"}})"),
                                         with_prefixes({"model."}));
    CHECK_FALSE(hybrid.layers.at(0).rule.has_value());
    CHECK(hybrid.layers.at(1).rule == 0);
}

TEST_CASE("models/checkpoint/with_weights: weights that do not fit the config are refused") {
    const temporary_folder folder;
    const auto file = folder.write("model.safetensors", checkpoint_bytes({"a."}));
    hf::layer_rope wide = rule();
    wide.clex->param_factor = 2.0;
    CHECK_THROWS_WITH_AS(hf::with_weights(wide, file),
                         "hf::with_weights: hidden width 64 must be param_factor * rotary_dim = 128", shape_error);
    hf::layer_rope narrow = rule();
    narrow.config.rotary_dim = 32;
    narrow.clex->param_factor = 2.0;
    CHECK_THROWS_AS(hf::with_weights(narrow, file), shape_error);
    const auto plain =
        hf::read_config(R"({"model_type": "llama", "head_dim": 64, "max_position_embeddings": 8})").of("");
    CHECK_THROWS_WITH_AS(hf::with_weights(plain, file), "hf::with_weights: rope type 'default' must be 'clex'",
                         value_error);
}

TEST_CASE("models/checkpoint/with_weights: a CLEX config whose layer types differ is refused") {
    const temporary_folder folder;
    const auto file = folder.write("model.safetensors", checkpoint_bytes({"a."}));
    const auto model = hf::read_config(R"({"head_dim": 64, "max_position_embeddings": 4096, "rope_parameters": {
        "full_attention": {"rope_type": "clex", "time_dt": 0.1, "act": "silu"}, "sliding_attention": {}}})");
    CHECK_THROWS_WITH_AS(hf::with_weights(model, file),
                         "hf::with_weights: the config must have one rule for rope type 'clex', not 2, with "
                         "'sliding_attention': use with_weights(rule, checkpoint) for the layers of one rule",
                         value_error);
}

// Once, a small config with a few layers took gigabytes.
TEST_CASE("models/checkpoint/with_weights: the steps of all layers together are bounded") {
    const temporary_folder folder;
    hf::layer_rope fine = rule();
    fine.clex->time_dt = 4e-5;
    CHECK_THROWS_WITH_AS(hf::with_weights(fine, folder.write("model.safetensors", checkpoint_bytes({"0.", "1."}))),
                         "hf::with_weights: time_dt 4e-05 must be large enough that steps to "
                         "max_factor 16 times pairs 32 times layers 2 are at most 16777216",
                         value_error);
}
