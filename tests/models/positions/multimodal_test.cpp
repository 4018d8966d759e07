// SPDX-License-Identifier: MIT
// Positions of text, images, videos and audio; tests/golden/multimodal.json has those of transformers' models.
#include "cordage/models/positions/multimodal.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

using namespace cordage;

namespace {

// One axis of a view.
template <class P>
std::vector<P> axis(const position_view<P>& view, index_t axis_at) {
    std::vector<P> all;
    for (index_t token = 0; token < view.tokens; ++token) all.push_back(view.at(0, token, axis_at));
    return all;
}
using ids = std::vector<std::int32_t>;

}  // namespace

TEST_CASE(
    "models/positions/multimodal: rows and columns of an image count from its first position, and text continues past "
    "its "
    "side") {
    multimodal_positions<> positions({.spatial_merge_size = 2});
    positions.text(3);
    positions.image({.rows = 4, .columns = 6});
    positions.text(2);
    CHECK(axis(positions.view(), 0) == ids{0, 1, 2, 3, 3, 3, 3, 3, 3, 6, 7});
    CHECK(axis(positions.view(), 1) == ids{0, 1, 2, 3, 3, 3, 4, 4, 4, 6, 7});
    CHECK(axis(positions.view(), 2) == ids{0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7});
    CHECK(positions.tokens() == 11);
    CHECK(positions.delta() == -3);
}

TEST_CASE(
    "models/positions/multimodal: rows end with a newline token, and each frame begins past the longer side of the "
    "last") {
    const multimodal_rule rule{
        .spatial_merge_size = 2, .frames_are_blocks = true, .next = after_grid::largest_position};
    multimodal_positions<> image(rule), wide(rule), high(rule);
    image.text(3);
    image.image({.rows = 4, .columns = 6});
    image.text(1);
    CHECK(axis(image.view(), 0) == ids{0, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 7});
    CHECK(axis(image.view(), 1) == ids{0, 1, 2, 3, 3, 3, 3, 4, 4, 4, 4, 7});
    CHECK(axis(image.view(), 2) == ids{0, 1, 2, 3, 4, 5, 6, 3, 4, 5, 6, 7});
    wide.text(3);
    wide.video({.frames = 2, .rows = 4, .columns = 6});
    wide.text(1);
    CHECK(axis(wide.view(), 0) == ids{0, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 7, 7, 7, 7, 7, 7, 7, 7, 11});
    CHECK(axis(wide.view(), 1) == ids{0, 1, 2, 3, 3, 3, 3, 4, 4, 4, 4, 7, 7, 7, 7, 8, 8, 8, 8, 11});
    CHECK(axis(wide.view(), 2) == ids{0, 1, 2, 3, 4, 5, 6, 3, 4, 5, 6, 7, 8, 9, 10, 7, 8, 9, 10, 11});
    high.video({.frames = 2, .rows = 6, .columns = 2}, 0.5);  // seconds have no effect
    high.text(1);
    CHECK(axis(high.view(), 0) == ids{0, 0, 0, 0, 0, 0, 3, 3, 3, 3, 3, 3, 6});
    CHECK(axis(high.view(), 1) == ids{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6});
    CHECK(axis(high.view(), 2) == ids{0, 1, 0, 1, 0, 1, 3, 4, 3, 4, 3, 4, 6});
    multimodal_positions<> typed(rule);
    typed.prompt(std::vector<token_type>(12, token_type::video), {}, std::vector<patch_grid>{{2, 6, 2}});
    CHECK(axis(typed.view(), 2) == ids{0, 1, 0, 1, 0, 1, 3, 4, 3, 4, 3, 4});
    CHECK_THROWS_WITH_AS(typed.video_with_audio({1, 2, 2}, 1.0, 1),
                         "multimodal_positions::video_with_audio: this rule (frames_are_blocks) has no time by which "
                         "to interleave audio; append it by text()",
                         value_error);
    CHECK_THROWS_WITH_AS(multimodal_positions<>({.positions_per_second = 2.0, .frames_are_blocks = true}),
                         "multimodal_positions: positions_per_second 2 must be 0 with frames_are_blocks", value_error);
}

