// SPDX-License-Identifier: MIT
#include "cordage/models/checkpoint/gguf_ropes.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <ctime>
#include <limits>
#include <map>
#include <variant>

#include "cordage/basis/rope_scaling.hpp"
#include "models/checkpoint/gguf_bytes.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

/// The metadata of a model of an architecture, to which a test adds.
struct model_to_write {
    std::string architecture;
    std::map<std::string, std::variant<int, float, std::string, std::vector<bool>, std::vector<std::uint32_t>>> keys;
    std::map<std::string, std::vector<float>> tensors = {};

    gguf_file file() const {
        std::map<std::string, std::variant<int, float, std::string, std::vector<bool>, std::vector<std::uint32_t>>>
            all = {
                {"embedding_length", 512}, {"attention.head_count", 8}, {"context_length", 4096}, {"block_count", 8}};
        for (const auto& [name, value] : keys) all[name] = value;
        gguf_bytes b;
        b.header(tensors.size(), all.size() + 1).words("general.architecture", architecture);
        for (const auto& [name, value] : all) {
            const std::string key = architecture + "." + name;
            if (const auto* n = std::get_if<int>(&value)) b.number(key, static_cast<std::uint32_t>(*n));
            if (const auto* x = std::get_if<float>(&value)) b.real(key, *x);
            if (const auto* s = std::get_if<std::string>(&value)) b.words(key, *s);
            if (const auto* f = std::get_if<std::vector<bool>>(&value)) b.flags(key, *f);
            if (const auto* l = std::get_if<std::vector<std::uint32_t>>(&value)) b.numbers(key, *l);
        }
        std::uint64_t offset = 0;
        for (const auto& [name, values] : tensors) {
            b.tensor(name, {values.size()}, 0, offset);
            offset += (values.size() * 4 + 31) / 32 * 32;
        }
        b.aligned();
        for (const auto& [name, values] : tensors) b.floats(values).aligned();
        return b.file();
    }
    hf::model_ropes read(bool lenient = false) const { return hf::read_gguf(file(), {.lenient = lenient}); }
    std::string refusal() const {
        return cordage_test::message_of_error([&] { read(); });
    }
};

std::vector<double> inv_freq(const hf::layer_rope& rule, double length) {
    const basis made = rope_scaling(rule.config, rule.policy, rule.schedule).at_length(length);
    return {made.inv_freq().begin(), made.inv_freq().end()};
}
double attention_factor(const hf::layer_rope& rule) {
    return rope_scaling(rule.config, rule.policy, rule.schedule).at_length(1e5).attention_factor();
}
std::vector<std::string> types_of(const hf::model_ropes& model) {
    std::vector<std::string> types;
    for (const auto& rule : model.ropes) types.push_back(rule.layer_type);
    return types;
}

}  // namespace

TEST_CASE("models/checkpoint/gguf_ropes: lanes, base and pairs by the architecture") {
    const auto llama = model_to_write{"llama", {{"rope.freq_base", 5e5f}}}.read();
    REQUIRE(llama.ropes.size() == 1);
    CHECK(llama.ropes[0].layout == hf::pair_layout::interleaved);
    CHECK(llama.ropes[0].config.head_dim == 64);
    CHECK(llama.ropes[0].config.rotary_dim == 64);
    CHECK(llama.ropes[0].config.theta_base == 5e5);
    CHECK(llama.max_length == 4096.0);
    const auto partial =
        model_to_write{"gptneox", {{"attention.key_length", 80}, {"rope.dimension_count", 20}}}.read().ropes[0];
    CHECK(partial.layout == hf::pair_layout::half_split);
    CHECK(partial.config.head_dim == 80);
    CHECK(partial.config.rotary_dim == 20);
    CHECK(partial.config.theta_base == 1e4);
}

TEST_CASE("models/checkpoint/gguf_ropes: the rotated lanes of latent attention follow the others") {
    const auto rule = model_to_write{"deepseek2",
                                     {{"attention.key_length", 576},
                                      {"attention.key_length_mla", 192},
                                      {"rope.dimension_count", 64},
                                      {"rope.scaling.type", "yarn"},
                                      {"rope.scaling.factor", 40.0f},
                                      {"rope.scaling.original_context_length", 4096},
                                      {"rope.scaling.yarn_log_multiplier", 0.0707f}}}
                          .read()
                          .ropes[0];
    CHECK(rule.first_lane == 128);
    CHECK(rule.config.rotary_dim == 64);
    CHECK(attention_factor(rule) == doctest::Approx(1.0));  // mscale equals mscale_all_dim
}

