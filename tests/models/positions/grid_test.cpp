// SPDX-License-Identifier: MIT
// Positions of grids of patches; tests/golden/towers.json has the rotations of transformers' towers by them.
#include "cordage/models/positions/grid.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace cordage;

namespace {

std::vector<double> positions_of(const grid_rule& rule, const patch_grid& grid) {
    return grid_positions(rule, std::array{grid});
}
using places = std::vector<double>;

}  // namespace

TEST_CASE("models/positions/grid: patches have their row and column, row by row, frame after frame") {
    const places frame{0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2};
    CHECK(positions_of({}, {.rows = 2, .columns = 3}) == frame);
    places twice = frame;
    twice.insert(twice.end(), frame.begin(), frame.end());
    CHECK(positions_of({}, {.frames = 2, .rows = 2, .columns = 3}) == twice);
    CHECK(grid_positions({}, std::array{patch_grid{.rows = 2, .columns = 3}, patch_grid{.rows = 2, .columns = 3}}) ==
          twice);
    CHECK(positions_of({.axes = 3}, {.frames = 2, .rows = 2, .columns = 1}) ==
          places{0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0});
    CHECK(grid_positions({}, {}).empty());
}

TEST_CASE("models/positions/grid: merged patches are ordered block by block") {
    CHECK(positions_of({.spatial_merge_size = 2}, {.rows = 2, .columns = 4}) ==
          places{0, 0, 0, 1, 1, 0, 1, 1, 0, 2, 0, 3, 1, 2, 1, 3});
    const places high = positions_of({.spatial_merge_size = 2}, {.frames = 2, .rows = 4, .columns = 2});
    CHECK(places(high.begin(), high.begin() + 16) == places{0, 0, 0, 1, 1, 0, 1, 1, 2, 0, 2, 1, 3, 0, 3, 1});
    CHECK(places(high.begin() + 16, high.end()) == places(high.begin(), high.begin() + 16));
}

TEST_CASE("models/positions/grid: coordinates of rows and columns") {
    CHECK(positions_of({.coordinate = grid_coordinate::centre}, {.rows = 2, .columns = 4}) ==
          places{-0.5, -0.75, -0.5, -0.25, -0.5, 0.25, -0.5, 0.75, 0.5, -0.75, 0.5, -0.25, 0.5, 0.25, 0.5, 0.75});
    CHECK(positions_of({.coordinate = grid_coordinate::of_reference, .reference_columns = 6},
                       {.rows = 2, .columns = 4}) ==
          places{0, 0, 0, 1.5, 0, 3, 0, 4.5, 1.5, 0, 1.5, 1.5, 1.5, 3, 1.5, 4.5});
    CHECK(positions_of({.coordinate = grid_coordinate::times_seconds, .seconds_per_token = 0.5, .factor = {-1, -2}},
                       {.rows = 2, .columns = 3}) == places{0, 0, 0, -1, 0, -4, -1.5, 0, -2, -4, -2.5, -10});
    CHECK(positions_of({.shift = {1, 2}, .factor = {10, 100}}, {.rows = 2, .columns = 1}) == places{10, 200, 20, 200});
}

TEST_CASE("models/positions/grid: tokens that are not rotated are at 0 before and after each grid") {
    const grid_rule rule{.shift = {1, 1}, .tokens_before = 2, .tokens_after = 1};
    const places one{0, 0, 0, 0, 1, 1, 1, 2, 0, 0};
    CHECK(positions_of(rule, {.rows = 1, .columns = 2}) == one);
    const auto two =
        grid_positions(rule, std::array{patch_grid{.rows = 1, .columns = 2}, patch_grid{.rows = 1, .columns = 2}});
    CHECK(places(two.begin() + 10, two.end()) == one);
}

TEST_CASE("models/positions/grid: invalid grids and fields are named") {
    const auto fails = [](const grid_rule& rule, const patch_grid& grid, const char* why) {
        CHECK_THROWS_WITH_AS(positions_of(rule, grid), why, value_error);
    };
    fails({.spatial_merge_size = 2}, {.rows = 4, .columns = 3},
          "grid_positions: grids[0] {1, 4, 3} must have whole blocks of 1 x 2 x 2, the patches that are merged");
    fails({.spatial_merge_size = 2}, {.rows = 3, .columns = 4},
          "grid_positions: grids[0] {1, 3, 4} must have whole blocks of 1 x 2 x 2, the patches that are merged");
    fails({}, {.rows = 0, .columns = 3}, "grid_positions: grids[0] {1, 0, 3} must have 1 to 2^31 patches");
    fails({}, {.rows = index_t{1} << 40, .columns = index_t{1} << 40},
          "grid_positions: grids[0] {1, 1099511627776, 1099511627776} must have 1 to 2^31 patches");
    fails({.spatial_merge_size = 0}, {.rows = 1, .columns = 1}, "grid_positions: spatial_merge_size 0 must be >= 1");
    fails({.axes = 4}, {.rows = 1, .columns = 1}, "grid_positions: axes 4 must be 2 or 3");
    fails({.coordinate = grid_coordinate::of_reference}, {.rows = 1, .columns = 1},
          "grid_positions: reference_columns 0 must be > 0");
    fails({.coordinate = grid_coordinate::times_seconds}, {.rows = 1, .columns = 1},
          "grid_positions: seconds_per_token 0 must be > 0");
    fails({.tokens_before = -1}, {.rows = 1, .columns = 1}, "grid_positions: tokens_before -1 must be 0 to 2^31");
    fails({.tokens_after = -1}, {.rows = 1, .columns = 1}, "grid_positions: tokens_after -1 must be 0 to 2^31");
}
