// SPDX-License-Identifier: MIT
// Configs of released models, and errors of engines in reading them. (All numbers of golden/policies.json also go
// through hf::read_config: tests/conformance/policies.cpp.)
#include "cordage/models/config/read.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "cordage/basis/rope_scaling.hpp"
#include "cordage/schedule/schedules.hpp"
#include "message_of_error.hpp"

using namespace cordage;

namespace {

/// A Llama's config of 128-wide heads and 32768 positions with these further fields, or another model_type among them.
std::string with(const std::string& fields) {
    const std::string type = fields.find("\"model_type\"") == fields.npos ? R"("model_type": "llama", )" : "";
    return "{" + type + R"("head_dim": 128, "max_position_embeddings": 32768)" + (fields.empty() ? "" : ", " + fields) +
           "}";
}
hf::model_ropes read(const std::string& fields) { return hf::read_config(with(fields)); }
hf::layer_rope only(const std::string& fields) { return read(fields).of(""); }

basis at(const hf::layer_rope& rope, double length) {
    return cordage::rope_scaling(rope.config, rope.policy, rope.schedule).at_length(length);
}
double ratio(const hf::layer_rope& rope, double length) { return ratio_at(rope.schedule, rope.config, length); }

/// The error of a config, or "" if it is accepted.
std::string error_of(const std::string& fields) {
    return cordage_test::message_of_error([&] { read(fields); });
}
bool same_basis(const hf::layer_rope& a, const hf::layer_rope& b, double length) {
    return std::ranges::equal(at(a, length).inv_freq(), at(b, length).inv_freq()) &&
           at(a, length).attention_factor() == at(b, length).attention_factor();
}

const std::string yarn4 = R"("rope_theta": 1e6, "rope_scaling": {"type": "yarn", "factor": 4.0)";

}  // namespace

// Spellings -------------------------------------------------------------------------------------------------------

TEST_CASE("models/config/read: old and new names of one setting are one rule") {
    const auto old_way = only(yarn4 + ", \"original_max_position_embeddings\": 8192}");
    CHECK(ratio(old_way, 10.0) == 4.0);
    CHECK(old_way.config == rope_config{128, 128, 1e6, 8192});
    for (
        const char* fields :
        {R"("rope_theta": 1e6, "original_max_position_embeddings": 8192, "rope_scaling": {"rope_type": "yarn", "factor": 4})",
         R"("rope_parameters": {"rope_type": "yarn", "factor": 4, "rope_theta": 1e6, "original_max_position_embeddings": 8192})",
         R"("rope_theta": 1e6, "rope_scaling": {"type": "yarn", "rope_type": "yarn", "factor": null, "original_max_position_embeddings": 8192})",
         R"("rotary_emb_base": 1e6, "initial_context_length": 8192, "rope_scaling": {"type": "deepseek_yarn", "factor": 4})"}) {
        CAPTURE(fields);
        CHECK(only(fields).config == old_way.config);
        CHECK(same_basis(only(fields), old_way, 100.0));
    }
}

TEST_CASE("models/config/read: no dictionary, an empty one and null are no scaling") {
    for (const char* fields : {"", R"("rope_scaling": null)", R"("rope_scaling": {})", R"("rope_parameters": {})",
                               R"("rope_scaling": {"rope_type": "default"})", R"("rope_scaling": {"type": "none"})"}) {
        const auto rope = only(fields);
        CHECK(rope.rope_type == "default");
        CHECK(at(rope, 1e6).inv_freq()[63] == rope.config.inv_freq(63));
        CHECK(rope.config == rope_config{128, 128, 10000.0, 32768});
    }
}

TEST_CASE("models/config/read: the size of a head, from every key for it") {
    CHECK(hf::read_config(
              R"({"hidden_size": 4096, "num_attention_heads": 32, "max_position_embeddings": 8, "rope_theta": 1e4})")
              .of("")
              .config.head_dim == 128);
    CHECK(hf::read_config(
              R"({"n_embd": 4096, "n_head": 16, "rotary_dim": 64, "n_positions": 2048, "model_type": "gptj"})")
              .of("")
              .config == rope_config{256, 64, 10000.0, 2048});
    // head_dim need not be hidden_size / heads (Gemma, Qwen3).
    CHECK(
        hf::read_config(
            R"({"hidden_size": 2560, "num_attention_heads": 8, "head_dim": 256, "max_position_embeddings": 8, "rope_theta": 1e4})")
            .of("")
            .config.head_dim == 256);
    CHECK_THROWS_WITH_AS(
        hf::read_config(
            R"({"hidden_size": 100, "num_attention_heads": 3, "max_position_embeddings": 8, "rope_theta": 1e4})"),
        "config: hidden_size 100 must be a multiple of num_attention_heads 3, or head_dim must be given", value_error);
    CHECK_THROWS_WITH_AS(hf::read_config(R"({"model_type": "llama", "max_position_embeddings": 8})"),
                         "config: head_dim, or hidden_size and num_attention_heads, must be given", value_error);
    CHECK_THROWS_WITH_AS(
        hf::read_config(R"({"model_type": "llama", "head_dim": 1000000000, "max_position_embeddings": 8})"),
        "rope_config: head_dim 1000000000 must be >= 2 and <= 1048576", value_error);
}

TEST_CASE("models/config/read: a multimodal config's text_config is read") {
    const auto model = hf::read_config(R"({"model_type": "gemma3", "vision_config": {"hidden_size": 1152},
        "text_config": {"model_type": "gemma3_text", "head_dim": 256, "max_position_embeddings": 131072,
                        "rope_local_base_freq": 10000, "rope_theta": 1000000}})");
    CHECK(model.model_type == "gemma3_text");
    // A width at the top level once hid it.
    const auto beside = hf::read_config(
        R"({"text_config": {"head_dim": 64, "max_position_embeddings": 8, "rope_theta": 5e5}, "hidden_size": 77})");
    CHECK(beside.of("").config == rope_config{64, 64, 5e5, 8});
    CHECK(model.of("full_attention").config.theta_base == 1e6);
    CHECK(model.of("full_attention").layout == hf::pair_layout::half_split);
}