TEST_CASE("models/checkpoint/gguf_ropes: linear scaling and YaRN") {
    const auto linear =
        model_to_write{"llama", {{"rope.scaling.type", "linear"}, {"rope.scaling.factor", 4.0f}}}.read();
    CHECK(inv_freq(linear.ropes[0], 1.0)[0] == doctest::Approx(0.25));
    const auto older = model_to_write{"llama", {{"rope.scale_linear", 4.0f}}}.read();
    CHECK(inv_freq(older.ropes[0], 1.0)[0] == doctest::Approx(0.25));
    const auto off = model_to_write{"llama", {{"rope.scaling.type", "none"}, {"rope.scaling.factor", 4.0f}}}.read();
    CHECK(inv_freq(off.ropes[0], 1.0)[0] == 1.0);
    const auto zero = model_to_write{"llama", {{"context_length", 512}, {"rope.scaling.original_context_length", 0}}};
    CHECK(zero.read().ropes[0].config.original_length == 512.0);  // as if it were not given
    const auto scaled = model_to_write{"qwen2",
                                       {{"rope.scaling.type", "yarn"},
                                        {"rope.scaling.factor", 4.0f},
                                        {"rope.scaling.original_context_length", 1024},
                                        {"rope.scaling.attn_factor", 0.5f}}}
                            .read()
                            .ropes[0];
    const auto expected = rope_scaling(rope_config{64, 64, 1e4, 1024.0}, yarn{}, fixed{4.0}).at_length(1.0);
    CHECK(inv_freq(scaled, 1.0) == std::vector<double>(expected.inv_freq().begin(), expected.inv_freq().end()));
    CHECK(attention_factor(scaled) == doctest::Approx(0.5 * expected.attention_factor()));
}

TEST_CASE("models/checkpoint/gguf_ropes: an attention factor without YaRN, and HunYuan's factor on the base") {
    const auto scaled =
        model_to_write{"llama", {{"rope.scaling.factor", 2.0f}, {"rope.scaling.attn_factor", 1.5f}}}.read().ropes[0];
    CHECK(rope_scaling(scaled.config, scaled.policy, scaled.schedule).at_length(1.0).attention_factor() == 1.5);
    CHECK(inv_freq(scaled, 1.0)[0] == doctest::Approx(0.5));
    const auto alpha = model_to_write{"hunyuan_vl", {{"rope.scaling.alpha", 16.0f}}}.read().ropes[0];
    CHECK(alpha.config.theta_base == doctest::Approx(1e4 * std::pow(16.0, 64.0 / 62.0)));
}

TEST_CASE("models/checkpoint/gguf_ropes: frequencies are divided by rope_freqs, beside other scaling") {
    std::vector<float> factors(32, 1.0f);
    factors[31] = 8.0f;
    const auto plain = model_to_write{"llama", {}, {{"rope_freqs.weight", factors}}}.read().ropes[0];
    const double last = std::pow(1e4, -62.0 / 64.0);
    for (const double length : {1.0, 1e6}) {
        CHECK(inv_freq(plain, length)[0] == doctest::Approx(1.0));
        CHECK(inv_freq(plain, length)[31] == doctest::Approx(last / 8.0));
    }
    const auto both =
        model_to_write{"llama", {{"rope.scaling.factor", 2.0f}}, {{"rope_freqs.weight", factors}}}.read().ropes[0];
    CHECK(inv_freq(both, 1.0)[0] == doctest::Approx(0.5));
    CHECK(inv_freq(both, 1.0)[31] == doctest::Approx(last / 16.0));
    factors.pop_back();
    CHECK(model_to_write{"llama", {}, {{"rope_freqs.weight", factors}}}.refusal() ==
          "test: tensor 'rope_freqs.weight' must have 32 numbers");
}

