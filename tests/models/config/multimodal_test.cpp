// SPDX-License-Identifier: MIT
#include "cordage/models/config/multimodal.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace cordage;
using hf::read_multimodal_rule;

TEST_CASE("models/config/multimodal: the rule of each kind of model is made of its keys") {
    const auto qwen = read_multimodal_rule(
        R"({"model_type": "qwen2_5_vl", "vision_config": {"spatial_merge_size": 2, "tokens_per_second": 4}})");
    CHECK(qwen.spatial_merge_size == 2);
    CHECK(qwen.positions_per_second == 4.0);
    CHECK(qwen.rounds_frame_step);
    const auto ernie = read_multimodal_rule(
        R"({"model_type": "ernie4_5_vl_moe", "vision_config": {"spatial_merge_size": 2, "temporal_merge_size": 2}})");
    CHECK(ernie.temporal_merge_size == 2);
    const auto omni = read_multimodal_rule(R"({"model_type": "qwen2_5_omni", "thinker_config": {
        "model_type": "qwen2_5_omni_thinker", "position_id_per_seconds": 25, "seconds_per_chunk": 2,
        "vision_config": {"spatial_merge_size": 2}}})");
    CHECK(omni.positions_per_second == 25.0);
    CHECK(omni.seconds_per_chunk == 2.0);
    CHECK(omni.repeats_marks);
    CHECK(omni.next == after_grid::largest_position);
    const auto hunyuan =
        read_multimodal_rule(R"({"model_type": "hunyuan_vl", "vision_config": {"spatial_merge_size": 2},
        "text_config": {"rope_parameters": {"mrope_section": [16, 16, 16, 16]}}})");
    CHECK(hunyuan.axes == 4);
    CHECK(hunyuan.next == after_grid::token_count);
    const auto hy = read_multimodal_rule(R"({"model_type": "hy_v4_vl", "vision_config": {"spatial_merge_size": 2}})");
    CHECK(hy.frames_are_blocks);
    CHECK(hy.next == after_grid::largest_position);
}

TEST_CASE("models/config/multimodal: a prompt counted by a config, cut into chunks and continued") {
    const std::string text_of_config =
        R"({"model_type": "qwen2_5_vl", "vision_config": {"spatial_merge_size": 2, "tokens_per_second": 2}})";
    // [multimodal_positions]
    cordage::multimodal_positions<std::int32_t> positions(cordage::hf::read_multimodal_rule(text_of_config));
    positions.text(15);
    positions.image({.rows = 36, .columns = 24});  // patches before merging: 18 x 12 tokens
    positions.text(9);
    positions.video({.frames = 4, .rows = 8, .columns = 8}, 0.5);  // seconds from frame to frame
    positions.text(6);
    const auto first_chunk = positions.view(0, 128);  // [axes, 1, 128], for axis_angles
    positions.decoded(1);                             // a generated token: index + delta
    // [/multimodal_positions]
    CHECK(positions.tokens() == 15 + 18 * 12 + 9 + 4 * 4 * 4 + 6 + 1);
    CHECK(first_chunk.tokens == 128);
    CHECK(positions.view().at(0, positions.tokens() - 1) == 15 + 18 + 9 + 4 + 6);
}

TEST_CASE("models/config/multimodal: missing and unknown keys are named") {
    CHECK_THROWS_WITH_AS(read_multimodal_rule(R"({"model_type": "llama"})"),
                         "config: model_type 'llama' must be that of a supported vision-language model", value_error);
    CHECK_THROWS_WITH_AS(read_multimodal_rule(R"({"model_type": "qwen2_vl"})"),
                         "vision_config: spatial_merge_size must be given", value_error);
    CHECK_THROWS_WITH_AS(
        read_multimodal_rule(R"({"model_type": "qwen2_5_vl", "vision_config": {"spatial_merge_size": 2}})"),
        "config: tokens_per_second must be given for videos", value_error);
    CHECK_THROWS_WITH_AS(
        read_multimodal_rule(R"({"model_type": "hunyuan_vl", "vision_config": {"spatial_merge_size": 2}})"),
        "config: mrope_section of rope_parameters must have at least 3 axes", value_error);
    CHECK_THROWS_AS(read_multimodal_rule(R"({"model_type": "qwen2_vl", "vision_config": {"spatial_merge_size": 0}})"),
                    value_error);
    CHECK_THROWS_AS(read_multimodal_rule("[]"), value_error);
}

// One frame of a video was read as a token, as in Qwen2-VL.
TEST_CASE(
    "models/config/multimodal: two frames of a video of Ernie 4.5 VL make a token, by both names and by default") {
    const std::string ernie = R"({"model_type": "ernie4_5_moe_vl", )";
    for (const char* fields : {R"("vision_config": {"spatial_merge_size": 2})",
                               R"("temporal_conv_size": 2, "vision_config": {"spatial_merge_size": 2})"}) {
        const auto rule = read_multimodal_rule(ernie + fields + "}");
        CHECK(rule.temporal_merge_size == 2);
        multimodal_positions<> positions(rule);
        positions.video({.frames = 4, .rows = 4, .columns = 4});
        CHECK(positions.tokens() == 8);
    }
    CHECK(read_multimodal_rule(ernie + R"("temporal_conv_size": 4, "vision_config": {"spatial_merge_size": 2}})")
              .temporal_merge_size == 4);
    CHECK_THROWS_WITH_AS(
        read_multimodal_rule(
            ernie +
            R"("temporal_conv_size": 4, "vision_config": {"spatial_merge_size": 2, "temporal_merge_size": 2}})"),
        "config: temporal_conv_size 4 must equal temporal_merge_size 2", value_error);
}

TEST_CASE("models/config/multimodal: HunYuan-VL's released files give the axes at the top level, as xdrope_section") {
    const auto rule = read_multimodal_rule(R"({"model_type": "hunyuan_vl", "vision_config": {"spatial_merge_size": 2},
        "rope_scaling": {"type": "xdrope", "alpha": 1000.0, "xdrope_section": [16, 16, 16, 16]}})");
    CHECK(rule.axes == 4);
    CHECK(rule.next == after_grid::token_count);
    CHECK_THROWS_WITH_AS(read_multimodal_rule(R"({"model_type": "hunyuan_vl", "vision_config": "siglip"})"),
                         "vision_config: \"siglip\" must be an object", value_error);
}