// Once the rotation of Music Flamingo's audio part was read, which is at the top level.
TEST_CASE("models/config/read: where the top level and the text_config speak of a rotation, the latter counts") {
    const auto model = hf::read_config(R"({"model_type": "musicflamingo", "head_dim": 1280,
        "max_position_embeddings": 1200, "rope_parameters": {"rope_theta": 1200.0, "partial_rotary_factor": 0.2},
        "text_config": {"model_type": "qwen2", "hidden_size": 4096, "num_attention_heads": 32,
                        "max_position_embeddings": 32768, "rope_parameters": {"rope_theta": 10000.0}}})");
    CHECK(model.model_type == "qwen2");
    CHECK(model.of("").config == rope_config{128, 128, 10000.0, 32768});
    const auto beside = hf::read_config(R"({"model_type": "qwen2_vl", "head_dim": 128, "rope_theta": 1e6,
        "max_position_embeddings": 32768, "text_config": {"hidden_size": 64}})");
    CHECK(beside.of("").config == rope_config{128, 128, 1e6, 32768});
}

TEST_CASE("models/config/read: defaults that only a model's code has") {
    CHECK(only(R"("model_type": "gpt_neox")").config.rotary_dim == 32);
    CHECK(only(R"("model_type": "gpt_neox", "rotary_pct": 0.5)").config.rotary_dim == 64);
    CHECK(read(R"("model_type": "llama4_text")").of("rope").config.theta_base == 5e5);
    CHECK(only(R"("model_type": "chatglm", "rope_ratio": 50)").config.theta_base == 5e5);
    // The ratio was once ignored beside a rope_theta.
    CHECK(only(R"("model_type": "chatglm", "rope_theta": 10000, "rope_ratio": 500)").config.theta_base == 5e6);
    CHECK(only(R"("model_type": "mine", "rope_parameters": {"rope_theta": 10000}, "rope_ratio": 500)")
              .config.theta_base == 5e6);
    CHECK(only(R"("model_type": "somebody_s", "rope_theta": 1e4)").layout == hf::pair_layout::unknown);
    CHECK(only(R"("model_type": "somebody_s", "rope_interleave": true)").layout == hf::pair_layout::interleaved);
}

// Errors of engines ------------------------------------------------------------------------------------------------

// vLLM, mlx-lm and others ignored it; scores were off by its square.
TEST_CASE("models/config/read: YaRN's attention factor is set, and a given one takes precedence") {
    const std::string original = ", \"original_max_position_embeddings\": 32768";
    CHECK(at(only(yarn4 + original + "}"), 1).attention_factor() == doctest::Approx(1.138629436111989).epsilon(1e-14));
    CHECK(at(only(yarn4 + original + R"(, "attention_factor": 1.25, "mscale": 1, "mscale_all_dim": 0.5})"), 1)
              .attention_factor() == 1.25);
    CHECK(at(only(yarn4 + original + R"(, "mscale": 0.707, "mscale_all_dim": 1.0})"), 1).attention_factor() ==
          doctest::Approx((0.0707 * std::log(4.0) + 1) / (0.1 * std::log(4.0) + 1)).epsilon(1e-14));
}

TEST_CASE("models/config/read: Ministral 3, mscale = mscale_all_dim = 1 is a factor of 1, and its query temperature") {
    const auto rope =
        hf::read_config(R"({"model_type": "ministral3", "head_dim": 128, "max_position_embeddings": 262144,
        "rope_parameters": {"type": "yarn", "rope_theta": 1000000.0, "factor": 16.0,
            "original_max_position_embeddings": 16384, "max_position_embeddings": 262144, "beta_fast": 32.0,
            "beta_slow": 1.0, "mscale_all_dim": 1.0, "mscale": 1.0, "llama_4_scaling_beta": 0.1}})")
            .of("");
    CHECK(at(rope, 1).attention_factor() == 1.0);
    REQUIRE(rope.temperature.has_value());
    CHECK(rope.temperature->beta == 0.1);
    CHECK(ratio(rope, 1) == 16.0);
}

// transformers 5.24 looks it up beside the layer types and so ignores it.
TEST_CASE("models/config/read: truncate false is kept, flat and by layer type") {
    const std::string dict =
        R"({"rope_type": "yarn", "factor": 32, "original_max_position_embeddings": 4096, "rope_theta": 150000)";
    const std::string head = R"({"head_dim": 64, "max_position_embeddings": 131072, "rope_parameters": )";
    const auto flat = hf::read_config(head + dict + ", \"truncate\": false}}").of("");
    const auto nested =
        hf::read_config(head + R"({"sliding_attention": null, "full_attention": )" + dict + ", \"truncate\": false}}}")
            .of("full_attention");
    const auto truncated = hf::read_config(head + dict + "}}").of("");
    CHECK(at(flat, 1).inv_freq()[9] == doctest::Approx(0.03170569618466377).epsilon(1e-13));  // golden, gpt-oss-20b
    CHECK(same_basis(flat, nested, 1));
    CHECK(at(truncated, 1).inv_freq()[9] == doctest::Approx(0.03162075227534649).epsilon(1e-13));
}

TEST_CASE("models/config/read: YaRN's ramp is described with the 0.001 that the formula adds to equal ends") {
    const auto rope = only(yarn4 + R"(, "original_max_position_embeddings": 32768, "beta_fast": 2, "beta_slow": 2,
                                      "truncate": false})");
    const double low = 128.0 * std::log(32768.0 / (4.0 * std::acos(-1.0))) / (2.0 * std::log(1e6));
    CHECK(rope.policy_words.find(message("pairs up to ", low, " kept, from ", low + 0.001, " on divided")) !=
          std::string::npos);
}