TEST_CASE("models/checkpoint/gguf_ropes: LongRoPE's factors change at the original length") {
    const auto rule = model_to_write{"phi3",
                                     {{"context_length", 8192},
                                      {"rope.scaling.original_context_length", 2048},
                                      {"rope.scaling.attn_factor", 1.25f}},
                                     {{"rope_factors_short.weight", std::vector<float>(32, 2.0f)},
                                      {"rope_factors_long.weight", std::vector<float>(32, 4.0f)}}}
                          .read()
                          .ropes[0];
    CHECK(inv_freq(rule, 2048.0)[0] == doctest::Approx(0.5));
    CHECK(inv_freq(rule, 2049.0)[0] == doctest::Approx(0.25));
    CHECK(attention_factor(rule) == 1.25);
    const auto of_one_length =
        model_to_write{"phi3",
                       {{"context_length", 2048}, {"rope.scaling.original_context_length", 2048}},
                       {{"rope_factors_short.weight", std::vector<float>(32, 2.0f)},
                        {"rope_factors_long.weight", std::vector<float>(32, 4.0f)}}}
            .read()
            .ropes[0];
    CHECK(of_one_length.schedule_words == "continuous: t = max(1, L / 2048); any t > 1 has the long factors");
    CHECK(of_one_length.schedule.ratio(of_one_length.config, 4096.0) == 2.0);
    CHECK(model_to_write{"phi3", {}, {{"rope_factors_long.weight", std::vector<float>(32, 4.0f)}}}.refusal() ==
          "test: rope_factors_short and rope_factors_long must be given together");
}

TEST_CASE("models/checkpoint/gguf_ropes: layers that differ, by period or list") {
    const auto gemma =
        model_to_write{"gemma3",
                       {{"rope.freq_base", 1e6f}, {"rope.scaling.factor", 8.0f}, {"attention.sliding_window", 1024}}}
            .read();
    CHECK(types_of(gemma) == std::vector<std::string>{"sliding_attention", "full_attention"});
    CHECK(gemma.of("sliding_attention").config.theta_base == 1e4);
    CHECK(inv_freq(gemma.of("sliding_attention"), 1.0)[0] == 1.0);
    CHECK(gemma.of("full_attention").config.theta_base == 1e6);
    CHECK(inv_freq(gemma.of("full_attention"), 1.0)[0] == doctest::Approx(0.125));
    CHECK(model_to_write{"gemma3", {}}.read().ropes.size() == 1);  // no window
    const auto by_list = model_to_write{"gemma4",
                                        {{"block_count", 3},
                                         {"attention.sliding_window", 512},
                                         {"attention.key_length", 512},
                                         {"attention.key_length_swa", 256},
                                         {"rope.dimension_count_swa", 256},
                                         {"attention.sliding_window_pattern", std::vector<bool>{true, true, false}}}}
                             .read();
    CHECK(by_list.of("sliding_attention").config.rotary_dim == 256);
    CHECK(by_list.of("full_attention").config.rotary_dim == 512);
    const auto own = model_to_write{
        "gemma3",
        {{"attention.sliding_window", 1024},
         {"attention.key_length", 512},
         {"attention.key_length_swa", 256},
         {"rope.dimension_count", 128},
         {"rope.dimension_count_swa", 64},
         {"rope.freq_base_swa",
          2e4f}}}.read();
    CHECK(own.of("sliding_attention").config.head_dim == 256);
    CHECK(own.of("sliding_attention").config.rotary_dim == 64);
    CHECK(own.of("sliding_attention").config.theta_base == 2e4);
    CHECK(own.of("full_attention").config.head_dim == 512);
    CHECK(own.of("full_attention").config.rotary_dim == 128);
    CHECK(model_to_write{"gemma4", {{"attention.sliding_window", 512}}}.refusal() ==
          "test: gemma4.attention.sliding_window_pattern must have an entry for each of 8 layers");
    // A pattern without entries once threw another exception; a NaN was converted to an integer.
    CHECK(
        types_of(model_to_write{
            "cohere2", {{"attention.sliding_window", 4096}, {"attention.sliding_window_pattern", std::vector<bool>{}}}}
                     .read()) == types_of(model_to_write{"cohere2", {{"attention.sliding_window", 4096}}}.read()));
    CHECK(types_of(model_to_write{
              "cohere2", {{"attention.sliding_window", 4096}, {"attention.sliding_window_pattern", std::nanf("")}}}
                       .read()) == std::vector<std::string>{"sliding_attention"});
    const auto cohere = model_to_write{"cohere2", {{"attention.sliding_window", 4096}}}.read();
    CHECK(cohere.of("full_attention").rope_type == "none");
    CHECK(inv_freq(cohere.of("full_attention"), 1.0)[0] == 0.0);
    CHECK(types_of(model_to_write{"smollm3", {}}.read()) == std::vector<std::string>{"rope", "no_rope"});
    CHECK(types_of(model_to_write{"llama4", {{"attention.sliding_window", 0}}}.read()) ==
          std::vector<std::string>{"rope"});
}