TEST_CASE(
    "models/positions/multimodal: a chunk of a prompt has the positions of the whole, and so has each token after it") {
    multimodal_positions<> positions({.spatial_merge_size = 2});
    positions.text(2);
    positions.video({.frames = 3, .rows = 2, .columns = 4});
    const ids whole_time = axis(positions.view(), 0), whole_column = axis(positions.view(), 2);
    for (index_t cut = 0; cut <= positions.tokens(); ++cut) {
        ids time = axis(positions.view(0, cut), 0), column = axis(positions.view(0, cut), 2);
        for (const auto id : axis(positions.view(cut, positions.tokens() - cut), 0)) time.push_back(id);
        for (const auto id : axis(positions.view(cut, positions.tokens() - cut), 2)) column.push_back(id);
        CHECK(time == whole_time);
        CHECK(column == whole_column);
    }
    const index_t prompt = positions.tokens();
    const auto delta = positions.delta();
    for (int i = 0; i < 3; ++i) positions.decoded(1);
    for (index_t at = 0; at < 3; ++at) {
        for (index_t a = 0; a < 3; ++a) CHECK(positions.view().at(0, prompt + at, a) == prompt + at + delta);
    }
    CHECK(positions.delta() == delta);
}

TEST_CASE("models/positions/multimodal: after a long video text and decoded tokens go on from different positions") {
    const patch_grid video{.frames = 5, .rows = 2, .columns = 2};
    multimodal_positions<> by_side({}), by_largest({.next = after_grid::largest_position});
    for (auto* positions : {&by_side, &by_largest}) {
        positions->video(video);
        positions->text(1);
    }
    CHECK(by_side.view().at(0, 20) == 2);
    CHECK(by_largest.view().at(0, 20) == 5);
    by_side.decoded(1);
    CHECK(by_side.view().at(0, 21) == 5);  // after all positions, as by delta
}

TEST_CASE("models/positions/multimodal: time in seconds, cut off for integers and kept in float") {
    const multimodal_rule rule{.positions_per_second = 2.0, .rounds_frame_step = true};
    multimodal_positions<std::int64_t> whole(rule);
    multimodal_positions<float> exact(rule);
    whole.video({.frames = 3, .rows = 1, .columns = 1}, 0.7);
    exact.video({.frames = 3, .rows = 1, .columns = 1}, 0.7);
    CHECK(axis(whole.view(), 0) == std::vector<std::int64_t>{0, 1, 2});
    CHECK(axis(exact.view(), 0) == std::vector<float>{0.0f, 1.4f, 2.8f});
    // 7 * 0.04 * 25 by the two ways of float32: 6.9999995 and 7.
    multimodal_positions<> step({.positions_per_second = 25.0, .rounds_frame_step = true});
    multimodal_positions<> left({.positions_per_second = 25.0});
    step.video({.frames = 32, .rows = 1, .columns = 1}, 0.04);
    left.video({.frames = 32, .rows = 1, .columns = 1}, 0.04);
    bool is_equal = true;
    for (index_t i = 0; i < 32; ++i) {
        CHECK(step.view().at(0, i) == i);
        is_equal = is_equal && left.view().at(0, i) == i;
    }
    CHECK_FALSE(is_equal);
}

