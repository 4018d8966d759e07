// SPDX-License-Identifier: MIT
#include "cordage/models/checkpoint/released_clex.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <sstream>

#include "clex/row_weights.hpp"
#include "cordage/cordage.hpp"
#include "models/checkpoint/written_files.hpp"

using namespace cordage;
using namespace cordage_test;

namespace {

/// Numbers that every dtype represents exactly.
std::vector<double> ramp(std::size_t count, double first) {
    std::vector<double> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(first + static_cast<double>(i) / 64.0);
    return all;
}
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
const std::string up = "proj_func.ode_up_proj", down = "proj_func.ode_down_proj";

std::vector<named_clex_weights> loaded(const std::vector<tensor_to_write>& tensors) {
    return load_released_clex(
        checkpoint(safetensors_file(std::make_unique<std::istringstream>(safetensors_bytes(tensors)))));
}

}  // namespace

TEST_CASE("models/checkpoint/released_clex: one field for all layers is found under any prefix, in every dtype") {
    for (const char* dtype : {"F64", "F32", "F16", "BF16"}) {
        const auto found = loaded({{"model.embed_tokens.weight", "BF16", "[2]", {1.0, 2.0}},
                                   {"model.clex_layer." + down, dtype, "[6, 3]", ramp(18, -0.25)},
                                   {"model.clex_layer." + up, dtype, "[3, 6]", ramp(18, 0.5)}});
        REQUIRE(found.size() == 1);
        CHECK(found[0].prefix == "model.clex_layer.proj_func.");
        CHECK_FALSE(found[0].layer.has_value());
        CHECK(found[0].weights == from_rows(6, 3, ramp(18, 0.5), ramp(18, -0.25)));
    }
}

TEST_CASE("models/checkpoint/released_clex: fields of many layers are in the order of their numbers, from shards") {
    const temporary_folder folder;
    std::string map;
    for (const int layer : {10, 2, 0}) {
        const std::string prefix = message("model.layers.", layer, ".self_attn.rotary_emb.");
        const std::string file_a = message("a", layer, ".safetensors"), file_b = "b" + file_a;
        folder.write(file_a, safetensors_bytes({{prefix + up, "F32", "[2, 4]", ramp(8, layer)}}));
        folder.write(file_b, safetensors_bytes({{prefix + down, "F16", "[4, 2]", ramp(8, -layer)}}));
        map += message(map.empty() ? "" : ", ", '"', prefix, up, "\": \"", file_a, "\", \"", prefix, down, "\": \"",
                       file_b, '"');
    }
    folder.write("model.safetensors.index.json", "{\"weight_map\": {" + map + "}}");
    const auto found = load_released_clex(folder.path());
    REQUIRE(found.size() == 3);
    const index_t numbers[] = {0, 2, 10};
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(found[i].layer == numbers[i]);
        const auto layer = static_cast<double>(numbers[i]);
        CHECK(found[i].weights == from_rows(4, 2, ramp(8, layer), ramp(8, -layer)));
    }
}

TEST_CASE("models/checkpoint/released_clex: the loaded policy equals the saved one") {
    const rope_config config{8, 8, 10000.0, 64.0};
    const std::vector<double> up_rows = ramp(32, -0.25);
    std::vector<double> down_rows = ramp(32, -0.125);
    for (double& w : down_rows) w /= 16.0;
    const auto found = loaded({{"m." + up, "F64", "[4, 8]", up_rows}, {"m." + down, "F64", "[8, 4]", down_rows}});
    const clex_released<> saved(config, from_rows(8, 4, up_rows, down_rows), released_options(4.0, 0.1));
    const clex_released<> again(config, found.at(0).weights, released_options(4.0, 0.1));
    std::vector<double> x(4), y(4);
    saved.log_alpha(config, 3.0, x);
    again.log_alpha(config, 3.0, y);
    CHECK(x == y);
    CHECK_THROWS_AS(clex_released<>({8, 6, 10000.0, 64.0}, found[0].weights), shape_error);
}