// Compared with the hyperparameters and graphs of llama.cpp.
TEST_CASE("models/checkpoint/gguf_ropes: the base of layers that slide, where it is read") {
    const auto llama4 = model_to_write{"llama4", {{"rope.freq_base", 5e5f}, {"rope.freq_base_swa", 2e4f}}}.read();
    CHECK(types_of(llama4) == std::vector<std::string>{"rope", "no_rope"});
    CHECK(llama4.of("rope").config.theta_base == 2e4);
    const auto by_list = model_to_write{"llama4",
                                        {{"block_count", 3},
                                         {"rope.freq_base", 5e5f},
                                         {"rope.freq_base_swa", 2e4f},
                                         {"attention.sliding_window_pattern", std::vector<bool>{true, false, true}}}}
                             .read();
    CHECK(types_of(by_list) == std::vector<std::string>{"rope", "full_attention"});
    CHECK(by_list.at(1).config.theta_base == 5e5);
    CHECK(by_list.at(2).config.theta_base == 2e4);
    for (const char* architecture : {"cohere2", "cohere2moe", "exaone-moe", "mellum", "olmo2"}) {
        const model_to_write model{
            architecture, {{"attention.sliding_window", 512}, {"rope.freq_base", 5e5f}, {"rope.freq_base_swa", 2e4f}}};
        CHECK(model.refusal() == "test: " + std::string(architecture) +
                                     ".rope.freq_base_swa 20000 must be 500000: llama.cpp does not read it for '" +
                                     architecture + "'");
        CHECK(model.read(true).of("sliding_attention").config.theta_base == 5e5);
    }
    const auto exaone = [](int layers) {
        return model_to_write{"exaone4", {{"block_count", layers}, {"attention.sliding_window", 4096}}}.read();
    };
    CHECK(exaone(30).ropes.size() == 1);
    CHECK(types_of(exaone(64)) == std::vector<std::string>{"sliding_attention", "full_attention"});
}

TEST_CASE("models/checkpoint/gguf_ropes: which layer has which rule") {
    const auto smollm = model_to_write{"smollm3", {}}.read();
    for (index_t i = 0; i < 8; ++i) CHECK(smollm.at(i).rotates() == ((i + 1) % 4 != 0));
    const auto small = model_to_write{"smallthinker", {{"attention.sliding_window", 4096}}}.read();
    for (index_t i = 0; i < 8; ++i) CHECK(small.at(i).rotates() == (i % 4 != 0));
    const auto gemma = model_to_write{"gemma3", {{"attention.sliding_window", 1024}}}.read();
    for (index_t i = 0; i < 8; ++i) CHECK(gemma.at(i).layer_type == (i == 5 ? "full_attention" : "sliding_attention"));
    const auto bert = model_to_write{"modern-bert", {{"attention.sliding_window", 128}}}.read();
    for (index_t i = 0; i < 8; ++i)
        CHECK(bert.at(i).layer_type == (i % 3 == 0 ? "full_attention" : "sliding_attention"));
    const auto moe = model_to_write{"cohere2moe", {{"leading_dense_block_count", 1}}}.read();
    for (index_t i = 0; i < 8; ++i) CHECK(moe.at(i).rotates() == (i == 0 || i % 4 != 0));
    CHECK(moe.layers[0].type == "full_attention");
    CHECK(moe.at(0).layer_type == "dense_full_attention");
    const auto next = model_to_write{"qwen3next", {{"full_attention_interval", 2}}}.read();
    for (index_t i = 0; i < 8; ++i) CHECK(next.at(i).rotates() == (i % 2 == 1));
    const std::vector<std::uint32_t> heads{8, 0, 8, 8, 0, 8, 8, 8};
    const auto hybrid = model_to_write{"lfm2", {{"attention.head_count_kv", heads}}}.read();
    for (index_t i = 0; i < 8; ++i) CHECK(hybrid.at(i).rotates() == (heads[static_cast<std::size_t>(i)] != 0));
    CHECK(model_to_write{"llama", {}}.read().layers.size() == 8);
}

