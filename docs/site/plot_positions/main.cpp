// SPDX-License-Identifier: MIT
// Draws the pictures of docs/positions into a folder: plot_positions FOLDER. Each has the tokens of a sequence with the
// positions that the library gives them, a row for each axis, and below the axis that rotates each pair of a head.
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordage/models/positions/grid.hpp"
#include "cordage/models/positions/latent_positions.hpp"
#include "cordage/models/positions/multimodal.hpp"
#include "cordage/positions/sections.hpp"
#include "svg.hpp"

namespace {

using cordage::index_t;
using svg::box;
using svg::text;

constexpr double left = 18, column = 88, width = 740, row_height = 24;
constexpr const char* axis_colours[] = {"#24357a", "#1b9e77", "#d08a00"};

/// Kinds of tokens: a letter, its name, its colour.
struct kind {
    char letter;
    const char* name;
    const char* colour;
};
constexpr kind kinds[] = {{'t', "text", "#4b5563"},
                          {'m', "mark", "#7d8694"},
                          {'p', "patch", "#8e44ad"},
                          {'l', "latent", "#8e44ad"},
                          {'a', "audio", "#c0392b"}};

const kind& kind_of(char letter) {
    for (const kind& each : kinds) {
        if (each.letter == letter) return each;
    }
    throw std::runtime_error("no kind of token has this letter");
}

std::string filled(const char* colour, const char* opacity) {
    return std::string(" rx='3' fill='") + colour + "' fill-opacity='" + opacity + "'";
}

/// One picture.
struct scheme {
    std::string title, call;
    std::string tokens;               ///< the kind of each token, a letter each
    std::vector<const char*> axes;    ///< names
    std::vector<std::uint8_t> pairs;  ///< the axis of each pair
    std::string pairs_call;

    /// Runs of tokens of one kind under one name, then the numbers of each axis.
    template <class P>
    std::string drawn(const cordage::position_view<P>& positions) const {
        if (positions.tokens != std::ssize(tokens) || positions.axes != std::ssize(axes)) {
            throw std::runtime_error(title + ": the tokens or axes drawn are not those of the positions");
        }
        const double cell = std::min(44.0, (width - left - column) / static_cast<double>(positions.tokens));
        const auto x_of = [&](index_t token) { return column + cell * static_cast<double>(token); };
        std::string out = svg::title(left, width - left, title, call);
        for (index_t begin = 0, end = 0; begin < positions.tokens; begin = end) {
            const char letter = tokens[static_cast<std::size_t>(begin)];
            while (end < positions.tokens && tokens[static_cast<std::size_t>(end)] == letter) ++end;
            out += box(x_of(begin), 40, x_of(end) - x_of(begin) - 2, row_height - 3,
                       filled(kind_of(letter).colour, "0.85"));
            out += text((x_of(begin) + x_of(end)) / 2 - 1, 55, kind_of(letter).name,
                        " text-anchor='middle' fill='#ffffff' font-size='11'");
        }
        double y = 40 + row_height;
        out += text(left, 55, "tokens");
        for (index_t axis = 0; axis < positions.axes; ++axis, y += row_height) {
            const char* const colour = colour_of(static_cast<std::size_t>(axis));
            out += text(left, y + 15, axes[static_cast<std::size_t>(axis)],
                        std::string(" font-weight='bold' fill='") + colour + "'");
            for (index_t token = 0; token < positions.tokens; ++token) {
                out += box(x_of(token), y, cell - 2, row_height - 3, filled(colour, "0.14"));
                out += text(x_of(token) + cell / 2 - 1, y + 15,
                            svg::number(static_cast<double>(positions.at(0, token, axis))), " text-anchor='middle'");
            }
        }
        return svg::picture(out + pairs_drawn(y + 22), static_cast<int>(width), static_cast<int>(y) + 58);
    }