TEST_CASE("models/config/read: beta_fast and beta_slow in the wrong order are rejected") {
    CHECK(error_of(yarn4 + R"(, "beta_fast": 1, "beta_slow": 32})") ==
          "yarn: beta_fast 1 must be finite and >= beta_slow 32");
}

TEST_CASE("models/config/read: dynamic NTK changes with the length, from max_position_embeddings on") {
    const auto rope = only(R"("rope_scaling": {"type": "dynamic", "factor": 2.0})");
    CHECK(ratio(rope, 1000) == 1.0);
    CHECK(ratio(rope, 32768) == 1.0);
    CHECK(ratio(rope, 65536) == 3.0);
    CHECK(ratio(rope, 98304) == 5.0);
    // Hunyuan's alpha is the same change of base at every length.
    const auto hunyuan = only(
        R"("model_type": "hunyuan_v1_dense", "rope_scaling": {"type": "dynamic", "alpha": 1000.0, "factor": 1.0, "beta_fast": 32,
                                                  "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0})");
    CHECK(at(hunyuan, 1).inv_freq()[63] == doctest::Approx(hunyuan.config.inv_freq(63) / 1000.0).epsilon(1e-13));
    CHECK(ratio(hunyuan, 1) == 1000.0);
}

TEST_CASE("models/config/read: LongRoPE's regimes meet between two tokens, with one attention factor") {
    std::string shorts = "1.0", longs = "2.0";
    for (int i = 1; i < 64; ++i) shorts += ", 1.0", longs += ", 2.0";
    const std::string tables = R"("short_factor": [)" + shorts + R"(], "long_factor": [)" + longs + "]";
    const std::string original = R"("original_max_position_embeddings": 4096, "rope_scaling": )";
    const std::string fields = original + R"({"type": "su", )";
    const auto rope = only(fields + tables + "}");
    CHECK(rope.rope_type == "longrope");
    CHECK(same_basis(only(original + R"({"type": "yarn", )" + tables + "}"), rope, 4097));  // early Phi-3 configs
    CHECK(at(rope, 4096).inv_freq()[0] == 1.0);
    CHECK(at(rope, 4097).inv_freq()[0] == 0.5);
    CHECK(at(rope, 4096).attention_factor() == at(rope, 4097).attention_factor());
    CHECK(at(rope, 1).attention_factor() == longrope_attention_factor(8.0, 4096.0));
    CHECK(at(only(fields + tables + R"(, "short_mscale": 1.24, "long_mscale": 1.24})"), 1).attention_factor() == 1.24);
    CHECK(error_of(fields + tables + R"(, "short_mscale": 1.24, "long_mscale": 1.5})").find("short_mscale") !=
          std::string::npos);
    CHECK(error_of(fields + R"("short_factor": [1, 2], "long_factor": [1, 2]})") ==
          "longrope: short_factor size 2 must be rotary_dim/2 = 64");
    CHECK(error_of(fields + R"("short_factor": [1, 2]})") ==
          "rope_scaling: long_factor must be given for rope type 'longrope'");
    // MiniCPM supports no length beyond the original one, but has long factors.
    const auto mini =
        only(R"("rope_scaling": {"rope_type": "longrope", "original_max_position_embeddings": 32768, )" + tables + "}");
    CHECK(at(mini, 32768).inv_freq()[0] == 1.0);
    CHECK(at(mini, 32769).inv_freq()[0] == 0.5);
    CHECK(at(mini, 32769).attention_factor() == 1.0);
}

TEST_CASE("models/config/read: the policy of a config goes with any schedule, such as YaRN by request") {
    const auto rope = only(yarn4 + ", \"original_max_position_embeddings\": 8192}");
    const cordage::rope_scaling by_request(rope.config, rope.policy, nearest_upper_bound({1, 2, 4}));
    CHECK(by_request.at_length(8000).inv_freq()[63] == rope.config.inv_freq(63));  // short texts are not scaled
    CHECK(by_request.at_length(8000).attention_factor() == 1.0);
    CHECK(by_request.ratio(9000) == 2.0);
    CHECK(std::ranges::equal(by_request.at_length(32768).inv_freq(), at(rope, 1).inv_freq()));
}

// Six engines also scaled Gemma 3's local layers.
TEST_CASE("models/config/read: Gemma 3 scales its global layers alone, old and new spelling") {
    const auto old_way = read(
        R"("model_type": "gemma3_text", "rope_theta": 1e6, "rope_local_base_freq": 1e4, "rope_scaling": {"rope_type": "linear", "factor": 8.0})");
    const auto new_way = read(R"("model_type": "gemma3_text", "rope_parameters": {
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}})");
    for (const auto& model : {old_way, new_way}) {
        CHECK(at(model.of("full_attention"), 1).inv_freq()[0] == doctest::Approx(0.125).epsilon(1e-15));
        CHECK(model.of("full_attention").config.theta_base == 1e6);
        CHECK(at(model.of("sliding_attention"), 1).inv_freq()[0] == 1.0);
        CHECK(model.of("sliding_attention").config.theta_base == 1e4);
        CHECK_THROWS_WITH_AS(model.of("chunked_attention"),
                             doctest::Contains("layer_type 'chunked_attention' must be one of full_attention"),
                             value_error);
    }
}