// Once, every fourth layer of three architectures was taken to rotate, whatever the file said.
TEST_CASE("models/checkpoint/gguf_ropes: recurrent layers, by a list of the file or by an interval") {
    const auto rotating = [](const hf::model_ropes& model) {
        std::string all;
        for (index_t i = 0; i < std::ssize(model.layers); ++i) all += model.at(i).rotates() ? 'r' : '.';
        return all;
    };
    const std::vector<bool> list{false, true, true, true, false, true, true, true};
    for (const char* architecture : {"qwen35", "qwen35moe", "qwen3next", "qwen4exp", "minimax-01"}) {
        CHECK(rotating(model_to_write{architecture, {{"attention.recurrent_layers", list}}}.read()) == "r...r...");
        CHECK(rotating(model_to_write{architecture, {{"full_attention_interval", 2}}}.read()) == ".r.r.r.r");
        CHECK(rotating(model_to_write{architecture, {{"attention.recurrent_layers", 0}}}.read()) == "rrrrrrrr");
        CHECK(
            model_to_write{architecture, {{"attention.recurrent_layers", std::vector<bool>{true, false}}}}.refusal() ==
            "test: " + std::string(architecture) +
                ".attention.recurrent_layers must have an entry for each layer, and has none for 2");
    }
    CHECK(rotating(model_to_write{"qwen35", {}}.read()) == "...r...r");
    CHECK(rotating(model_to_write{"qwen4exp", {}}.read()) == "...r...r");
    CHECK(rotating(model_to_write{"minimax-01", {}}.read()) == ".......r");
    CHECK(rotating(model_to_write{"qwen3", {{"attention.recurrent_layers", list}}}.read()) == "rrrrrrrr");  // not read
}

// Once, they were taken for layers of the model; files of Cohere 2 MoE with one were refused, and those without dense
// layers.
TEST_CASE("models/checkpoint/gguf_ropes: the layers that predict further tokens rotate and do not slide") {
    const auto qwen = model_to_write{"qwen35", {{"block_count", 9}, {"nextn_predict_layers", 1}}}.read();
    for (index_t i = 0; i < 9; ++i) CHECK(qwen.at(i).rotates() == (i % 4 == 3 || i == 8));
    CHECK(model_to_write{"qwen35", {{"nextn_predict_layers", 0}}}.read().at(7).rotates());
    model_to_write cohere{"cohere2moe",
                          {{"block_count", 10}, {"nextn_predict_layers", 1}, {"leading_dense_block_count", 0}}};
    for (const bool has_list : {false, true}) {
        const std::vector<bool> list{false, true, true, true, false, true, true, true, false};  // as the converter
        if (has_list) cohere.keys["attention.sliding_window_pattern"] = list;
        const auto moe = cohere.read();
        REQUIRE(moe.layers.size() == 10);
        for (index_t i = 0; i < 10; ++i) CHECK(moe.at(i).rotates() == (i % 4 != 0 || i == 9));
        CHECK(moe.layers[8].type == "full_attention");
        CHECK(moe.layers[9].type == "full_attention");
    }
    cohere.keys["attention.sliding_window_pattern"] = std::vector<bool>(8, true);
    CHECK(cohere.refusal() ==
          "test: cohere2moe.attention.sliding_window_pattern must have an entry for each of 9 layers");
    CHECK(model_to_write{"qwen35", {{"nextn_predict_layers", 0.5f}}}.refusal() ==
          "test: qwen35.nextn_predict_layers 0.5 must be an integer in 1 ... 2^31");
}

// Once, attention of hybrid models without positions was read as rotated.
TEST_CASE("models/checkpoint/gguf_ropes: Granite does not rotate if rope.scaling.finetuned is false") {
    for (const auto& [architecture, is_read] : {std::pair{"granite", true},
                                                {"granitehybrid", true},
                                                {"graniteswitch", true},
                                                {"granitemoe", false},
                                                {"minicpm", false}}) {
        model_to_write model{architecture, {{"rope.scaling.finetuned", 0}}};
        CHECK(model.read().at(0).rotates() == !is_read);
        model.keys["rope.scaling.finetuned"] = 1;
        CHECK(model.read().at(0).rotates());
        CHECK(model_to_write{architecture, {}}.read().at(0).rotates());
    }
    const auto off = model_to_write{"granitehybrid", {{"rope.scaling.finetuned", 0}}}.read();
    CHECK(inv_freq(off.ropes[0], 1.0)[0] == 0.0);
}