TEST_CASE("models/checkpoint/released_clex: from a checkpoint to the basis of a length, and through a training step") {
    const temporary_folder model;
    std::vector<double> first = ramp(2048, -16.0), last = ramp(2048, -16.0);
    for (double& w : first) w /= 256.0;
    for (double& w : last) w /= 8192.0;
    model.write("model.safetensors", safetensors_bytes({{"model.clex_layer." + up, "F64", "[32, 64]", first},
                                                        {"model.clex_layer." + down, "F64", "[64, 32]", last}}));
    const auto& folder = model.path();

    // [released_clex]
    const rope_config config{.head_dim = 64, .rotary_dim = 64, .theta_base = 10000, .original_length = 4096};
    const clex_weights weights = load_released_clex(folder).at(0).weights;
    const clex_released<silu> policy(config, weights, released_options(/*max_factor*/ 16, /*time_dt*/ 0.1));
    const rope_scaling rule(config, policy, rounded_up{16});
    const basis at_12000 = rule.at_length(12000);                  // t = 3
    const double scale_of_q = unclamped_log_scaling(12000, 4096);  // if log_scale is true
    // [/released_clex]

    CHECK(rule.ratio(12000) == 3.0);
    CHECK(scale_of_q == doctest::Approx(std::log(12000.0) / std::log(4096.0)));
    CHECK(at_12000.pairs() == 32);
    CHECK(at_12000.inv_freq()[31] != doctest::Approx(config.inv_freq(31)));

    std::mt19937_64 generator(1);
    const auto grad_of_loss = [](const basis& b, const std::vector<double>& positions) {
        return std::vector<double>(b.inv_freq().size(), positions.back());
    };
    // [released_training]
    const index_t t = sample_whole_ratio(generator, 16);
    const auto positions = released_positions(generator, {.train_length = 8192, .original_length = 4096, .t = t});
    const clex_released<silu> solved(config, weights, released_options(static_cast<double>(t), 0.1));
    const basis b = make_basis(config, solved, static_cast<double>(t));
    std::vector<double> grad_parameters(solved.parameters().size());
    add_grad_parameters(solved, config, static_cast<double>(t), grad_of_loss(b, positions), grad_parameters);
    // [/released_training]

    CHECK(positions.size() == 8192);
    CHECK((t == 1 || std::ranges::any_of(grad_parameters, [](double g) { return g != 0.0; })));
}

TEST_CASE("models/checkpoint/released_clex: matrices that are missing, misshapen or not finite are named") {
    CHECK_THROWS_WITH_AS(loaded({{"model.embed", "F32", "[1]", {1.0}}}),
                         "released_clex: the checkpoint must have tensors ending in 'proj_func.ode_up_proj'",
                         value_error);
    CHECK_THROWS_WITH_AS(loaded({{"a.other_func.ode_up_proj", "F32", "[1, 1]", {1.0}},
                                 {"a.other_func.ode_down_proj", "F32", "[1, 1]", {1.0}}}),
                         "released_clex: the checkpoint must have tensors ending in 'proj_func.ode_up_proj'",
                         value_error);
    CHECK_THROWS_WITH_AS(loaded({{"a." + up, "F32", "[1, 2]", {1.0, 2.0}}}),
                         "released_clex: 'a.proj_func.ode_down_proj' must be in the checkpoint beside "
                         "'a.proj_func.ode_up_proj'",
                         value_error);
    CHECK_THROWS_WITH_AS(loaded({{"a." + down, "F32", "[2, 1]", {1.0, 2.0}}}),
                         "released_clex: 'a.proj_func.ode_up_proj' must be in the checkpoint beside "
                         "'a.proj_func.ode_down_proj'",
                         value_error);
    CHECK_THROWS_WITH_AS(loaded({{"a." + up, "F32", "[2]", {1.0, 2.0}}, {"a." + down, "F32", "[2, 1]", {1.0, 2.0}}}),
                         "released_clex: 'a.proj_func.ode_up_proj' must have shape [pairs, hidden], not empty",
                         shape_error);
    CHECK_THROWS_AS(loaded({{"a." + up, "F32", "[0, 2]", {}}, {"a." + down, "F32", "[2, 0]", {}}}), shape_error);
    CHECK_THROWS_WITH_AS(loaded({{"a." + up, "F32", "[1, 2]", {1.0, 2.0}}, {"a." + down, "F32", "[1, 2]", {1.0, 2.0}}}),
                         "released_clex: 'a.proj_func.ode_down_proj' [1, 2] must have shape [2, 1]", shape_error);
    CHECK_THROWS_WITH_AS(loaded({{"a." + up, "F32", "[1, 2]", {1.0, 2.0}}, {"a." + down, "F32", "[2, 2]", ramp(4, 1)}}),
                         "released_clex: 'a.proj_func.ode_down_proj' [2, 2] must have shape [2, 1]", shape_error);
    CHECK_THROWS_WITH_AS(
        loaded({{"a." + up, "F32", "[1, 2]", {1.0, not_a_number}}, {"a." + down, "F32", "[2, 1]", {1.0, 2.0}}}),
        "released_clex: 'a.proj_func.ode_up_proj'[0, 1] nan must be finite", value_error);
    CHECK_THROWS_AS(
        loaded({{"a." + up, "F16", "[1, 2]", {1.0, 2.0}}, {"a." + down, "BF16", "[2, 1]", {1.0, infinity}}}),
        value_error);
}
