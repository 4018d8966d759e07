// SPDX-License-Identifier: MIT
// multimodal.json: positions of text, images, videos and audio, piece by piece and by the types of the tokens.
#include "cordage/models/config/multimodal.hpp"

#include "kinds.hpp"

namespace conformance {
namespace {

using namespace cordage;

patch_grid grid_of(const value& json) {
    const auto sizes = json.numbers(3);
    return {static_cast<index_t>(sizes[0]), static_cast<index_t>(sizes[1]), static_cast<index_t>(sizes[2])};
}

template <class P>
void compare(const char* how, const multimodal_positions<P>& positions, const value& one_case, report& result) {
    const auto view = positions.view();
    std::vector<double> got;
    for (index_t axis = 0; axis < view.axes; ++axis) {
        for (index_t token = 0; token < view.tokens; ++token) {
            got.push_back(static_cast<double>(view.at(0, token, axis)));
        }
    }
    result.near(how, got, one_case["position_ids"].array({view.axes, view.tokens}), 0.0);
    result.near("delta", static_cast<double>(positions.delta()), one_case["delta"].number(), 0.0);
}

template <class P>
void check_positions_in(const value& one_case, report& result) {
    const multimodal_rule rule = hf::read_parsed_multimodal_rule(one_case["config"].json());
    multimodal_positions<P> by_pieces(rule);
    for (const value& piece : one_case["pieces"].items()) {
        if (piece.has("text")) by_pieces.text(piece["text"].size());
        if (piece.has("image")) by_pieces.image(grid_of(piece["image"]));
        if (piece.has("video")) by_pieces.video(grid_of(piece["video"]), piece["seconds_per_frame"].number());
        if (piece.has("video_with_audio")) {
            by_pieces.video_with_audio(grid_of(piece["video_with_audio"]), piece["seconds_per_frame"].number(),
                                       piece["audio_tokens"].size());
        }
    }
    compare("pieces", by_pieces, one_case, result);
    if (!one_case.has("token_types")) return;
    std::vector<token_type> types;
    std::vector<patch_grid> images, videos;
    for (const double type : one_case["token_types"].numbers()) types.push_back(static_cast<token_type>(type));
    for (const value& grid : one_case["images"].items()) images.push_back(grid_of(grid));
    for (const value& grid : one_case["videos"].items()) videos.push_back(grid_of(grid));
    multimodal_positions<P> by_types(rule);
    by_types.prompt(types, images, videos, one_case["seconds_per_frame"].numbers());
    compare("token_types", by_types, one_case, result);
}

void check_multimodal_positions(const value& one_case, report& result) {
    if (one_case["config"]["model_type"].text() == "qwen3_omni_moe") {  // keeps fractions, in float32
        check_positions_in<float>(one_case, result);
    } else {
        check_positions_in<std::int32_t>(one_case, result);
    }
}

}  // namespace

std::span<const kind> multimodal_kinds() {
    static constexpr kind all[]{{"multimodal_positions", check_multimodal_positions}};
    return all;
}

}  // namespace conformance
