// SPDX-License-Identifier: MIT
// Positions of the patches of images and videos, as vision towers count rows and columns; stage positions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"

namespace cordage {

/// The number of patches of an image or a video before merging: one row of image_grid_thw or video_grid_thw.
struct patch_grid {
    index_t frames = 1;
    index_t rows = 0;
    index_t columns = 0;
};

namespace positions_detail {

/// The grid in blocks of frames x side x side patches.
/// @throws value_error  naming the grid, unless it has 1 to 2^31 patches in whole blocks
inline patch_grid merged_grid(std::initializer_list<message_part> name, const patch_grid& grid, index_t frames,
                              index_t side) {
    const auto refuse = [&](const std::string& expected) {
        fail<value_error>(
            {joined(name), " {", grid.frames, ", ", grid.rows, ", ", grid.columns, "} must have ", expected});
    };
    constexpr index_t most = index_t{1} << 31;
    if (grid.frames < 1 || grid.rows < 1 || grid.columns < 1 ||
        saturated_product(saturated_product(grid.frames, grid.rows), grid.columns) > most) {
        refuse("1 to 2^31 patches");
    }
    if (grid.rows % side != 0 || grid.columns % side != 0 || grid.frames % frames != 0) {
        refuse(message("whole blocks of ", frames, " x ", side, " x ", side, ", the patches that are merged"));
    }
    return {grid.frames / frames, grid.rows / side, grid.columns / side};
}

/// Makes room for `count` more numbers. The capacity at least doubles, so that many small pieces cost linear time.
template <class P>
void reserve_more(std::vector<P>& numbers, index_t count) {
    const std::size_t needed = numbers.size() + static_cast<std::size_t>(count);
    if (needed > numbers.capacity()) numbers.reserve(std::max(needed, 2 * numbers.capacity()));
}

}  // namespace positions_detail

/// How the coordinate of a row or column is computed from its number, counted from 0.
enum class grid_coordinate : std::uint8_t {
    number,         ///< number
    centre,         ///< centre of the patch in an image from -1 to 1: (2 number + 1) / count - 1 (DINOv3)
    of_reference,   ///< scaled to a reference grid; rows use the ratio of columns too, as SAM 3 does
    times_seconds,  ///< number * start time of the token in seconds; rows are windows (MusicFlamingo)
};

/// How a vision tower assigns positions to rows and columns; hf::read_tower (config/tower.hpp) reads it from a config.
///
///   position = (coordinate + shift) factor        for rows and columns; frames are numbered from 0
///
///   Qwen2-VL   {.spatial_merge_size = 2}
///   DINOv3     {.coordinate = grid_coordinate::centre, .tokens_before = 5}      a class token and 4 registers
struct grid_rule {
    index_t axes = 2;                ///< row, column; 3: frame, row, column
    index_t spatial_merge_size = 1;  ///< patches are ordered in blocks of this many rows and columns
    grid_coordinate coordinate = grid_coordinate::number;
    double reference_columns = 0.0;  ///< for of_reference
    double seconds_per_token = 0.0;  ///< for times_seconds
    std::array<double, 2> shift = {0.0, 0.0};
    std::array<double, 2> factor = {1.0, 1.0};
    index_t tokens_before = 0;  ///< before each grid: class token and registers, at position 0, so not rotated
    index_t tokens_after = 0;   ///< after each grid, at position 0
};

/// Ranges of random changes of a training image's coordinates (DINOv3: pos_embed_shift, pos_embed_jitter,
/// pos_embed_rescale); the caller draws them (docs/positions.md).
struct coordinate_noise {
    double shift = 0.0;    ///< added: one draw each for rows and columns, uniform in -shift ... shift
    double jitter = 1.0;   ///< factor: one draw each, its logarithm uniform in -log jitter ... log jitter
    double rescale = 1.0;  ///< factor of both: one draw, its logarithm likewise
};

/// The positions of all patches of some images and videos, one grid after the other, frame by frame:
/// get_vision_position_ids of transformers 5.24, and the corresponding code of its other towers.
///
///   const auto positions = grid_positions(tower.grid, std::array{patch_grid{.rows = 36, .columns = 24}});
///   rotate_forward<half_split>(axis_angles(tower.basis, tower.axis_of_pair, axis_minor(positions.data(), 2, 1, 864)),
///                              in_place(q));
///
/// @returns [tokens, axes]
/// @throws value_error  naming the field, or the grid whose rows and columns spatial_merge_size does not divide
inline std::vector<double> grid_positions(const grid_rule& rule, std::span<const patch_grid> grids) {
    const auto check = [](const char* field, auto value, bool is_valid, const char* expected) {
        if (!is_valid) fail<value_error>({"grid_positions: ", field, " ", value, " must be ", expected});
    };
    constexpr index_t most = index_t{1} << 31;
    check("axes", rule.axes, rule.axes == 2 || rule.axes == 3, "2 or 3");
    check("spatial_merge_size", rule.spatial_merge_size, rule.spatial_merge_size >= 1, ">= 1");
    check("tokens_before", rule.tokens_before, rule.tokens_before >= 0 && rule.tokens_before <= most, "0 to 2^31");
    check("tokens_after", rule.tokens_after, rule.tokens_after >= 0 && rule.tokens_after <= most, "0 to 2^31");
    if (rule.coordinate == grid_coordinate::of_reference) {
        check("reference_columns", rule.reference_columns, rule.reference_columns > 0.0, "> 0");
    }
    if (rule.coordinate == grid_coordinate::times_seconds) {
        check("seconds_per_token", rule.seconds_per_token, rule.seconds_per_token > 0.0, "> 0");
    }
    const index_t side = rule.spatial_merge_size;
    std::vector<double> positions;
    const auto rest = [&](index_t tokens) {
        positions.insert(positions.end(), static_cast<std::size_t>(tokens * rule.axes), 0.0);
    };
    for (std::size_t at = 0; at < grids.size(); ++at) {
        const patch_grid& grid = grids[at];
        const patch_grid blocks = positions_detail::merged_grid({"grid_positions: grids[", at, "]"}, grid, 1, side);
        const auto position = [&](std::size_t axis, index_t number, index_t count, double seconds) {
            const auto n = static_cast<double>(number);
            double coordinate = n;
            if (rule.coordinate == grid_coordinate::centre) {
                coordinate = (2.0 * n + 1.0) / static_cast<double>(count) - 1.0;
            } else if (rule.coordinate == grid_coordinate::of_reference) {
                coordinate = n * rule.reference_columns / static_cast<double>(grid.columns);
            } else if (rule.coordinate == grid_coordinate::times_seconds) {
                coordinate = n * seconds;
            }
            return (coordinate + rule.shift[axis]) * rule.factor[axis];
        };
        rest(rule.tokens_before);
        for (index_t token = 0; token < grid.frames * grid.rows * grid.columns; ++token) {
            const index_t block = token / (side * side) % (blocks.rows * blocks.columns), patch = token % (side * side);
            const index_t row = block / blocks.columns * side + patch / side;
            const index_t column = block % blocks.columns * side + patch % side;
            const double seconds = static_cast<double>(row * grid.columns + column) * rule.seconds_per_token;
            const index_t frame = token / (grid.rows * grid.columns);
            if (rule.axes == 3) positions.push_back(static_cast<double>(frame));
            positions.push_back(position(0, row, grid.rows, seconds));
            positions.push_back(position(1, column, grid.columns, seconds));
        }
        rest(rule.tokens_after);
    }
    return positions;
}

}  // namespace cordage
