// SPDX-License-Identifier: MIT
// Configs of towers; tests/golden/towers.json has the results of transformers' classes.
#include "cordage/models/config/tower.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <span>

#include "../../../examples/own_methods/coordinate_noise.hpp"
#include "cordage/angles/axis_angles.hpp"
#include "cordage/rotate/forward.hpp"
#include "cordage/tensors/operand.hpp"

using namespace cordage;
using hf::read_tower;

namespace {

std::string config_of(const std::string& model_type, const std::string& fields = "") {
    return R"({"model_type": ")" + model_type + '"' + (fields.empty() ? "" : ", ") + fields + "}";
}
hf::tower_rope tower_of(const std::string& model_type, const std::string& fields = "") {
    return read_tower(config_of(model_type, fields));
}
std::string error_of(const std::string& model_type, const std::string& fields = "") {
    try {
        tower_of(model_type, fields);
    } catch (const value_error& why) {
        return why.what();
    }
    return "";
}
using axes = std::vector<std::uint8_t>;

}  // namespace

TEST_CASE("models/config/tower: rows and columns share the pairs as each family's code has it") {
    const std::string sizes = R"("hidden_size": 32, "num_attention_heads": 4)";  // 4 pairs
    const auto qwen = tower_of("qwen2_vl_vision", R"("embed_dim": 32, "num_heads": 4)");
    CHECK(qwen.axis_of_pair == axes{0, 0, 1, 1});
    CHECK(qwen.layout == hf::pair_layout::half_split);
    CHECK(qwen.head_dim == 8);
    CHECK(qwen.basis.inv_freq()[1] == doctest::Approx(0.01).epsilon(1e-14));
    CHECK(qwen.basis.inv_freq()[3] == qwen.basis.inv_freq()[1]);
    CHECK(qwen.grid.spatial_merge_size == 2);
    CHECK(tower_of("kimi_k25_vision", sizes).axis_of_pair == axes{1, 0, 1, 0});
    CHECK(tower_of("step3p5_vision", sizes).axis_of_pair == axes{1, 1, 0, 0});
    const auto pixtral = tower_of("pixtral", sizes);
    for (std::size_t pair = 0; pair < 4; ++pair) {
        const double i[] = {0, 2, 1, 3};
        CHECK(pixtral.basis.inv_freq()[pair] == doctest::Approx(std::pow(1e4, -2.0 * i[pair] / 8.0)).epsilon(1e-14));
    }
    const auto llama = tower_of("llama4_vision_model", sizes);
    CHECK(llama.layout == hf::pair_layout::interleaved);
    CHECK(llama.grid.shift == std::array{1.0, 1.0});
    CHECK(llama.grid.tokens_after == 1);
    const auto gemma = tower_of("gemma4_vision");
    CHECK(gemma.parts == 2);
    CHECK(gemma.head_dim == 64);
    const auto minimax = tower_of("minimax_m3_vl_vision");
    CHECK(minimax.basis.pairs() == 39);  // of a head of 80: 13 for frames, rows and columns each
    CHECK(minimax.axis_of_pair[38] == 2);
    CHECK(minimax.grid.axes == 3);
}

TEST_CASE("models/config/tower: coordinates that are not numbers of rows and columns") {
    const auto dino =
        tower_of("dinov3_vit", R"("num_register_tokens": 4, "pos_embed_shift": 0.25, "rope_theta": 50.0)");
    CHECK(dino.grid.coordinate == grid_coordinate::centre);
    CHECK(dino.grid.tokens_before == 5);
    CHECK(dino.basis.inv_freq()[0] == doctest::Approx(2.0 * std::numbers::pi).epsilon(1e-15));
    CHECK(dino.noise.shift == 0.25);
    CHECK(dino.noise.jitter == 1.0);
    CHECK(dino.noise.rescale == 2.0);  // the class' default
    CHECK(tower_of("dinov3_vit", R"("pos_embed_rescale": null)").noise.rescale == 1.0);
    CHECK(tower_of("dinov3_vit", R"("num_register_tokens": 0)").grid.tokens_before == 1);
    CHECK(tower_of("sapiens2").grid.tokens_before == 9);
    const auto sam = tower_of("sam3_vit_model", R"("window_size": 14)");
    CHECK(sam.grid.coordinate == grid_coordinate::of_reference);
    CHECK(sam.grid.reference_columns == 14.0);
    const auto music = tower_of("musicflamingo", R"("audio_config": {"hidden_size": 40}, "rope_parameters":
        {"rope_theta": 900.0, "partial_rotary_factor": 0.2}, "audio_frame_step": 0.02)");
    CHECK(music.grid.seconds_per_token == doctest::Approx(0.08));
    CHECK(music.head_dim == 40);
    CHECK(music.axis_of_pair == axes{0, 0, 0, 0, 1, 1, 1, 1});
    CHECK(music.basis.inv_freq()[0] == doctest::Approx(2.0 * std::numbers::pi / 900.0));
    CHECK(music.basis.inv_freq()[4] == doctest::Approx(std::pow(2.0 * std::numbers::pi, 2) / 900.0));
    CHECK(tower_of("edgetam_video", R"("memory_attention_hidden_size": 64, "memory_attention_num_attention_heads": 2,
        "memory_attention_downsample_rate": 2)")
              .head_dim == 16);
    const auto loftr = tower_of("efficientloftr");
    CHECK(loftr.head_dim == 256);
    CHECK(loftr.basis.pairs() == 128);
}