TEST_CASE("models/config/read: by layer type, top-level values for one type must agree") {
    const auto dict = [](const std::string& entries) { return R"("rope_parameters": {)" + entries + "}"; };
    const std::string local = R"("rope_local_base_freq": 5000, )";
    CHECK(read(local + dict(R"("sliding_attention": {}, "full_attention": {"rope_theta": 1e6})"))
              .of("sliding_attention")
              .config.theta_base == 5000.0);
    CHECK(error_of(local + dict(R"("sliding_attention": {"rope_theta": 10000})")) ==
          "config: rope_local_base_freq 5000 must equal rope_theta 10000");
    CHECK(error_of(R"("global_rope_theta": 5000, )" + dict(R"("full_attention": {"rope_theta": 10000})")) ==
          "config: global_rope_theta 5000 must equal rope_theta 10000");
    CHECK(error_of(R"("compress_rope_theta": 5000, )" + dict(R"("compress": {"rope_theta": 10000})")) ==
          "config: compress_rope_theta 5000 must equal rope_theta 10000");
    CHECK(error_of(R"("rotary_emb_base": 5000, "rope_parameters": {"rope_theta": 10000})") ==
          "config: rotary_emb_base 5000 must equal rope_theta 10000");
}

TEST_CASE("models/config/read: Olmo 3 scales only the layers that see everything") {
    const auto model = read(R"("model_type": "olmo3", "rope_theta": 5e5, "rope_scaling":
        {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 8192, "attention_factor": 1.2079441541679836})");
    CHECK(ratio(model.of("full_attention"), 1) == 8.0);
    CHECK(ratio(model.of("sliding_attention"), 1) == 1.0);
    CHECK(model.of("sliding_attention").config.theta_base == 5e5);
    CHECK(at(model.of("sliding_attention"), 1).attention_factor() == 1.0);
}

TEST_CASE("models/config/read: partial rotary has exponents over the rotated width, and is applied once") {
    const std::string phi3 = R"("model_type": "phi3", )";
    const auto of_phi3 = [&](const std::string& fields) { return only(phi3 + fields); };
    const auto error_of_phi3 = [&](const std::string& fields) { return error_of(phi3 + fields); };
    const auto rope = of_phi3(R"("partial_rotary_factor": 0.5)");
    CHECK(rope.config.head_dim == 128);
    CHECK(rope.config.rotary_dim == 64);
    CHECK(at(rope, 1).inv_freq()[31] == doctest::Approx(std::pow(1e4, -62.0 / 64.0)).epsilon(1e-14));
    CHECK(of_phi3(R"("partial_rotary_factor": 0.5, "rotary_pct": 0.5,
                  "rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5})")
              .config == rope.config);
    CHECK(only(R"("model_type": "somebody_s", "rotary_dim": 64)").config == rope.config);
    CHECK(of_phi3(R"("rotary_dim": 64, "partial_rotary_factor": 0.5)").config == rope.config);
    CHECK(error_of_phi3(R"("partial_rotary_factor": 0.5, "rotary_pct": 0.25)") ==
          "config: rotary_pct 0.25 must equal partial_rotary_factor 0.5");
    CHECK(error_of_phi3(R"("rotary_dim": 64, "partial_rotary_factor": 0.25)").find("rotary_dim 64") !=
          std::string::npos);
    CHECK(error_of(R"("model_type": "gptj", "rotary_dim": 33)").find("rotary_dim 33 must be even") !=
          std::string::npos);
    CHECK(error_of_phi3(R"("partial_rotary_factor": -0.5)") == "config: partial_rotary_factor -0.5 must be in (0, 1]");
    CHECK(error_of_phi3(R"("partial_rotary_factor": 1.0078125)") ==  // 129 of 128 lanes
          "config: partial_rotary_factor 1.0078125 must be in (0, 1]");
    CHECK(error_of_phi3(R"("partial_rotary_factor": 0.0078125)") == "");
    CHECK(error_of_phi3(R"("partial_rotary_factor": 0.00390625)") ==
          "config: partial_rotary_factor 0.00390625 of head_dim 128 is 0 lanes, must be an even number >= 2");
    // transformers rounds an odd number of lanes up, with exponents over the odd number.
    const auto odd = of_phi3(R"("partial_rotary_factor": 0.2578125)");
    CHECK(odd.config.rotary_dim == 34);
    CHECK(at(odd, 1).inv_freq()[16] == doctest::Approx(std::pow(1e4, -32.0 / 33.0)).epsilon(1e-14));
    CHECK(error_of_phi3(R"("partial_rotary_factor": 0.2578125, "rope_scaling": {"type": "dynamic", "factor": 2.0})") ==
          "config: partial_rotary_factor 0.2578125 of head_dim 128 is 33 lanes, must be an even number >= 2");
    CHECK_THROWS_WITH_AS(hf::read_config(R"({"model_type": "llama", "head_dim": 63, "max_position_embeddings": 8})"),
                         "config: head_dim 63 is 63 lanes, must be an even number >= 2", value_error);
}

TEST_CASE("models/config/read: p-RoPE leaves the slowest pairs at rest, with exponents over the head") {
    const auto model = hf::read_config(R"({"model_type": "gemma4_text", "head_dim": 256, "global_head_dim": 512,
        "max_position_embeddings": 131072, "rope_parameters": {
        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1000000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}})");
    const auto& global = model.of("full_attention");
    CHECK(global.config.rotary_dim == 512);
    CHECK(at(global, 1).inv_freq()[63] == doctest::Approx(std::pow(1e6, -126.0 / 512.0)).epsilon(1e-14));
    CHECK(at(global, 1).inv_freq()[64] == 0.0);
    CHECK(model.of("sliding_attention").config.rotary_dim == 256);
}

// Once rejected: high_freq_factor had to be greater.
TEST_CASE("models/config/read: Llama 4 Scout's equal limits are a step") {
    const auto model = read(R"("model_type": "llama4_text", "rope_theta": 500000.0, "no_rope_layers": [],
        "rope_scaling": {"rope_type": "llama3", "factor": 16.0, "low_freq_factor": 1.0, "high_freq_factor": 1.0,
                         "original_max_position_embeddings": 8192})");
    const auto& rope = model.of("rope");
    const basis b = at(rope, 1);
    for (index_t pair = 0; pair < 64; ++pair) {
        const double theta = rope.config.inv_freq(pair), turns = 8192.0 * theta / (2.0 * std::acos(-1.0));
        CHECK(b.inv_freq()[static_cast<std::size_t>(pair)] ==
              doctest::Approx(turns >= 1.0 ? theta : theta / 16.0).epsilon(1e-14));
    }
    CHECK(hf::describe(rope).find("rotating at least 1 times in the original length kept, all others divided by t") !=
          std::string::npos);
}