TEST_CASE("models/positions/multimodal: a prompt by types of tokens, several grids in one run, frames apart") {
    using enum token_type;
    multimodal_positions<> positions({});
    positions.prompt(std::vector{text, image, image, image, text, video, video},
                     std::vector<patch_grid>{{1, 1, 1}, {1, 1, 2}}, std::vector<patch_grid>{{2, 1, 1}});
    CHECK(axis(positions.view(), 0) == ids{0, 1, 2, 2, 4, 5, 6});
    CHECK(axis(positions.view(), 2) == ids{0, 1, 2, 3, 4, 5, 5});
    multimodal_positions<> apart({.frames_are_images = true});
    apart.prompt(std::vector{video, video, text, video, video}, {}, std::vector<patch_grid>{{2, 2, 1}});
    CHECK(axis(apart.view(), 1) == ids{0, 1, 2, 3, 4});
    multimodal_positions<> merged({.temporal_merge_size = 2});  // of videos alone
    merged.prompt(std::vector{image, video, video}, std::vector<patch_grid>{{1, 1, 1}},
                  std::vector<patch_grid>{{4, 1, 1}});
    CHECK(axis(merged.view(), 0) == ids{0, 1, 2});
}

TEST_CASE("models/positions/multimodal: a video and its sound by chunks of time, or token by token") {
    const patch_grid video{.frames = 3, .rows = 1, .columns = 1};
    multimodal_positions<> chunks({.positions_per_second = 2.0,
                                   .seconds_per_chunk = 1.0,
                                   .repeats_marks = true,
                                   .next = after_grid::largest_position});
    chunks.video_with_audio(video, 0.5, 4);
    CHECK(axis(chunks.view(), 0) == ids{0, 0, 1, 2, 1, 2, 3, 3, 4, 5, 5});
    CHECK(axis(chunks.view(), 2) == ids{0, 0, 1, 1, 1, 2, 1, 3, 4, 5, 5});
    chunks.text(1);
    CHECK(chunks.view().at(0, 11) == 6);
    chunks.video_with_audio({.frames = 5, .rows = 1, .columns = 1}, 0.5, 7);
    CHECK(axis(chunks.view(12, 16), 0) == ids{7, 7, 8, 9, 8, 9, 10, 11, 10, 11, 12, 12, 13, 14, 15, 15});
    multimodal_positions<> tokens({.positions_per_second = 2.0, .next = after_grid::largest_position});
    tokens.video_with_audio(video, 0.5, 4);
    CHECK(axis(tokens.view(), 0) == ids{0, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7});
    CHECK(axis(tokens.view(), 1) == ids{0, 1, 2, 2, 2, 3, 2, 4, 5, 6, 7});
}