// Once, its pairs were interleaved, and the 0 that the converter writes was refused.
TEST_CASE("models/checkpoint/gguf_ropes: DeepSeek-OCR rotates whole heads by halves, without scaling") {
    for (const model_to_write& model : {model_to_write{"deepseek2-ocr", {}},
                                        {"deepseek2-ocr", {{"rope.dimension_count", 0}}},
                                        {"deepseek2-ocr", {{"rope.dimension_count", 32}, {"rope.freq_base", 1e4f}}}}) {
        const auto rule = model.read().ropes[0];
        CHECK(rule.layout == hf::pair_layout::half_split);
        CHECK(rule.config.head_dim == 64);
        CHECK(rule.config.rotary_dim == 64);
        CHECK(rule.config.theta_base == 1e4);
    }
    const model_to_write scaled{"deepseek2-ocr", {{"rope.scaling.factor", 2.0f}}};
    CHECK(scaled.refusal() ==
          "test: deepseek2-ocr.rope.scaling.factor 2 must be 1: llama.cpp does not read it for "
          "'deepseek2-ocr'");
    CHECK(inv_freq(scaled.read(true).ropes[0], 1.0)[0] == 1.0);
    CHECK(model_to_write{"deepseek2-ocr", {{"rope.freq_base", 5e5f}}}.refusal().find("must be 10000") !=
          std::string::npos);
}

TEST_CASE("models/checkpoint/gguf_ropes: indexers of sparse attention are a second rotation") {
    const auto of = [](const char* architecture, int context) {
        return model_to_write{architecture,
                              {{"attention.key_length_mla", 192},
                               {"rope.dimension_count", 64},
                               {"attention.indexer.key_length", 128},
                               {"context_length", context}}}
            .read();
    };
    const auto deepseek = of("deepseek32", 4096), glm = of("glm-dsa", 4096), tencent = of("hy_v4", 4096);
    CHECK(deepseek.at(7).layer_type == "attention");
    CHECK(deepseek.at(7).layout == hf::pair_layout::interleaved);
    CHECK(deepseek.indexer_at(7)->layout == hf::pair_layout::half_split);
    CHECK(deepseek.indexer_at(7)->config.head_dim == 128);
    CHECK(deepseek.indexer_at(7)->first_lane == 0);
    CHECK(glm.indexer_at(0)->layout == hf::pair_layout::interleaved);
    CHECK(tencent.indexer_at(0)->first_lane == 64);
    const auto longer = of("glm-dsa", 1048576);
    for (index_t i = 0; i < 8; ++i) CHECK((longer.indexer_at(i) != nullptr) == (i < 3 || i == 6));
    const std::vector<std::uint32_t> types{1, 0, 1, 1, 0, 0, 0, 0};
    const auto by_list = model_to_write{
        "glm-dsa",
        {{"attention.key_length_mla", 192},
         {"rope.dimension_count", 64},
         {"attention.indexer.key_length", 128},
         {"attention.indexer.types",
          types}}}.read();
    for (index_t i = 0; i < 8; ++i) {
        CHECK((by_list.indexer_at(i) != nullptr) == (types[static_cast<std::size_t>(i)] == 1));
    }
}

// Once, their layers had no indexer, without a word.
TEST_CASE("models/checkpoint/gguf_ropes: the indexers of MiniMax M3 and of Qwen 4, and unknown ones") {
    model_to_write model{"minimax-m3",
                         {{"attention.key_length", 128},
                          {"rope.dimension_count", 64},
                          {"attention.indexer.key_length", 96},
                          {"leading_dense_block_count", 3}}};
    const auto minimax = model.read();
    for (index_t i = 0; i < 8; ++i) CHECK((minimax.indexer_at(i) != nullptr) == (i >= 3));
    REQUIRE(minimax.indexer_at(3) != nullptr);
    CHECK(minimax.indexer_at(3)->layout == hf::pair_layout::half_split);
    CHECK(minimax.indexer_at(3)->config.head_dim == 96);
    CHECK(minimax.indexer_at(3)->config.rotary_dim == 64);
    CHECK(minimax.indexer_at(3)->first_lane == 0);
    model.architecture = "qwen4exp";
    model.keys["attention.compress_ratios"] = std::vector<std::uint32_t>{4, 4, 4, 4, 0, 0, 0, 0};
    model.keys["rope.dimension_sections"] = std::vector<std::uint32_t>{12, 10, 10, 0};
    const auto qwen = model.read();
    for (index_t i = 0; i < 8; ++i)
        CHECK((qwen.indexer_at(i) != nullptr) == (i == 3));  // others are recurrent, or dense
    REQUIRE(qwen.indexer_at(3) != nullptr);
    CHECK(qwen.indexer_at(3)->axis_of_pair == interleaved_axes({12, 10, 10}));
    model = {"qwen3", {{"attention.indexer.key_length", 96}}};
    CHECK(model.refusal() ==
          "test: qwen3.attention.indexer.key_length must be left out: the indexer's rotation is not known for 'qwen3'");
    CHECK(model.read(true).indexer_at(0) == nullptr);
}