TEST_CASE("models/config/read: Llama 3's keys are all needed") {
    const std::string all =
        R"("rope_scaling": {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192, )";
    const auto rope = only(R"("rope_theta": 500000.0, )" + all + R"("low_freq_factor": 1.0, "high_freq_factor": 4.0})");
    CHECK(at(rope, 1).inv_freq()[63] == doctest::Approx(3.068925988914511e-07).epsilon(1e-13));
    CHECK(error_of(all + R"("low_freq_factor": 1.0})") ==
          "rope_scaling: high_freq_factor must be given for rope type 'llama3'");
    CHECK(error_of(all + R"("low_freq_factor": 4.0, "high_freq_factor": 3.0})") ==
          "rope_scaling: high_freq_factor 3 must be >= low_freq_factor 4");
    CHECK(
        error_of(R"("rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4})")
            .find("original_max_position_embeddings must be given") != std::string::npos);
}

// The wrong layout degrades a model silently.
TEST_CASE("models/config/read: the layout of pairs is known by family, DeepSeek V3.2's indexer included") {
    CHECK(only(R"("model_type": "llama")").layout == hf::pair_layout::half_split);
    CHECK(only(R"("model_type": "glm4")").layout == hf::pair_layout::interleaved);
    const auto model = hf::read_config(R"({"model_type": "deepseek_v32", "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64, "index_head_dim": 128, "max_position_embeddings": 163840, "rope_theta": 10000})");
    CHECK(model.of("attention").layout == hf::pair_layout::interleaved);
    CHECK(model.of("attention").first_lane == 128);
    CHECK(model.of("indexer").layout == hf::pair_layout::half_split);
    CHECK(model.of("indexer").first_lane == 0);
    CHECK(model.of("indexer").config.head_dim == 128);
    CHECK(model.of("indexer").config.rotary_dim == 64);
}

TEST_CASE(
    "models/config/read: DeepSeek V4 rotates the last lanes of its heads, and scales the compressed layers only") {
    const auto model = hf::read_config(R"({"model_type": "deepseek_v4", "head_dim": 512, "qk_rope_head_dim": 64,
        "max_position_embeddings": 1048576, "rope_theta": 10000.0, "compress_rope_theta": 160000.0,
        "partial_rotary_factor": 0.125, "rope_scaling": {"type": "yarn", "factor": 16, "beta_fast": 32,
        "beta_slow": 1, "original_max_position_embeddings": 65536}})");
    CHECK(model.of("main").config == rope_config{64, 64, 10000.0, 1048576});
    CHECK(model.of("main").first_lane == 448);
    CHECK(ratio(model.of("main"), 1) == 1.0);
    CHECK(model.of("compress").config == rope_config{64, 64, 160000.0, 65536});
    CHECK(ratio(model.of("compress"), 1) == 16.0);
    CHECK(at(model.of("compress"), 1).attention_factor() == 1.0);
    // If a head has parts, 1 is a share of the rotated part, any other value one of the whole head.
    const std::string parts = R"("model_type": "somebody_s", "qk_rope_head_dim": 64, "qk_nope_head_dim": 448, )";
    CHECK(error_of(parts + R"("partial_rotary_factor": 1.0)").empty());
    CHECK(error_of(parts + R"("partial_rotary_factor": 0.25)") ==
          "config: partial_rotary_factor 0.25 must give qk_rope_head_dim 64 lanes");
}

TEST_CASE("models/config/read: M-RoPE's sections, in blocks and interleaved, under both names of its type") {
    const auto blocks = only(R"("model_type": "qwen2_vl", "rope_scaling": {"type": "mrope", "rope_type": "default",
                                "mrope_section": [16, 24, 24]})");
    CHECK(blocks.rope_type == "default");
    CHECK(blocks.axis_of_pair == contiguous_axes({16, 24, 24}));
    const auto around = only(R"("model_type": "mine", "rope_parameters": {"rope_type": "default",
                                "rope_theta": 5e6, "mrope_interleaved": true, "mrope_section": [24, 20, 20]})");
    CHECK(around.axis_of_pair == interleaved_axes({24, 20, 20}));
    // Qwen 3.5: sections count the pairs of a partial rotation, beside YaRN.
    const auto partial = hf::read_config(R"({"model_type": "qwen3_5_text", "head_dim": 256,
        "max_position_embeddings": 262144, "rope_parameters": {"rope_type": "yarn", "factor": 4.0,
        "original_max_position_embeddings": 262144, "rope_theta": 1e7, "partial_rotary_factor": 0.25,
        "mrope_section": [11, 11, 10], "mrope_interleaved": true}})")
                             .of("");
    CHECK(partial.config.rotary_dim == 64);
    CHECK(partial.axis_of_pair == interleaved_axes({11, 11, 10}));
    CHECK(error_of(R"("model_type": "qwen2_vl", "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 23]})") ==
          "rope_scaling: mrope_section sums to 63, must sum to rotary_dim/2 = 64");
    CHECK(error_of(
              R"("model_type": "mine", "rope_parameters": {"mrope_interleaved": true, "mrope_section": [0, 32, 32]})")
              .find("rope_parameters: mrope_section: interleaved_axes: sections[1] 32 must be at most 21") == 0);
    CHECK(error_of(R"("rope_scaling": {"type": "mrope"})") ==
          "rope_scaling: mrope_section must be given for rope type 'mrope'");
    CHECK(error_of(R"("model_type": "qwen2_vl", "rope_scaling": {"type": "mrope", "mrope_section": [-16, 40, 40]})")
              .find("-16") != std::string::npos);
}

