// SPDX-License-Identifier: MIT
#include "cordage/positions/position_view.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <numeric>
#include <vector>

using namespace cordage;

TEST_CASE("positions/axis_positions: both dense orders name every number once, where it lies") {
    std::vector<int> ids(2 * 3 * 4);
    std::iota(ids.begin(), ids.end(), 0);
    const auto major = axis_major(ids.data(), 2, 3, 4), minor = axis_minor(ids.data(), 2, 3, 4);
    for (index_t axis = 0; axis < 2; ++axis) {
        for (index_t row = 0; row < 3; ++row) {
            for (index_t token = 0; token < 4; ++token) {
                CHECK(major.at(axis, row, token) == (axis * 3 + row) * 4 + token);
                CHECK(minor.at(axis, row, token) == (row * 4 + token) * 2 + axis);
            }
        }
    }
}

// The product of batch and tokens was not in index_t, before any check could refuse it.
TEST_CASE("positions/axis_positions: strides that 64 bits do not hold are the largest number") {
    constexpr index_t huge = index_t{1} << 62, largest = std::numeric_limits<index_t>::max();
    CHECK(axis_major<int>(nullptr, 2, huge, huge).axis_stride == largest);
    CHECK(axis_minor<int>(nullptr, huge, 2, huge).batch_stride == largest);
}