TEST_CASE("models/checkpoint/gguf_ropes: temperatures of queries") {
    const auto llama = model_to_write{"llama4", {}}.read();
    CHECK(!llama.of("rope").temperature);
    CHECK(llama.of("no_rope").temperature->block_length == 8192.0);
    const auto mistral =
        model_to_write{"mistral3",
                       {{"attention.temperature_scale", 0.25f}, {"rope.scaling.original_context_length", 1024}}}
            .read()
            .ropes[0];
    CHECK(mistral.temperature->beta == 0.25);
    CHECK(mistral.temperature->block_length == 1024.0);
    const auto latent =
        model_to_write{"mistral4", {{"attention.temperature_scale", 0.5f}, {"attention.temperature_length", 512}}}
            .read()
            .ropes[0];
    CHECK(latent.temperature->beta == 0.5);
    CHECK(latent.temperature->block_length == 512.0);
    CHECK(!model_to_write{"llama", {}}.read().ropes[0].temperature);
    for (const char* architecture : {"mistral3", "mistral4", "deepseek2"}) {  // once, that of mistral3 was not checked
        CHECK(model_to_write{architecture, {{"attention.temperature_scale", std::nanf("")}}}.refusal() ==
              "query_temperature: beta nan must be finite");
        CHECK(!model_to_write{architecture, {{"attention.temperature_scale", 0.0f}}}.read().ropes[0].temperature);
    }
}

TEST_CASE("models/checkpoint/gguf_ropes: the context must be a length, and is needed for YaRN") {
    for (const auto& [length, text] :
         {std::pair{std::nanf(""), "nan"}, {-5.0f, "-5"}, {std::numeric_limits<float>::infinity(), "inf"}}) {
        CHECK(model_to_write{"llama", {{"context_length", length}}}.refusal().find(
                  std::string("test: llama.context_length ") + text) == 0);
    }
    // Once, YaRN without a length divided every frequency by its factor.
    model_to_write scaled{"qwen2",
                          {{"context_length", 0}, {"rope.scaling.type", "yarn"}, {"rope.scaling.factor", 4.0f}}};
    CHECK(scaled.refusal() == "test: qwen2.context_length must be given for rope.scaling.type yarn");
    scaled.keys["rope.scaling.original_context_length"] = 1024;
    CHECK(scaled.read().ropes[0].config.original_length == 1024.0);
    scaled.keys["rope.scaling.type"] = "linear";
    CHECK(scaled.read().max_length == 0.0);
}

TEST_CASE("models/checkpoint/gguf_ropes: the axes of sections, in blocks or in turn") {
    const std::vector<std::uint32_t> sections{8, 12, 12, 0};
    const auto blocks = model_to_write{"qwen2vl", {{"rope.dimension_sections", sections}}}.read().ropes[0];
    CHECK(blocks.axis_of_pair == contiguous_axes({8, 12, 12}));
    const std::vector<std::uint32_t> in_turn{12, 10, 10, 0};
    const auto turns = model_to_write{"qwen3vl", {{"rope.dimension_sections", in_turn}}}.read().ropes[0];
    CHECK(turns.axis_of_pair == interleaved_axes({12, 10, 10}));
    CHECK(model_to_write{"qwen2vl", {{"rope.dimension_sections", std::vector<std::uint32_t>{8, 8}}}}.refusal() ==
          "test: qwen2vl.rope.dimension_sections must sum to rope.dimension_count / 2 = 32");
    CHECK(model_to_write{"llama", {{"rope.dimension_sections", sections}}}.refusal() ==
          "test: llama.rope.dimension_sections must be left out: not read for 'llama'");
    // Once, 256 MB were made of these sections first.
    for (const char* architecture : {"qwen2vl", "qwen3vl"}) {
        const std::vector<std::uint32_t> many(256, 1u << 20), huge{0, 1u << 20};
        const std::clock_t begin = std::clock();
        for (const auto& each : {many, huge}) {
            CHECK(model_to_write{architecture, {{"rope.dimension_sections", each}}}.refusal() ==
                  "test: " + std::string(architecture) +
                      ".rope.dimension_sections must sum to rope.dimension_count / 2 = 32");
        }
        CHECK(std::clock() - begin < CLOCKS_PER_SEC / 2);  // of the CPU
    }
}