TEST_CASE("models/config/read: CLEX's own keys, in the dictionary and beside it") {
    const auto model = hf::read_config(R"({"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
        "max_position_embeddings": 4096, "log_scale": true, "rope_scaling": {"type": "clex", "max_factor": 16,
        "param_factor": 1, "factor": 1, "time_dt": 0.05, "act": "silu"}})");
    const auto& rope = model.of("");
    REQUIRE(rope.clex.has_value());
    CHECK(rope.needs_weights);
    CHECK(rope.clex->max_factor == 16.0);
    CHECK(rope.clex->time_dt == 0.05);
    CHECK(rope.clex->act == "silu");
    CHECK(rope.clex->log_scale);
    CHECK(ratio(rope, 4096) == 1.0);
    CHECK(ratio(rope, 4097) == 2.0);
    CHECK(ratio(rope, 1e6) == 16.0);
    // Without weights it is the released drift, NTK-aware scaling by 2t - 1.
    CHECK(at(rope, 8192).inv_freq()[63] == doctest::Approx(rope.config.inv_freq(63) / 3.0).epsilon(1e-13));
    std::vector<double> rate(64);
    log_alpha_rate(rope.policy, rope.config, 2.0, rate);
    CHECK(rate[63] == doctest::Approx(-2.0 / 3.0).epsilon(1e-13));  // d/dt of -ln(2t - 1)
    CHECK(error_of(R"("rope_scaling": {"type": "clex", "max_factor": 1000000, "time_dt": 1e-9})") ==
          "rope_scaling: time_dt 1e-09 must be large enough that steps to max_factor 1000000 times "
          "pairs 64 are at most 16777216");
    CHECK(error_of(R"("rope_scaling": {"type": "clex", "act": "gelu"})") ==
          "rope_scaling: act 'gelu' must be 'tanh' or 'silu'");
    CHECK(
        error_of(R"("rope_scaling": {"type": "clex", "max_factor": 1.5})").find("max_factor 1.5 must be an integer") !=
        std::string::npos);
}

TEST_CASE("models/config/read: dynamic YaRN is YaRN at the exact t of every length") {
    const auto rope = only(R"("rope_scaling": {"type": "dynamic-yarn", "original_max_position_embeddings": 4096})");
    CHECK(ratio(rope, 4096) == 1.0);
    CHECK(ratio(rope, 10240) == 2.5);
    CHECK(at(rope, 10240).attention_factor() == doctest::Approx(0.1 * std::log(2.5) + 1.0).epsilon(1e-15));
}

TEST_CASE("models/config/read: a layer type that is null is not rotated, where its code says so") {
    const auto model = read(
        R"("model_type": "beam", "rope_parameters": {"full_attention": null, "sliding_attention": {"rope_theta": 1e4}})");
    CHECK(model.of("full_attention").rope_type == "none");
    const basis still = at(model.of("full_attention"), 1);
    for (const double theta : still.inv_freq()) CHECK(theta == 0.0);
    CHECK(at(model.of("sliding_attention"), 1).inv_freq()[0] == 1.0);
    // Each held a mask of every pair, so that a few kilobytes of nulls took a gigabyte.
    CHECK_NOTHROW(validate(model.of("full_attention").policy, rope_config{1 << 20, 1 << 20, 1e4, 8}));
    // Gemma's code fills in its defaults, others fail.
    for (const char* type : {"gemma3_text", "olmo3", "deepseek_v4"}) {
        CHECK(error_of(R"("rope_parameters": {"full_attention": null, "sliding_attention": {"rope_theta": 1e4}},
                       "model_type": ")" +
                       std::string(type) + "\"") ==
              "rope_parameters: full_attention null must be a dictionary: this model_type rotates these layers");
    }
}

// Read as the family's default.
TEST_CASE("models/config/read: a null where transformers does not take the default is an error") {
    CHECK(error_of(R"("rope_parameters": {"rope_theta": null})") ==
          "rope_parameters: rope_theta null must be a number or left out");
    CHECK(error_of(R"("model_type": "gemma3_text", "rope_parameters": {"full_attention": {"rope_theta": null},
                   "sliding_attention": {"rope_theta": 1e4}})") ==
          "rope_parameters.full_attention: rope_theta null must be a number or left out");
    CHECK(only(R"("rope_theta": 5e5, "rope_parameters": {"rope_theta": null})").config.theta_base == 5e5);
    CHECK(error_of(yarn4 + R"(, "original_max_position_embeddings": 8192, "truncate": null})") ==
          "rope_scaling: truncate null must be true or false: transformers reads null as false");
}

// All layers were once described as rotated alike.
TEST_CASE("models/config/read: layers without rotation have a rule of their own") {
    for (const char* fields : {R"("model_type": "smollm3", "no_rope_layers": [1, 1, 1, 0])",
                               R"("model_type": "smollm3")", R"("model_type": "llama4_text", "no_rope_layers": [])",
                               R"("model_type": "mine", "rope_theta": 1e4, "no_rope_layer_interval": 4)"}) {
        CAPTURE(fields);
        const auto model = read(fields);
        CHECK(at(model.of("rope"), 1).inv_freq()[0] == 1.0);
        CHECK(at(model.of("no_rope"), 1).inv_freq()[0] == 0.0);
    }
    CHECK(only(R"("model_type": "smollm3", "no_rope_layers": [1, 1, 1])").rope_type == "default");
    const auto cohere = read(R"("model_type": "cohere2")");
    CHECK(cohere.of("full_attention").rope_type == "none");
    CHECK(cohere.of("sliding_attention").rope_type == "default");
    CHECK(error_of(R"("model_type": "qwen", "use_dynamic_ntk": true)") ==
          "config: use_dynamic_ntk true must be false: its rule for more than seq_length tokens is not supported");
}

