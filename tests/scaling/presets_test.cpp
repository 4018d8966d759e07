// SPDX-License-Identifier: MIT
// Every preset against its family's config.json: numbers of a golden case, or published settings.
#include "cordage/scaling/presets.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "cordage/basis/rope_scaling.hpp"
#include "cordage/models/config/read.hpp"
#include "cordage/positions/sections.hpp"
#include "tolerances.hpp"

using namespace cordage;

namespace {

const nlohmann::json& golden(const std::string& name) {
    static const nlohmann::json file = [] {
        std::ifstream in(CORDAGE_GOLDEN_DIR "/policies.json");
        return nlohmann::json::parse(in);
    }();
    for (const auto& one_case : file["cases"]) {
        if (one_case["name"] == name) return one_case;
    }
    throw std::runtime_error("no golden case " + name);
}

template <class Policy>
bool is_golden(const model_preset<Policy>& preset, const std::string& name) {
    const auto& expected = golden(name)["expected"];
    const auto inv_freq = expected["inv_freq"].get<std::vector<double>>();
    const basis b = make_basis(preset.config, preset.policy, preset.t);
    const auto close = [](double a, double x) { return std::fabs(a - x) <= cordage_test::closed_form * x; };
    return std::ranges::equal(b.inv_freq(), inv_freq, close) &&
           close(b.attention_factor(), expected["attention_factor"].get<double>());
}

/// The basis of a published config, at the length where its factor applies.
template <class Policy>
bool is_published(const model_preset<Policy>& preset, const std::string& config, const std::string& layer = "") {
    const hf::model_ropes model = hf::read_config(config);
    const hf::layer_rope& read = model.of(layer);
    const basis theirs =
        cordage::rope_scaling(read.config, read.policy, read.schedule).at_length(read.config.original_length + 1);
    const basis ours = make_basis(preset.config, preset.policy, preset.t);
    const std::vector<index_t> sections(preset.axis_sections.begin(), preset.axis_sections.end());
    const auto axes = sections[0] == 0          ? std::vector<std::uint8_t>{}
                      : preset.axes_interleaved ? interleaved_axes(sections)
                                                : contiguous_axes(sections);
    return read.config == preset.config && std::ranges::equal(theirs.inv_freq(), ours.inv_freq()) &&
           theirs.attention_factor() == ours.attention_factor() && read.axis_of_pair == axes;
}

}  // namespace

TEST_CASE("scaling/presets: families with golden numbers") {
    CHECK(is_golden(presets::llama_2, "Llama-2-7B default"));
    CHECK(is_golden(presets::code_llama, "CodeLlama-7B default"));
    CHECK(is_golden(presets::llama_3_1, "Llama-3.1-8B llama3 scaling"));
    CHECK(is_golden(presets::llama_3_2_1b, "Llama-3.2-1B llama3 scaling"));
    CHECK(is_golden(presets::qwen_2_5_yarn, "Qwen2.5-7B yarn factor 4"));
    CHECK(is_golden(presets::qwen_3_yarn, "Qwen2.5-7B yarn factor 4"));
    CHECK(is_golden(presets::gpt_oss, "gpt-oss-20b yarn factor 32 truncate false"));
    CHECK(is_golden(presets::deepseek_v3, "DeepSeek-V3 yarn factor 40 mscale 1/1"));
    CHECK(is_golden(presets::deepseek_v3_2_indexer, "DeepSeek-V3 yarn factor 40 mscale 1/1"));
    CHECK(is_golden(presets::gemma_3_global, "Gemma-3-4B global layers (linear 8)"));
    CHECK(is_golden(presets::gemma_3_local, "Gemma-3-4B local layers (theta 1e4, no scaling)"));
    CHECK(is_golden(presets::gemma_4_global,
                    "proportional p=0.25 head_dim 512 (Gemma-4 style: exponents over head_dim, zero-padded)"));
}

TEST_CASE("scaling/presets: Phi's geometry and attention factor, tables given") {
    const auto tables = [](const std::string& name, const char* which) {
        return golden(name)["resolved"][which].get<std::vector<double>>();
    };
    const std::string mini = "Phi-3-mini-128k shape longrope (invented factors) seq_len=4097";
    CHECK(is_golden(presets::phi_3_mini(tables(mini, "short_factor"), tables(mini, "long_factor")), mini));
    const std::string phi_4 = "Phi-4-mini shape longrope, partial 0.75 (rotary 96 of 128)";
    const auto phi_4_mini = presets::phi_4_mini(tables(phi_4, "short_factor"), tables(phi_4, "long_factor"));
    CHECK(is_golden(phi_4_mini, phi_4));
    CHECK(phi_4_mini.config.head_dim == 128);  // not visible in the frequencies
}

TEST_CASE("scaling/presets: families whose settings are published") {
    CHECK(is_published(presets::llama_3_2_3b, R"({"head_dim": 128, "max_position_embeddings": 131072,
        "rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}})"));
    CHECK(
        is_published(presets::qwen_3_vl, R"({"head_dim": 128, "max_position_embeddings": 262144, "rope_theta": 5000000,
        "rope_scaling": {"rope_type": "default", "mrope_interleaved": true, "mrope_section": [24, 20, 20]}})"));
    CHECK(is_published(presets::qwen_3_5_yarn, R"({"head_dim": 256, "max_position_embeddings": 262144,
        "rope_parameters": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 262144,
        "rope_theta": 10000000, "partial_rotary_factor": 0.25, "mrope_section": [11, 11, 10],
        "mrope_interleaved": true}})"));
    const std::string v4 = R"({"model_type": "deepseek_v4", "head_dim": 512, "qk_rope_head_dim": 64,
        "max_position_embeddings": 1048576, "rope_theta": 10000.0, "compress_rope_theta": 160000.0,
        "rope_scaling": {"type": "yarn", "factor": 16, "beta_fast": 32, "beta_slow": 1,
        "original_max_position_embeddings": 65536}})";
    CHECK(is_published(presets::deepseek_v4, v4, "main"));
    CHECK(is_published(presets::deepseek_v4_compressed, v4, "compress"));
    CHECK(is_published(presets::gemma_4_local, R"({"head_dim": 256, "max_position_embeddings": 131072,
        "rope_parameters": {"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}})",
                       "sliding_attention"));
    CHECK(is_published(presets::olmo_3, R"({"model_type": "olmo3", "head_dim": 128, "max_position_embeddings": 65536,
        "rope_theta": 500000, "rope_scaling": {"rope_type": "yarn", "factor": 8.0, "beta_fast": 32.0, "beta_slow": 1.0,
        "original_max_position_embeddings": 8192}})",
                       "full_attention"));
    CHECK(is_published(presets::ministral_3, R"({"head_dim": 128, "max_position_embeddings": 262144,
        "rope_parameters": {"type": "yarn", "rope_theta": 1000000.0, "factor": 16.0,
        "original_max_position_embeddings": 16384, "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0,
        "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1}})"));
    CHECK(is_published(presets::glm_4, R"({"model_type": "glm4", "head_dim": 128, "partial_rotary_factor": 0.5,
        "max_position_embeddings": 32768, "rope_theta": 10000.0})"));
}
