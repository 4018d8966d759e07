// SPDX-License-Identifier: MIT
// What a model_type says: that nothing rotates, and what configs leave unsaid.
#include "cordage/config/family.hpp"

#include <doctest/doctest.h>

#include <string>

#include "cordage/config/read.hpp"

using namespace cordage;

namespace {

/// The config of this model_type with these further fields.
std::string config_of(const std::string& model_type, const std::string& fields) {
    return R"({"model_type": ")" + model_type + R"(", "max_position_embeddings": 1024)" +
           (fields.empty() ? "" : ", " + fields) + "}";
}
std::string error_of(const std::string& model_type, const std::string& fields, bool lenient = false) {
    try {
        hf::read_config(config_of(model_type, fields), {.lenient = lenient});
    } catch (const error& why) {
        return why.what();
    }
    return "";
}
rope_config read(const std::string& model_type, const std::string& fields, const std::string& layer = "") {
    return hf::read_config(config_of(model_type, fields)).of(layer).config;
}

const std::string sizes = R"("hidden_size": 768, "num_attention_heads": 12)";
const std::string only_rotating = "; only models that rotate q and k can be read";

}  // namespace

// They were read as a rotation with theta_base 10000.
TEST_CASE("config/family: a model type without a rotary embedding is refused, and what it has instead is said") {
    CHECK(error_of("gpt2", sizes) ==
          "config: model_type 'gpt2' has no rotary embedding, it has learned positions" + only_rotating);
    CHECK(error_of("bloom", sizes, true) ==
          "config: model_type 'bloom' has no rotary embedding, it has ALiBi" + only_rotating);
    for (const char* type : {"bert", "opt", "ctrl", "xglm", "mpt", "t5", "xlnet", "mamba", "zamba", "jamba",
                             "kimi_linear", "inkling_text", "yoso", "albert"}) {
        CAPTURE(type);
        CHECK(error_of(type, sizes + R"(, "rope_theta": 1e4)", true).find("has no rotary embedding") !=
              std::string::npos);
    }
    CHECK(error_of("llava", R"("text_config": {"model_type": "opt"})").find("model_type 'opt' has no rotary") !=
          std::string::npos);
}

TEST_CASE("config/family: keys by which a model says that it does not rotate") {
    CHECK(error_of("falcon", sizes + R"(, "alibi": true, "rope_theta": 1e4)") ==
          "config: alibi true says that it has ALiBi instead of a rotary embedding" + only_rotating);
    CHECK(error_of("falcon", sizes + R"(, "alibi": false)").empty());
    CHECK(error_of("somebody_s", sizes + R"(, "attn_config": {"alibi": true})").find("alibi true") !=
          std::string::npos);
    CHECK(error_of("esm", sizes + R"(, "position_embedding_type": "absolute")") ==
          "config: position_embedding_type 'absolute' must be 'rope' or 'rotary'" + only_rotating);
    CHECK(error_of("esm", sizes) ==
          "config: model_type 'esm' has a rotary embedding only where position_embedding_type says so" + only_rotating);
    CHECK(error_of("esm", sizes + R"(, "position_embedding_type": "rotary")").empty());
    CHECK(error_of("granitemoehybrid", sizes + R"(, "position_embedding_type": null, "rope_theta": 1e4)")
              .find("only where position_embedding_type says so") != std::string::npos);
    CHECK(error_of("granitemoehybrid", sizes + R"(, "position_embedding_type": "rope")").empty());
    CHECK(error_of("zamba2", sizes + R"(, "use_mem_rope": false)").find("use_mem_rope false") != std::string::npos);
    CHECK(error_of("glm5_next", R"("qk_rope_head_dim": 0, "qk_nope_head_dim": 192)") ==
          "config: qk_rope_head_dim 0 says that no lanes turn" + only_rotating);
}

TEST_CASE("config/family: an unknown model type of which nothing says that it rotates is doubtful") {
    const std::string doubt =
        "config: model_type 'somebody_s' must be a known one, or rope_theta or rope_parameters be "
        "given: nothing says that its q and k are rotated";
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
    CHECK(error_of("gpt2 gpt_bigcode", sizes).find("nothing says") !=
          std::string::npos);  // no name, though the list holds it
}

// hidden_size / num_attention_heads was taken.
TEST_CASE("config/family: sizes that only the model's code states") {
    CHECK(read("gemma2", R"("hidden_size": 2304, "num_attention_heads": 8)").head_dim == 256);
    CHECK(read("qwen3", R"("hidden_size": 1024, "num_attention_heads": 16)").head_dim == 128);
    CHECK(read("qwen3", R"("hidden_size": 1024, "num_attention_heads": 16, "head_dim": 64)").head_dim == 64);
    CHECK(read("gptj", R"("n_embd": 4096, "n_head": 16)").rotary_dim == 64);
    CHECK(read("gptj", R"("n_embd": 4096, "n_head": 16, "rotary_dim": 32)").rotary_dim == 32);
    CHECK(read("gemma3_text", "", "sliding_attention") == rope_config{256, 256, 1e4, 1024});
    CHECK(read("gemma3_text", R"("rope_scaling": {"rope_type": "linear", "factor": 8.0})", "full_attention") ==
          rope_config{256, 256, 1e6, 1024});
}

TEST_CASE("config/family: a model whose code scales by numbers of its own needs its dictionary") {
    CHECK(
        error_of("gpt_oss", sizes) ==
        "config: rope_parameters must be given for model_type 'gpt_oss': its code has numbers of its own for rope type "
        "'yarn'");
    CHECK(error_of("gpt_oss", sizes + R"(, "rope_parameters": {"rope_theta": 150000.0})").empty());
}

TEST_CASE("config/family: every model type is there once, and in one of the two tables") {
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
    CHECK(seen.size() > 100);
}