TEST_CASE("models/positions/multimodal: HunYuan-VL has column, row and number of an image on the last axes") {
    using enum token_type;
    multimodal_positions<> pieces({.axes = 4, .next = after_grid::token_count}), types = pieces;
    pieces.text(1);
    pieces.image({.rows = 2, .columns = 2});
    pieces.text(1);
    pieces.image({.rows = 1, .columns = 1});
    CHECK(axis(pieces.view(), 0) == ids{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    CHECK(axis(pieces.view(), 1) == ids{0, 0, 1, 2, 0, 1, 2, 7, 0, 1});
    CHECK(axis(pieces.view(), 2) == ids{0, 0, 0, 0, 1, 1, 1, 7, 0, 0});
    CHECK(axis(pieces.view(), 3) == ids{0, 0, 0, 0, 0, 0, 0, 7, 1, 1});
    CHECK(pieces.delta() == 0);
    types.prompt(std::vector(8, image), std::vector<patch_grid>{{1, 2, 2}});  // marks around it typed as image
    CHECK(axis(types.view(), 1) == ids{0, 0, 1, 2, 0, 1, 2, 7});
}

TEST_CASE("models/positions/multimodal: disagreeing arguments are rejected by name, and nothing is appended") {
    using enum token_type;
    multimodal_positions<> positions({.spatial_merge_size = 2, .frames_are_images = true});
    positions.text(4);
    const std::vector<patch_grid> one{{1, 4, 4}};
    CHECK_THROWS_WITH_AS(positions.text(-1), "multimodal_positions::text: count -1 must be 0 to 2^31", value_error);
    CHECK_THROWS_WITH_AS(positions.text(index_t{1} << 31),
                         "multimodal_positions::text: position 2147483652 must be below 2^31, the limit of its type",
                         value_error);
    CHECK_THROWS_WITH_AS(
        positions.image({1, 3, 4}),
        "multimodal_positions::image: grid {1, 3, 4} must have whole blocks of 1 x 2 x 2, the patches that are "
        "merged",
        value_error);
    CHECK_THROWS_WITH_AS(positions.image({2, 2, 2}),
                         "multimodal_positions::image: grid {2, 2, 2} must have one frame; append several by "
                         "video()",
                         value_error);
    CHECK_THROWS_AS(positions.image({1, 0, 4}), value_error);
    CHECK_THROWS_AS(positions.video_with_audio({2, 2, 2}, 0.5, std::numeric_limits<index_t>::max()), value_error);
    CHECK_THROWS_AS(positions.image({1, index_t{1} << 40, index_t{1} << 40}), value_error);
    CHECK_THROWS_WITH_AS(
        positions.video({2, 2, 2}),
        "multimodal_positions::video: grid {2, 2, 2} must have one frame for each call: this model has "
        "text between frames",
        value_error);
    for (const double seconds : {0.0, -1.0, 1e7, std::numeric_limits<double>::quiet_NaN()}) {
        CHECK_THROWS_AS(positions.video({1, 2, 2}, seconds), value_error);
    }
    CHECK_THROWS_WITH_AS(
        positions.prompt(std::vector{text, image, image, image}, one),
        "multimodal_positions::prompt: 3 image tokens before token 4 must be at least the 4 of grid 0, {1, 4, "
        "4}",
        value_error);
    CHECK_THROWS_WITH_AS(positions.prompt(std::vector{image, image, image, image, image}, one),
                         "multimodal_positions::prompt: 1 image tokens before token 5 must have a grid; number "
                         "of grids: 1",
                         value_error);
    CHECK_THROWS_WITH_AS(
        positions.prompt(std::vector{text}, one),
        "multimodal_positions::prompt: token_types has tokens of 0 images and 0 videos, must have those of 1 "
        "and 0",
        value_error);
    CHECK_THROWS_WITH_AS(positions.prompt(std::vector{static_cast<token_type>(3)}, {}),
                         "multimodal_positions::prompt: token_types[0] 3 must be 0 (text), 1 (image) or 2 (video)",
                         value_error);
    CHECK_THROWS_WITH_AS(
        positions.prompt(std::vector{video}, {}, one, std::vector{1.0, 2.0}),
        "multimodal_positions::prompt: seconds_per_frame has 2 entries, must have one for each of 1 videos, "
        "or none",
        value_error);
    CHECK(positions.tokens() == 4);
    CHECK(positions.delta() == 0);
    CHECK_THROWS_WITH_AS(positions.view(2, 3),
                         "multimodal_positions::view: first 2 and count 3 must lie within the 4 tokens appended so "
                         "far",
                         value_error);
    CHECK_THROWS_WITH_AS(multimodal_positions<>({.axes = 2}), "multimodal_positions: axes 2 must be 3 to 256",
                         value_error);
    CHECK_THROWS_AS(multimodal_positions<>({.axes = 257}), value_error);
    CHECK_THROWS_AS(multimodal_positions<>({.spatial_merge_size = 0}), value_error);
    CHECK_THROWS_AS(multimodal_positions<>({.positions_per_second = -1.0}), value_error);
}

TEST_CASE("models/positions/multimodal: times are checked as they are computed, in float32") {
    multimodal_positions<std::int32_t> positions({.spatial_merge_size = 1, .positions_per_second = 1.0});
    // 2^25 frames of almost 64 s end just below 2^31, and at 2^31 in float32.
    CHECK_THROWS_WITH_AS(positions.video({index_t{1} << 25, 1, 1}, 63.9999999),
                         "multimodal_positions::video: position 2147483648 must be below 2^31, the limit of its type",
                         value_error);
    CHECK(positions.tokens() == 0);
}

TEST_CASE("models/positions/multimodal: a rule of images alone refuses videos") {
    multimodal_positions<std::int32_t> positions({.axes = 4, .spatial_merge_size = 1, .next = after_grid::token_count});
    const char* const text = "this rule (after_grid::token_count) has images only; append each frame by image()";
    const auto refused = [&](const char* piece, const auto& call) {
        CHECK_THROWS_WITH_AS(call(), (std::string("multimodal_positions::") + piece + ": " + text).c_str(),
                             value_error);
    };
    refused("video", [&] { positions.video({2, 4, 4}); });
    refused("video_with_audio", [&] { positions.video_with_audio({2, 4, 4}, 1.0, 5); });
    refused("video", [&] {
        const std::vector<token_type> types(40, token_type::video);
        const std::vector<patch_grid> videos{{2, 4, 4}};
        positions.prompt(types, {}, videos);
    });
    CHECK(positions.tokens() == 0);
}

TEST_CASE("models/positions/multimodal: float positions end where float no longer counts by ones") {
    multimodal_positions<float> positions({});
    CHECK_THROWS_AS(positions.text(1 << 24), value_error);
    positions.text((1 << 24) - 1);
    CHECK(positions.view().at(0, (1 << 24) - 2) == 16777214.0f);
}

template <class Positions>
concept viewed_when_temporary = requires { Positions({}).view(); };
static_assert(!viewed_when_temporary<multimodal_positions<>>);

TEST_CASE("models/positions/multimodal: frames that do not fill a token are refused") {
    multimodal_positions<> positions({.temporal_merge_size = 2});
    CHECK_THROWS_WITH_AS(
        positions.video({.frames = 3, .rows = 1, .columns = 1}),
        "multimodal_positions::video: grid {3, 1, 1} must have whole blocks of 2 x 1 x 1, the patches that are "
        "merged",
        value_error);
}

TEST_CASE("models/positions/multimodal: appending token by token moves the positions rarely, not with each token") {
    multimodal_positions<> positions({});
    positions.text(10000);
    const auto* data = positions.view().data;
    int moves = 0;
    for (int i = 0; i < 1000; ++i) {
        positions.decoded(1);
        moves += positions.view().data != data;
        data = positions.view().data;
    }
    CHECK(moves <= 1);
}

TEST_CASE("models/positions/multimodal: frames with text between them are one for each call, with audio too") {
    multimodal_positions<> positions({.frames_are_images = true});
    CHECK_THROWS_WITH_AS(positions.video_with_audio({2, 2, 2}, 0.5, 3),
                         "multimodal_positions::video_with_audio: grid {2, 2, 2} must have one frame for each call: "
                         "this model has text between frames",
                         value_error);
    for (const index_t frames : {0, -5}) {
        const std::vector<patch_grid> videos{{frames, 2, 2}};
        CHECK_THROWS_WITH_AS(
            positions.prompt(std::vector(4, token_type::video), {}, videos),
            ("multimodal_positions::video: grid {" + std::to_string(frames) + ", 2, 2} must have 1 to 2^31 patches")
                .c_str(),
            value_error);
    }
    CHECK(positions.tokens() == 0);
}

TEST_CASE("models/positions/multimodal: marks around audio that would pass the last position are refused") {
    multimodal_positions<> positions({.positions_per_second = 1e6, .next = after_grid::largest_position});
    const auto left = [&] { return 0x1p31 - static_cast<double>(positions.tokens() + positions.delta()); };
    while (left() > 1000.0) positions.video({2, 1, 1}, 0.49e-6 * left());  // two frames, half of what is left apart
    positions.text(static_cast<index_t>(left()) - 1);
    const index_t tokens = positions.tokens();
    CHECK_THROWS_WITH_AS(positions.video_with_audio({1, 1, 1}, 1e-6, 1),
                         "multimodal_positions::video_with_audio: position 2147483649 must be below 2^31, the limit "
                         "of its type",
                         value_error);
    CHECK(positions.tokens() == tokens);
}