TEST_CASE("models/config/read: layer types are counted before they are read") {
    std::string nulls;
    for (int i = 0; i < 64; ++i) nulls += message(", \"layer", i, "\": null");
    CHECK(error_of(R"("rope_parameters": {"last": {})" + nulls + "}") ==
          "rope_parameters: 65 layer types must be at most 64");
}

// Doubtful settings -----------------------------------------------------------------------------------------------

TEST_CASE("models/config/read: an unknown key is an error that names it and the nearest known one") {
    CHECK(error_of(yarn4 + R"(, "beta_fst": 32})") ==
          "rope_scaling: key 'beta_fst' must be a known key; did you mean 'beta_fast'?");
    CHECK(error_of(R"("rope_parameters": {"full_attention": {"rope_type": "linear", "factr": 2.0}})")
              .find("rope_parameters.full_attention: key 'factr' must be a known key; did you mean 'factor'?") == 0);
    CHECK(error_of(R"("rope_scalling": {"type": "linear", "factor": 2})") ==
          "config: key 'rope_scalling' must be a known key; did you mean 'rope_scaling'?");
    CHECK(error_of(R"("rope_tetha": 1e6)") ==
          "config: key 'rope_tetha' must be a known key; did you mean 'rope_theta'?");
    CHECK(error_of(R"("rope_scaling": {"rope_type": "yran", "factor": 2.0})") ==
          "rope_scaling: rope_type 'yran' must be one of mrope, su, default, linear, dynamic, ntk, codellama, yarn, "
          "llama3, dynamic-yarn, longrope, proportional, clex; did you mean 'yarn'?");
    // Once, of a misspelt rope_type the error said that the keys of the type had to go.
    CHECK(error_of(R"("rope_scaling": {"rope_typ": "yarn", "factor": 8})") ==
          "rope_scaling: key 'rope_typ' must be a known key; did you mean 'rope_type'?");
    CHECK(error_of(R"("rope_parameters": {"full_attention": {"rope_typ": "linear", "factor": 8}})") ==
          "rope_parameters.full_attention: key 'rope_typ' must be a known key; did you mean 'rope_type'?");
}

// Once, such layers had no rule, and without layer_types nothing was said.
TEST_CASE("models/config/read: a misspelt layer type is an error that names it and the nearest known one") {
    const std::string dictionaries =
        R"("rope_parameters": {"full_atention": {"rope_theta": 1e6}, "sliding_attention": {"rope_theta": 1e4}})";
    CHECK(error_of(dictionaries) ==
          "rope_parameters: layer type 'full_atention' must be a known layer type; did you mean 'full_attention'?");
    CHECK(error_of(R"("num_hidden_layers": 2, "layer_types": ["full_attention", "sliding_attention"], )" +
                   dictionaries) ==
          "rope_parameters: layer type 'full_atention' must be a known layer type; did you mean 'full_attention'?");
    CHECK(error_of(R"("model_type": "gemma3_text", "num_hidden_layers": 2, "rope_local_base_freq": 1e4,
                      "layer_types": ["full_attention", "sliding_atention"])") ==
          "config: layer type 'sliding_atention' must be a known layer type; did you mean 'sliding_attention'?");
    CHECK(error_of(R"("rope_parameters": {"global": {"rope_theta": 1e6}, "local": {"rope_theta": 1e4}})").empty());
}

TEST_CASE("models/config/read: a key that its type ignores, or that contradicts another, is an error") {
    CHECK(error_of(R"("rope_scaling": {"factor": 2.0})") ==
          "rope_scaling: key 'factor' must be left out: rope type 'default' ignores it");
    CHECK(error_of(R"("rope_scaling": {"type": "linear", "factor": 2, "beta_fast": 32})").find("'beta_fast'") !=
          std::string::npos);
    CHECK(error_of(R"("rope_scaling": {"type": "linear", "factor": 2, "beta_fast": null})").empty());
    CHECK(error_of(R"("rope_scaling": {"type": "linear", "rope_type": "yarn", "factor": 2})") ==
          "rope_scaling: type 'linear' must equal rope_type 'yarn'");
    CHECK(error_of(R"("rope_theta": 1e4, "rope_parameters": {"rope_theta": 1e6})") ==
          "config: rope_theta 10000 must equal rope_theta 1000000");
    CHECK(
        error_of(
            R"("original_max_position_embeddings": 4096, "rope_scaling": {"type": "yarn", "factor": 2, "original_max_position_embeddings": 8192})")
            .find("original_max_position_embeddings 8192 must equal original_max_position_embeddings 4096") !=
        std::string::npos);
    CHECK(error_of(R"("rope_scaling": {"type": "linear", "factor": 2}, "rope_parameters": {"rope_type": "default"})") ==
          "config: rope_scaling must equal rope_parameters or be left out");
    CHECK(error_of(R"("rope_scaling": {"type": "yarn"})") ==  // t would be 1
          "rope_scaling: factor or original_max_position_embeddings must be given for rope type 'yarn'");
    CHECK(error_of(R"("rope_scaling": {"type": "yarn", "original_max_position_embeddings": 64})").empty());
    CHECK(error_of(R"("kv_channels": 64)") == "config: kv_channels 64 must equal head_dim 128");
    CHECK(error_of(R"("model_type": "somebody_s", "rope_interleave": true, "rope_interleaved": false)") ==
          "config: rope_interleaved must equal the other keys for the pair layout");
    CHECK(error_of(yarn4 + R"(, "attn_factor": 0.5})").find("attn_factor 0.5 must be 1") != std::string::npos);
}