// ggml pairs lanes by halves wherever positions have axes, and the converter orders the rows of q and k for it. Once,
// the pairs of GLM-4.1V and GLM-OCR were read as interleaved.
TEST_CASE("models/checkpoint/gguf_ropes: sections of GLM 4 decide its pairs") {
    const auto of = [](const char* architecture, const std::vector<std::uint32_t>& sections) {
        return model_to_write{architecture, {{"rope.dimension_sections", sections}}}.read().ropes[0];
    };
    const auto axes = of("glm4", {8, 12, 12, 0});
    CHECK(axes.layout == hf::pair_layout::half_split);
    CHECK(axes.axis_of_pair == contiguous_axes({8, 12, 12}));
    CHECK(model_to_write{"glm4", {}}.read().ropes[0].layout == hf::pair_layout::interleaved);
    for (const std::vector<std::uint32_t>& none :
         {std::vector<std::uint32_t>{0, 0, 0, 0}, {32, 0, 0, 0}, {0, 16, 16}}) {
        CHECK(of("glm4", none).layout == hf::pair_layout::interleaved);
        for (const char* architecture : {"glm4", "glm4moe", "hunyuan_vl"}) {
            CHECK(of(architecture, none).axis_of_pair.empty());
        }
    }
    CHECK(of("paddleocr", {0, 16, 16}).axis_of_pair == contiguous_axes({0, 16, 16}));
}

TEST_CASE("models/checkpoint/gguf_ropes: what is not known is an error, or leniently a warning") {
    for (const char* architecture : {"gpt2", "bert", "starcoder", "baichuan"}) {  // but for Baichuan's 7B
        CHECK(model_to_write{architecture, {{"block_count", 40}}}.refusal() ==
              "test: architecture '" + std::string(architecture) +
                  "' has no rotary embedding; only models that rotate q and k can be read");
    }
    CHECK(model_to_write{"baichuan", {{"block_count", 32}}}.read().at(31).rotates());
    CHECK(model_to_write{"deepseek4", {}}.refusal() ==
          "test: architecture 'deepseek4' has rules of its own, which are not supported");
    CHECK(model_to_write{"llama\x1b[2J", {}}.refusal() ==
          "test: general.architecture 'llama?[2J' must be a short name of printable characters");
    const model_to_write unknown{"llamb", {}};
    CHECK(unknown.refusal() ==
          "test: architecture 'llamb' must be a known one: which lanes form a pair, and which layers are rotated, are "
          "in its code");
    CHECK(unknown.read(true).ropes[0].layout == hf::pair_layout::unknown);
    CHECK(unknown.read(true).warnings.size() == 1);
    CHECK(model_to_write{"llama", {{"rope.freq_bose", 1e6f}}}.refusal() ==
          "test: key 'llama.rope.freq_bose' must be a known key; did you mean 'freq_base'?");
    CHECK(model_to_write{"llama", {{"rope.scaling.type", "ntk"}}}.refusal() ==
          "test: llama.rope.scaling.type 'ntk' must be none, linear, yarn or longrope");
    CHECK(model_to_write{"llama", {{"rope.scaling.factor", 0.5f}}}.refusal() ==
          "test: llama.rope.scaling.factor 0.5 must be >= 1");
    CHECK(model_to_write{"qwen2", {{"rope.scaling.yarn_beta_fast", 16.0f}}}.refusal() ==
          "test: qwen2.rope.scaling.yarn_beta_fast 16 must be 32: llama.cpp does not read it for 'qwen2'");
    CHECK(model_to_write{"qwen2", {{"rope.scaling.yarn_beta_fast", 16.0f}}}.read(true).warnings.size() == 1);
    CHECK(model_to_write{"llama", {{"rope.freq_base_swa", 1e4f}}}.refusal() ==
          "test: llama.rope.freq_base_swa must be left out: not read for 'llama'");
    CHECK(model_to_write{"gemma3", {{"block_count", 5000}}}.refusal() == "test: block_count 5000 must be at most 4096");
    CHECK(gguf_bytes().header(0, 0).file().texts().empty());
}