 private:
    /// Time, row and column have the same colours in every picture.
    const char* colour_of(std::size_t axis) const { return axis_colours[axis + (axes.size() == 2 ? 1 : 0)]; }
    std::string pairs_drawn(double y) const {
        constexpr double cell = 44;
        std::string out =
            text(left, y + 15, "pairs") +
            text(width - left, y + 15, pairs_call, " text-anchor='end' font-family='monospace' font-size='11'");
        for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
            const double x = column + cell * static_cast<double>(pair);
            out += box(x, y, cell - 2, row_height - 3, filled(colour_of(pairs[pair]), "0.9"));
            out += text(x + cell / 2 - 1, y + 15, svg::number(static_cast<double>(pair)),
                        " text-anchor='middle' fill='#ffffff'");
        }
        return out;
    }
};

void draw(const std::filesystem::path& folder) {
    using positions = cordage::multimodal_positions<std::int32_t>;
    const std::vector<const char*> three{"time", "row", "column"};

    const std::array<std::int32_t, 12> ids{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    svg::write(folder, "text",
               scheme{"Text: one position a token rotates every pair",
                      "exact_angles(basis, position_ids)",
                      "tttttttttttt",
                      {"position"},
                      cordage::contiguous_axes({8}),
                      ""}
                   .drawn(cordage::position_view<std::int32_t>(ids)));

    positions image({.spatial_merge_size = 2});
    image.text(4), image.image({.rows = 4, .columns = 6}), image.text(4);
    svg::write(folder, "mrope",
               scheme{"M-RoPE (Qwen2-VL): text, an image of 2 × 3 tokens, text", "axis_angles(...)", "ttttpppppptttt",
                      three, cordage::contiguous_axes({4, 2, 2}), "contiguous_axes({4, 2, 2})"}
                   .drawn(image.view()));

    positions frames({.spatial_merge_size = 2, .frames_are_images = true});
    for (int frame = 0; frame < 2; ++frame) frames.text(2), frames.video({.rows = 4, .columns = 4});
    frames.text(2);
    svg::write(folder, "mrope_interleaved",
               scheme{"Interleaved M-RoPE (Qwen3-VL): a video, frame by frame", "axis_angles(...)", "ttppppttpppptt",
                      three, cordage::interleaved_axes({4, 2, 2}), "interleaved_axes({4, 2, 2})"}
                   .drawn(frames.view()));

    const auto patches =
        cordage::grid_positions({.spatial_merge_size = 2}, std::array{cordage::patch_grid{.rows = 4, .columns = 4}});
    svg::write(folder, "axial",
               scheme{"Axial, two axes: 4 × 4 patches of a vision tower, in blocks of 2 × 2",
                      "grid_positions(rule, grids)",
                      "pppppppppppppppp",
                      {"row", "column"},
                      cordage::contiguous_axes({4, 4}),
                      "contiguous_axes({4, 4})"}
                   .drawn(cordage::axis_minor(patches.data(), 2, 1, std::ssize(patches) / 2)));

    cordage::latent_positions<> video(3);
    video.text(3, {0, 0, 0}, {1, 0, 0});
    video.grid({cordage::spaced(2, 3), cordage::spaced(2), cordage::spaced(3)});
    svg::write(folder, "video",
               scheme{"Video model: text on a line, then 2 frames of 2 × 3 latents", "latent_positions<>(3)",
                      "tttllllllllllll", three, cordage::contiguous_axes({2, 3, 3}), "contiguous_axes({2, 3, 3})"}
                   .drawn(video.view()));

    positions sound({.positions_per_second = 2,
                     .seconds_per_chunk = 1,
                     .repeats_marks = true,
                     .next = cordage::after_grid::largest_position});
    sound.text(2), sound.video_with_audio({.frames = 4, .rows = 1, .columns = 2}, 0.5, 4), sound.text(2);
    svg::write(folder, "audio",
               scheme{"Video with sound (Qwen2.5-Omni), in chunks of a second", "video_with_audio(...)",
                      "ttmmppppaappppaammtt", three, cordage::contiguous_axes({4, 2, 2}), "contiguous_axes({4, 2, 2})"}
                   .drawn(sound.view()));
}

}  // namespace

int main(int argc, char** argv) { return svg::run(argc, argv, draw); }