TEST_CASE("models/config/read: a lenient reader gives warnings instead of errors") {
    const auto model = hf::read_config(
        with(R"("rope_tetha": 1e6, "rope_scaling": {"type": "linear", "factor": 2.0, "beta_fst": 32, "mscale": 1})"),
        {.lenient = true});
    CHECK(model.warnings.size() == 3);
    CHECK(ratio(model.of(""), 1) == 2.0);
    CHECK(hf::describe(model).find("warning: rope_scaling: key 'beta_fst'") != std::string::npos);
    // What cannot be interpreted is an error even so.
    CHECK_THROWS_AS(hf::read_config(with(R"("rope_scaling": {"type": "yran"})"), {.lenient = true}), value_error);
    CHECK_THROWS_AS(hf::read_config(with(R"("rope_theta": "big")"), {.lenient = true}), value_error);
}

// Hostile files ---------------------------------------------------------------------------------------------------

TEST_CASE("models/config/read: numbers out of their domain and wrong types are one clear error each") {
    const auto linear = [](const std::string& factor) {
        return error_of(R"("rope_scaling": {"type": "linear", "factor": )" + factor + "}");
    };
    CHECK(linear("-2.0") == "rope_scaling: factor -2 must be >= 1");
    CHECK(linear("0") == "rope_scaling: factor 0 must be >= 1");
    CHECK(linear("\"2\"") == "rope_scaling: factor \"2\" must be a number");
    CHECK(linear("[2]") == "rope_scaling: factor [...] must be a number");
    CHECK(linear("null") == "rope_scaling: factor must be given for rope type 'linear'");
    CHECK(linear("NaN").find("hf::read_config: text must be JSON") == 0);
    CHECK(linear("Infinity").find("hf::read_config: text must be JSON") == 0);
    CHECK(linear("1e999").find("hf::read_config: text must be JSON") == 0);
    CHECK(linear("2, \"factor\": 4") == "hf::read_config: key 'factor' must occur once in its object");
    CHECK(error_of(R"("rope_scaling": "yarn")") == "rope_scaling: \"yarn\" must be an object");
    CHECK(error_of(R"("rope_scaling": [])") == "rope_scaling: [...] must be an object");
    CHECK(error_of(R"("rope_scaling": {"type": 5})") == "rope_scaling: type 5 must be a string");
    CHECK(error_of(R"("rope_theta": 0)") == "config: rope_theta 0 must be > 1");
    CHECK(error_of(R"("rope_theta": -10000.0)") == "config: rope_theta -10000 must be > 1");
    CHECK(error_of(yarn4 + R"(, "original_max_position_embeddings": -1})") ==
          "rope_scaling: original_max_position_embeddings -1 must be >= 1");
    CHECK(error_of(R"("rope_scaling": {"type": "yarn", "original_max_position_embeddings": 65536})") ==
          "rope_scaling: max_position_embeddings 32768 must be >= original_max_position_embeddings 65536, or "
          "factor must be given");
    CHECK(error_of(yarn4 + R"(, "attention_factor": -1})") == "rope_scaling: attention_factor -1 must be > 0");
    CHECK(error_of(yarn4 + R"(, "truncate": 1})") == "rope_scaling: truncate 1 must be true or false");
    CHECK_THROWS_AS(hf::read_config("[]"), value_error);
    CHECK_THROWS_AS(hf::read_config("null"), value_error);
    CHECK_THROWS_AS(hf::read_config(""), value_error);
    CHECK_THROWS_WITH_AS(hf::read_config(R"({"model_type": "llama", "head_dim": 64.5, "max_position_embeddings": 8})"),
                         "config: head_dim 64.5 must be an integer in 1 ... 2^31", value_error);
    CHECK_THROWS_AS(hf::read_config(R"({"head_dim": 64, "max_position_embeddings": 0})"), value_error);
}

TEST_CASE("models/config/read: a text cut anywhere is one error") {
    const std::string whole = with(yarn4 + ", \"original_max_position_embeddings\": 8192}");
    for (std::size_t size = 0; size < whole.size(); ++size) {
        CHECK_THROWS_AS(hf::read_config(whole.substr(0, size)), value_error);
    }
}

TEST_CASE("models/config/read: a file that is not there is named") {
    CHECK_THROWS_WITH_AS(hf::read_config_file("no/such/config.json"),
                         "hf::read_config_file: no/such/config.json must be a readable file of at most 67108864 bytes",
                         value_error);
}

TEST_CASE("models/config/read: the rule is described as text") {
    const auto text = hf::describe(read(R"("model_type": "qwen2", )" + yarn4 + R"(, "truncate": false})"));
    for (const char* part : {"model type qwen2", "128 of 128 lanes, 64 pairs, half_split, theta_base 1000000", "YaRN",
                             "not truncated", "t = 4 at every length", "0.1 ln t + 1"}) {
        CAPTURE(part);
        CHECK(text.find(part) != std::string::npos);
    }
}

TEST_CASE("models/config/read: names out of a file reach no terminal as they are") {
    const std::string escape = "\\u001b[2J", name = "full_attention" + escape;
    const auto model =
        read(R"("model_type": "a)" + escape + R"(", "rope_parameters": {")" + name + R"(": {"rope_type": "default"}})");
    CHECK(hf::describe(model).find("layers: full_attention?[2J") != std::string::npos);
    // Any axes of pairs: one without a pair, and as many as fit the type.
    hf::layer_rope axes = model.ropes[0];
    axes.axis_of_pair = {1, 1, 2};
    CHECK(hf::describe(axes).find("\n  axes: 0, 2, 1 pairs each, in blocks") != std::string::npos);
    axes.axis_of_pair.clear();
    for (int axis = 0; axis < 256; ++axis) axes.axis_of_pair.push_back(static_cast<std::uint8_t>(axis));
    CHECK(hf::describe(axes).size() < 2000);
    CHECK(hf::describe(model).find('\x1b') == std::string::npos);
    CHECK(error_of(R"("rope_scaling": {"type": "linear", "factor": 2, "fact)" + escape + R"(": 1})")
              .find("key 'fact?[2J' must be a known key") != std::string::npos);
    CHECK(error_of(R"("rope_scaling": {"type": ")" + std::string(1000, 'x') + R"("})").size() < 300);
}
