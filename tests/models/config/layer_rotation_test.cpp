// SPDX-License-Identifier: MIT
// From a config to rotated q and k by one call: everything that a rule says is applied, against a loop in double.
#include "cordage/models/config/layer_rotation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "cordage/core/threads.hpp"
#include "cordage/models/config/read.hpp"

using namespace cordage;

namespace {

constexpr index_t tokens = 3, q_heads = 4, k_heads = 2;

struct heads_of_test {
    index_t heads, head_dim;
    std::vector<float> lanes;

    heads_of_test(index_t count, index_t dim)
        : heads(count), head_dim(dim), lanes(static_cast<std::size_t>(tokens * count * dim)) {
        for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] = static_cast<float>(i % 23) / 8.0f - 1.0f;
    }
    heads_view<float> view() {
        return token_major(lanes.data(), {.tokens = tokens, .heads = heads, .head_dim = head_dim});
    }
    float at(index_t token, index_t head, index_t lane) const {
        return lanes[static_cast<std::size_t>((token * heads + head) * head_dim + lane)];
    }
};

// What a model's own code does with a head, in double.
struct expected {
    std::vector<double> inv_freq;
    index_t first_lane = 0;
    bool pairs_are_neighbours = false;
    double factor = 1.0;  // on cos and sin
    std::function<double(index_t token, index_t pair)> position = [](index_t token, index_t) {
        return static_cast<double>(40 + token);
    };
    std::function<double(index_t token, index_t head)> of_query = [](index_t, index_t) { return 1.0; };
};

void check_heads(const heads_of_test& rotated, bool are_queries, const expected& by) {
    const heads_of_test x(rotated.heads, rotated.head_dim);
    const index_t pairs = std::ssize(by.inv_freq);
    for (index_t token = 0; token < tokens; ++token) {
        for (index_t head = 0; head < x.heads; ++head) {
            std::vector<double> wanted;
            for (index_t lane = 0; lane < x.head_dim; ++lane) wanted.push_back(x.at(token, head, lane));
            for (index_t pair = 0; pair < pairs; ++pair) {
                const auto a = static_cast<std::size_t>(by.first_lane + (by.pairs_are_neighbours ? 2 * pair : pair));
                const std::size_t b = a + static_cast<std::size_t>(by.pairs_are_neighbours ? 1 : pairs);
                const double angle = by.position(token, pair) * by.inv_freq[static_cast<std::size_t>(pair)];
                const double c = by.factor * std::cos(angle), s = by.factor * std::sin(angle), u = wanted[a];
                wanted[a] = u * c - wanted[b] * s;
                wanted[b] = u * s + wanted[b] * c;
            }
            for (index_t lane = 0; lane < x.head_dim; ++lane) {
                const double factor = are_queries ? by.of_query(token, head) : 1.0;
                CHECK(rotated.at(token, head, lane) ==
                      doctest::Approx(factor * wanted[static_cast<std::size_t>(lane)]).epsilon(1e-5));
            }
        }
    }
}

const std::vector<int> from_40{40, 41, 42};

void check_rotation(const hf::layer_rotation& rotation, const auto& position_ids, index_t head_dim,
                    const expected& by) {
    heads_of_test q(q_heads, head_dim), k(k_heads, head_dim);
    rotation.rotate(position_ids, in_place(q.view()), in_place(k.view()));
    check_heads(q, true, by);
    check_heads(k, false, by);
    // From one tensor to another, by threads, the same bits; and v, of another size, in the same pass.
    heads_of_test x(q_heads, head_dim), key(k_heads, head_dim), y(q_heads, head_dim), rotated_key(k_heads, head_dim);
    heads_of_test v(k_heads, 6), stored_v(k_heads, 6);
    for (float& lane : y.lanes) lane = -9.0f;
    for (float& lane : stored_v.lanes) lane = -9.0f;
    threads pool(2);
    rotation.rotate(pool, position_ids, from_to(x.view(), y.view()), from_to(key.view(), rotated_key.view()),
                    from_to(v.view(), stored_v.view()).unrotated());
    CHECK(y.lanes == q.lanes);
    CHECK(rotated_key.lanes == k.lanes);
    CHECK(stored_v.lanes == v.lanes);
    // Queries alone, of a layer that shares the keys of another.
    heads_of_test alone(q_heads, head_dim), by_thread(q_heads, head_dim);
    rotation.rotate(position_ids, in_place(alone.view()));
    rotation.rotate(pool, position_ids, in_place(by_thread.view()));
    CHECK(alone.lanes == q.lanes);
    CHECK(by_thread.lanes == q.lanes);
}