TEST_CASE("models/config/tower: of a model around it, by its own type or the model's") {
    CHECK(read_tower(R"({"model_type": "qwen2_vl", "vision_config": {"embed_dim": 1280, "num_heads": 16}})").head_dim ==
          80);
    const auto omni = read_tower(R"({"model_type": "qwen2_5_omni", "thinker_config": {"vision_config":
        {"model_type": "qwen2_5_omni_vision_encoder", "spatial_merge_size": 4}}})");
    CHECK(omni.model_type == "qwen2_5_omni_vision_encoder");
    CHECK(omni.grid.spatial_merge_size == 4);
    CHECK(read_tower(R"({"model_type": "mistral3", "vision_config": {"model_type": "pixtral"}})").model_type ==
          "pixtral");
    CHECK(read_tower(R"({"model_type": "chmv2", "backbone_config": {"model_type": "dinov3_vit"}})").head_dim == 64);
    CHECK_THROWS_WITH_AS(read_tower(R"({"model_type": "qwen2_vl"})"),
                         "config: model_type 'qwen2_vl' must be that of a supported tower", value_error);
    CHECK_THROWS_WITH_AS(read_tower(R"({"model_type": "x", "vision_config": {"model_type": "vjepa2"}})"),
                         "config.vision_config: model_type 'vjepa2' must be that of a supported tower; it rotates "
                         "the two lanes of a pair by different angles",
                         value_error);
}

TEST_CASE("models/config/tower: unsupported and invalid keys of a tower are named") {
    CHECK(error_of("pixtral", R"("rope_parameters": {"rope_type": "linear", "factor": 2.0})") ==
          "rope_parameters: rope_type 'linear' must be 'axial'");
    CHECK(error_of("llama4_vision_model", R"("rope_parameters": {"rope_type": "axial"})") ==
          "rope_parameters: rope_type 'axial' must be 'default'");
    CHECK(error_of("dinov3_vit", R"("rope_parameters": {"rope_theta": 50.0})") ==
          "rope_parameters: rope_parameters must be left out: this tower reads only the config's rope_theta");
    CHECK(error_of("qwen2_vl_vision", R"("rope_parameters": {"rope_theta": 1e4, "mrope_section": [1]})") ==
          "rope_parameters: key 'mrope_section' must be left out: this tower does not read it");
    CHECK(error_of("qwen2_vl_vision", R"("rope_parameters": {"rope_theta": 1e4}, "rope_theta": 1e5)") ==
          "config: rope_theta 100000 must equal rope_theta 10000");
    CHECK(error_of("qwen2_vl_vision", R"("partial_rotary_factor": 0.5)") ==
          "config: partial_rotary_factor must be left out: this tower does not read it");
    CHECK(error_of("qwen2_vl_vision", R"("rope_thetaa": 1.0)") ==
          "config: key 'rope_thetaa' must be a known key; did you mean 'rope_theta'?");
    CHECK(error_of("qwen2_vl_vision", R"("rope_theta": 1.0)") == "config: rope_theta 1 must be > 1");
    CHECK(error_of("qwen2_vl_vision", R"("head_dim": 70)") ==
          "config: head_dim 70 must be a multiple of 4: rows rotate one half of the pairs, columns the other");
    CHECK(error_of("minimax_m3_vl_vision", R"("head_dim": 4)") == "config: head_dim 4 must be >= 6 and <= 1048576");
    CHECK(error_of("pixtral", R"("head_dim": 32)") ==
          "config: head_dim 32 must be left out or 64, as given by the sizes of this tower");
    CHECK(error_of("efficientloftr", R"("partial_rotary_factor": 2.0)") ==
          "config: partial_rotary_factor 2 of head_dim 32 is 64 lanes, must be an even number, half of 256");
    CHECK(error_of("musicflamingo", R"("partial_rotary_factor": 0.6)") ==
          "config: partial_rotary_factor 0.6 of head_dim 1280 is 768 lanes, must be an even number, at most half of "
          "1280");
    CHECK(error_of("musicflamingo", R"("max_position_embeddings": 900)") ==
          "config: max_position_embeddings 900 must be left out or rope_theta 1200");
    CHECK(error_of("dinov3_vit", R"("pos_embed_jitter": 0.5)") == "config: pos_embed_jitter 0.5 must be >= 1");
    CHECK(error_of("dinov3_vit", R"("num_register_tokens": 1.5)") ==
          "config: num_register_tokens 1.5 must be an integer in 1 ... 2^31");
    CHECK(error_of("qwen2_vl_vision", R"("num_heads": 16, "num_attention_heads": 8)") ==
          "config: num_attention_heads 8 must equal num_heads 16");
    const auto beside =
        read_tower(config_of("dinov3_vit", R"("rope_parameters": {"rope_theta": 50.0})"), {.lenient = true});
    CHECK(beside.basis.inv_freq()[1] ==
          tower_of("dinov3_vit").basis.inv_freq()[1]);  // whose code reads no rope dictionary
    const auto lenient = read_tower(config_of("qwen2_vl_vision", R"("partial_rotary_factor": 0.5)"), {.lenient = true});
    CHECK(lenient.warnings ==
          std::vector<std::string>{"config: partial_rotary_factor must be left out: this tower does not read it"});
}

