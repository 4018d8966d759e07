// SPDX-License-Identifier: MIT
// towers.json: patches of grids as rotated by vision and audio towers, from their configs.
#include "cordage/angles/axis_angles.hpp"
#include "cordage/models/config/tower.hpp"
#include "cordage/rotate/forward.hpp"
#include "cordage/tensors/operand.hpp"
#include "kinds.hpp"

namespace conformance {
namespace {

using namespace cordage;

// The reference rotates by float32 angles of at most 20 rad numbers of at most 5.
constexpr double tolerance = 1e-5;

void check_tower_rotation(const value& one_case, report& result) {
    const auto tower = hf::read_parsed_tower(one_case["config"].json());
    std::vector<patch_grid> grids;
    for (const value& grid : one_case["grids"].items()) {
        const auto sizes = grid.numbers(3);
        grids.push_back(
            {static_cast<index_t>(sizes[0]), static_cast<index_t>(sizes[1]), static_cast<index_t>(sizes[2])});
    }
    const auto positions = grid_positions(tower.grid, grids);
    const index_t tokens = std::ssize(positions) / tower.grid.axes, head_dim = tower.head_dim;
    std::vector<double> x;
    for (index_t token = 0; token < tokens; ++token) {
        for (index_t lane = 0; lane < head_dim; ++lane) {
            x.push_back(static_cast<double>((7 * token + 3 * lane) % 11 - 5));
        }
    }
    const auto pairs = static_cast<std::size_t>(tower.basis.pairs() / tower.parts);
    for (index_t part = 0; part < tower.parts; ++part) {
        const auto first = static_cast<std::size_t>(part) * pairs;
        const auto inv_freq = tower.basis.inv_freq().subspan(first, pairs);
        const basis of_part({inv_freq.begin(), inv_freq.end()});
        const std::span axis_of_pair = std::span(tower.axis_of_pair).subspan(first, pairs);
        auto lanes = token_major(x.data(), {.tokens = tokens, .heads = 1, .head_dim = head_dim});
        lanes.shape.head_dim = head_dim / tower.parts;
        lanes.data += part * lanes.shape.head_dim;
        const axis_angles angles(of_part, axis_of_pair, axis_minor(positions.data(), tower.grid.axes, 1, tokens));
        if (tower.layout == hf::pair_layout::half_split) {
            rotate_forward<half_split>(angles, in_place(lanes));
        } else {
            rotate_forward<interleaved>(angles, in_place(lanes));
        }
    }
    result.near("y", x, one_case["y_float32"].array({tokens, head_dim}), tolerance);
}

}  // namespace

std::span<const kind> tower_kinds() {
    static constexpr kind all[]{{"tower_rotation", check_tower_rotation}};
    return all;
}

}  // namespace conformance