std::vector<double> powers(index_t pairs, double base) {
    std::vector<double> all;
    for (index_t i = 0; i < pairs; ++i)
        all.push_back(std::pow(base, -static_cast<double>(i) / static_cast<double>(pairs)));
    return all;
}

std::string config_of(const std::string& model_type, const std::string& fields) {
    return R"({"model_type": ")" + model_type + R"(", "max_position_embeddings": 1024, )" + fields + "}";
}

}  // namespace

TEST_CASE("models/config/layer_rotation: halves of a head, some lanes of it, and pairs of neighbours") {
    const auto llama = hf::read_config(config_of("llama", R"("head_dim": 16, "rope_theta": 100.0)"));
    check_rotation(hf::layer_rotation(llama.at(0), 3), from_40, 16, {.inv_freq = powers(8, 100.0)});
    const auto gptj = hf::read_config(config_of("gptj", R"("n_embd": 64, "n_head": 4, "rotary_dim": 8)"));
    check_rotation(hf::layer_rotation(gptj.at(0), 3), from_40, 16,
                   {.inv_freq = powers(4, 1e4), .pairs_are_neighbours = true});
}

TEST_CASE("models/config/layer_rotation: the last lanes of DeepSeek's heads, in whole heads or alone") {
    const auto model = hf::read_config(
        config_of("deepseek_v3",
                  R"("qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "rope_theta": 100.0, "rope_interleave": true)"));
    const hf::layer_rotation rotation(model.at(0), 3);
    expected by{.inv_freq = powers(4, 100.0), .first_lane = 16, .pairs_are_neighbours = true};
    check_rotation(rotation, from_40, 24, by);
    by.first_lane = 0;
    check_rotation(rotation, from_40, 8, by);
}

TEST_CASE("models/config/layer_rotation: the frequencies and the attention factor of the length") {
    const auto model = hf::read_config(config_of("llama", R"("head_dim": 16, "rope_theta": 100.0,
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 256})"));
    const hf::layer_rope& rule = model.at(0);
    const basis b = rope_scaling(rule.config, rule.policy, rule.schedule).at_length(900);
    CHECK(b.attention_factor() == doctest::Approx(1.0 + 0.1 * std::log(4.0)));
    const hf::layer_rotation rotation(rule, 900);
    check_rotation(rotation, from_40, 16,
                   {.inv_freq = {b.inv_freq().begin(), b.inv_freq().end()}, .factor = b.attention_factor()});
    REQUIRE(rotation.basis_of_keys() != nullptr);
    CHECK(rotation.basis_of_keys()->fingerprint() == b.fingerprint());
    const auto dynamic = hf::read_config(config_of("llama", R"("head_dim": 16, "rope_theta": 100.0,
        "rope_scaling": {"rope_type": "dynamic", "factor": 2.0})"));
    CHECK(hf::layer_rotation(dynamic.at(0), 1024).basis_of_keys()->fingerprint() !=
          hf::layer_rotation(dynamic.at(0), 4096).basis_of_keys()->fingerprint());
}

TEST_CASE("models/config/layer_rotation: NanoChat rotates by the negative angle") {
    const auto model = hf::read_config(config_of("nanochat", R"("head_dim": 16, "rope_theta": 100.0)"));
    std::vector<double> negative = powers(8, 100.0);
    for (double& frequency : negative) frequency = -frequency;
    check_rotation(hf::layer_rotation(model.at(0), 3), from_40, 16, {.inv_freq = negative});
}

TEST_CASE("models/config/layer_rotation: positions of three axes, and of text") {
    const auto model = hf::read_config(config_of("qwen2_vl_text", R"("head_dim": 16, "rope_theta": 100.0,
        "rope_parameters": {"rope_type": "default", "mrope_section": [2, 3, 3]})"));
    const hf::layer_rotation rotation(model.at(0), 3);
    const std::vector<int> ids{40, 41, 42, 5, 6, 7, 90, 80, 70};
    check_rotation(
        rotation, axis_major(ids.data(), 3, 1, tokens), 16,
        {.inv_freq = powers(8, 100.0), .position = [&](index_t token, index_t pair) {
             return static_cast<double>(ids[static_cast<std::size_t>((pair < 2 ? 0 : pair < 5 ? 1 : 2) * 3 + token)]);
         }});
    check_rotation(rotation, from_40, 16, {.inv_freq = powers(8, 100.0)});
    hf::layer_rope at_rest = model.at(0);  // a layer of such a model that does not rotate takes the same positions
    at_rest.rope_type = "none";
    REQUIRE(!at_rest.rotates());
    heads_of_test q(q_heads, 16), k(k_heads, 16);
    const auto before = q.lanes;
    hf::layer_rotation(at_rest, 3).rotate(axis_major(ids.data(), 3, 1, tokens), in_place(q.view()), in_place(k.view()));
    CHECK(q.lanes == before);
}

TEST_CASE("models/config/layer_rotation: the temperature of queries, with and without rotation") {
    const std::string sizes = R"("head_dim": 16, "num_hidden_layers": 4, "floor_scale": 10.0, "attn_scale": 0.5,
        "rope_theta": 100.0)";
    const auto llama4 = hf::read_config(config_of("llama4_text", sizes));
    const hf::layer_rotation at_rest(llama4.at(3), 3), rotated(llama4.at(0), 3);
    CHECK(at_rest.basis_of_keys() == nullptr);
    const auto temperature = [](index_t token, index_t) {
        return 1.0 + 0.5 * std::log1p(std::floor(static_cast<double>(41 + token) / 10.0));
    };
    check_rotation(at_rest, from_40, 16, {.inv_freq = {}, .of_query = temperature});
    check_rotation(rotated, from_40, 16, {.inv_freq = powers(8, 100.0), .pairs_are_neighbours = true});
    hf::layer_rope rule = hf::read_config(config_of("llama", R"("head_dim": 16, "rope_theta": 100.0)")).at(0);
    rule.temperature = query_temperature{10.0, 0.5, 1.0};
    check_rotation(hf::layer_rotation(rule, 3), from_40, 16, {.inv_freq = powers(8, 100.0), .of_query = temperature});
    rule.has_head_temperatures = true;
    const head_temperatures by_head{{0.1, 0.2, 0.3, 0.4}, {1.0, 0.9, 0.8, 0.7}};
    check_rotation(hf::layer_rotation(rule, 3, by_head), from_40, 16,
                   {.inv_freq = powers(8, 100.0), .of_query = [&](index_t token, index_t head) {
                        return temperature(token, head) * by_head.at(head, static_cast<double>(40 + token));
                    }});
    heads_of_test q(q_heads, 16), k(k_heads, 16);
    const std::vector<int> negative{40, 41, -1}, axes{1, 2, 3, 4, 5, 6};
    const auto rotate = [&](const auto& rotation, const auto& ids) {
        rotation.rotate(ids, in_place(q.view()), in_place(k.view()));
    };
    CHECK_THROWS_WITH_AS(rotate(at_rest, negative), "layer_rotation: position_ids[0, 2] -1 must be finite and >= 0",
                         value_error);
    CHECK_THROWS_AS(rotate(at_rest, axis_major(axes.data(), 2, 1, tokens)), shape_error);
    CHECK(q.lanes == heads_of_test(q_heads, 16).lanes);
    const head_temperatures of_two{{0.1, 0.2}, {1.0, 0.9}};
    CHECK_THROWS_WITH_AS(rotate(hf::layer_rotation(rule, 3, of_two), from_40),
                         "layer_rotation: by_head has 2 heads, must have the 4 heads of q [1, 3, 4, 16]", shape_error);
}

TEST_CASE("models/config/layer_rotation: one row of positions serves all sequences of a batch, whatever its stride") {
    hf::layer_rope rule = hf::read_config(config_of("llama", R"("head_dim": 16, "rope_theta": 100.0)")).at(0);
    rule.temperature = query_temperature{10.0, 0.5, 1.0};
    const std::vector<int> ids{40, 41, 42, 900, 910, 920};
    heads_of_test q(2 * q_heads, 16), k(2 * k_heads, 16);  // the lanes of two sequences
    for (heads_of_test* of : {&q, &k}) {
        std::copy_n(of->lanes.begin(), of->lanes.size() / 2, of->lanes.begin() + std::ssize(of->lanes) / 2);
    }
    const auto of_two = [](heads_of_test& of) {
        return token_major(of.lanes.data(), {.batch = 2, .tokens = tokens, .heads = of.heads / 2, .head_dim = 16});
    };
    hf::layer_rotation(rule, 3).rotate(position_view<int>(ids.data(), 1, tokens, tokens), in_place(of_two(q)),
                                       in_place(of_two(k)));
    CHECK(std::equal(q.lanes.begin(), q.lanes.begin() + std::ssize(q.lanes) / 2,
                     q.lanes.begin() + std::ssize(q.lanes) / 2));
}

TEST_CASE("models/config/layer_rotation: CLEX's factor on the scores of a length") {
    hf::layer_rope rule = hf::read_config(config_of("llama", R"("head_dim": 16, "rope_theta": 100.0)")).at(0);
    rule.clex = hf::clex_settings{.log_scale = true};
    check_rotation(hf::layer_rotation(rule, 4096), from_40, 16,
                   {.inv_freq = powers(8, 100.0), .of_query = [](index_t, index_t) { return 1.2; }});
}

TEST_CASE("models/config/layer_rotation: keys into the slots of a cache of another type, beside normalized queries") {
    const auto model = hf::read_config(config_of("llama", R"("head_dim": 16, "rope_theta": 100.0)"));
    const hf::layer_rotation rotation(model.at(0), 3);
    const basis b(powers(8, 100.0));
    const std::vector<std::int32_t> slots{5, 0, 2};
    const std::vector<float> weight(16, 0.5f);
    const auto cache_of = [&](const auto& rotate) {
        std::vector<bfloat16> cache(6 * k_heads * 16, bfloat16::from_bits(0));
        heads_of_test q(q_heads, 16), k(k_heads, 16);
        rotate(in_place(q.view()).normalized(rms_norm<float>{.weight = weight.data()}),
               from_to(k.view(), in_slots(token_major(cache.data(), {.tokens = 6, .heads = k_heads, .head_dim = 16}),
                                          slots.data(), 1, tokens)));
        std::vector<float> all = q.lanes;
        for (const bfloat16 lane : cache) all.push_back(element_traits<bfloat16>::load(lane));
        return all;
    };
    CHECK(cache_of([&](const auto& q, const auto& k) { rotation.rotate(from_40, q, k); }) ==
          cache_of([&](const auto& q, const auto& k) { rotate_forward<half_split>(exact_angles(b, from_40), q, k); }));
}

TEST_CASE("models/config/layer_rotation: what a rule lacks is an error that says how to get it") {
    const auto own = hf::read_config(config_of("somebody_s", R"("head_dim": 16, "rope_theta": 100.0)"));
    CHECK_THROWS_WITH_AS(hf::layer_rotation(own.at(0), 3),
                         "layer_rotation: rule.layout is unknown, since the config does not tell it; it must be set to "
                         "half_split or interleaved, as the model's code pairs lanes: auto rule = model.at(layer); "
                         "rule.layout = hf::pair_layout::half_split",
                         value_error);
    auto rule = own.at(0);
    rule.layout = hf::pair_layout::half_split;
    check_rotation(hf::layer_rotation(rule, 3), from_40, 16, {.inv_freq = powers(8, 100.0)});
    rule = hf::read_config(config_of("llama", R"("head_dim": 16, "rope_theta": 100.0)")).at(0);
    CHECK_THROWS_WITH_AS(hf::layer_rotation(rule, 0.5), "layer_rotation: seq_len 0.5 must be finite and >= 1",
                         value_error);
    CHECK_THROWS_WITH_AS(hf::layer_rotation(rule, 3, head_temperatures{{1.0}, {1.0}}),
                         "layer_rotation: by_head must not be given: the rule has no temperatures of heads",
                         value_error);
    rule.has_head_temperatures = true;
    CHECK_THROWS_WITH_AS(hf::layer_rotation(rule, 3),
                         "layer_rotation: by_head must be given: the rule has temperatures of heads, which "
                         "load_head_temperatures reads from the weights",
                         value_error);
    rule.has_head_temperatures = false;
    heads_of_test q(q_heads, 16), k(k_heads, 16);
    CHECK_THROWS_WITH_AS(hf::layer_rotation(rule, 3).rotate(from_40, in_place(q.view(), 4), in_place(k.view())),
                         "layer_rotation: first_lane 4 must be 0: the rule knows it", value_error);
    rule.needs_weights = true;
    CHECK_THROWS_WITH_AS(hf::layer_rotation(rule, 3),
                         "layer_rotation: rule of type 'default' needs numbers of the weights: load them by "
                         "hf::with_weights",
                         value_error);
}

// Once, the first half of each head of twice the size was rotated, and a view without heads ended the call in silence.
TEST_CASE("models/config/layer_rotation: heads of another size than the config's, or none, are an error") {
    const auto refuse = [](const hf::layer_rotation& rotation, heads_of_test q, heads_of_test k, const char* text) {
        const auto before = q.lanes;
        CHECK_THROWS_WITH_AS(rotation.rotate(from_40, in_place(q.view()), in_place(k.view())), text, shape_error);
        CHECK(q.lanes == before);
    };
    const hf::layer_rotation llama(hf::read_config(config_of("llama", R"("head_dim": 16)")).at(0), 3);
    refuse(llama, {4, 32}, {2, 16}, "layer_rotation: head_dim 32 of [1, 3, 4, 32] must be the config's 16");
    refuse(llama, {4, 16}, {2, 8}, "layer_rotation: head_dim 8 of [1, 3, 2, 8] must be the config's 16");
    const hf::layer_rotation deepseek(
        hf::read_config(config_of("deepseek_v3", R"("qk_rope_head_dim": 8, "qk_nope_head_dim": 16)")).at(0), 3);
    refuse(deepseek, {4, 24}, {2, 32},
           "layer_rotation: head_dim 32 of [1, 3, 2, 32] must be the config's 24, or its 8 rotated lanes alone");

    heads_of_test q(4, 16), none(0, 16);
    none.lanes = {1.0f};
    CHECK_THROWS_WITH_AS(llama.rotate(from_40, in_place(q.view()), in_place(none.view())),
                         "layer_rotation: heads 0 of [1, 3, 0, 16] must be >= 1, or the data nullptr", shape_error);
    CHECK_THROWS_AS(hf::layer_rotation(hf::model_ropes::unrotated_layer(), 3).rotate(from_40, in_place(none.view())),
                    shape_error);
    llama.rotate(from_40, in_place(q.view()), in_place(token_major<float>(nullptr, none.view().shape)));
    const std::vector<int> nowhere;
    llama.rotate(nowhere, in_place(token_major(none.lanes.data(), {.heads = 4, .head_dim = 16})));
}