TEST_CASE("models/config/tower: in words") {
    CHECK(describe(tower_of("kimi_k25_vision")) ==
          "tower kimi_k25_vision\n  rotation: 72 of 72 lanes, 36 pairs, half_split\n  axes: columns, rows "
          "alternating, the fastest 1 rad per position\n  positions: numbers\n");
    const std::string dino = describe(tower_of("eomt_dinov3"));
    CHECK(dino.find("centres of patches from -1 to 1 over the image; 5 tokens before a grid are not rotated") !=
          std::string::npos);
    CHECK(dino.find("in training: shifted by up to 0, stretched by up to 1, rescaled by up to 2") != std::string::npos);
    CHECK(describe(tower_of("video_llama_3_vision")).find("set spatial_merge_size") != std::string::npos);
    CHECK(describe(tower_of("gemma4_vision")).find("half_split in each of 2 parts") != std::string::npos);
    CHECK(describe(tower_of("minimax_m3_vl_vision")).find("frames, rows, columns in blocks") != std::string::npos);
}

TEST_CASE("models/config/tower: positions of a training image are changed by the config's noise") {
    const auto tower = tower_of("dinov3_vit", R"("pos_embed_shift": 0.25, "pos_embed_jitter": 1.5)");
    const std::array grids{patch_grid{.rows = 2, .columns = 3}};
    // [coordinate_noise]
    std::mt19937_64 generator(7);
    const auto of_this_image = own::with_noise(generator, tower.grid, tower.noise);
    const auto positions = cordage::grid_positions(of_this_image, grids);
    // [/coordinate_noise]
    const auto plain = cordage::grid_positions(tower.grid, grids);
    REQUIRE(positions.size() == plain.size());
    CHECK(positions[0] == 0.0);  // the class token
    CHECK(positions[1] == 0.0);
    for (std::size_t i = 2; i < plain.size(); ++i) CHECK(positions[i] != plain[i]);
}

// In Gemma 4 each half of a head is a head of its own; the first one is rotated by columns.
TEST_CASE("models/config/tower: a head of several parts is rotated part by part") {
    const auto tower = tower_of("gemma4_vision", R"("head_dim": 8)");
    const std::array grids{patch_grid{.rows = 2, .columns = 2}};
    std::vector<double> q(32, 1.0);
    const heads_shape shape{.tokens = 4, .heads = 1, .head_dim = 8};
    // [tower_parts]
    const auto positions = grid_positions(tower.grid, grids);
    const index_t pairs = tower.basis.pairs() / tower.parts, lanes = tower.head_dim / tower.parts;
    for (index_t part = 0; part < tower.parts; ++part) {
        const auto first = static_cast<std::size_t>(part * pairs), count = static_cast<std::size_t>(pairs);
        const auto inv_freq = tower.basis.inv_freq().subspan(first, count);
        const cordage::basis of_part({inv_freq.begin(), inv_freq.end()});
        const std::span axis_of_pair = std::span(tower.axis_of_pair).subspan(first, count);
        auto half = cordage::token_major(q.data() + part * lanes, shape);
        half.shape.head_dim = lanes;
        cordage::rotate_forward<cordage::half_split>(
            cordage::axis_angles(of_part, axis_of_pair, cordage::axis_minor(positions.data(), 2, 1, 4)),
            cordage::in_place(half));
    }
    // [/tower_parts]
    const double c = std::cos(1.0), s = std::sin(1.0), c2 = std::cos(0.1), s2 = std::sin(0.1);
    const std::vector<double> last{c - s, c2 - s2, c + s, c2 + s2, c - s, c2 - s2, c + s, c2 + s2};  // row 1, column 1
    for (std::size_t lane = 0; lane < 8; ++lane) {
        CHECK(q[24 + lane] == doctest::Approx(last[lane]).epsilon(1e-12));
        CHECK(q[8 + lane] == doctest::Approx(lane < 4 ? last[lane] : 1.0).epsilon(1e-12));   // row 0, column 1
        CHECK(q[16 + lane] == doctest::Approx(lane < 4 ? 1.0 : last[lane]).epsilon(1e-12));  // row 1, column 0
    }
}
