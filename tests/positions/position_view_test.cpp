// SPDX-License-Identifier: MIT
#include "cordage/positions/position_view.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <numeric>
#include <vector>

using namespace cordage;

TEST_CASE("positions/position_view: both dense orders name every number once, where it lies") {
    std::vector<int> ids(2 * 3 * 4);
    std::iota(ids.begin(), ids.end(), 0);
    const auto major = axis_major(ids.data(), 2, 3, 4), minor = axis_minor(ids.data(), 2, 3, 4);
    for (index_t axis = 0; axis < 2; ++axis) {
        for (index_t row = 0; row < 3; ++row) {
            for (index_t token = 0; token < 4; ++token) {
                CHECK(major.at(row, token, axis) == (axis * 3 + row) * 4 + token);
                CHECK(minor.at(row, token, axis) == (row * 4 + token) * 2 + axis);
            }
        }
    }
}

// Once the product of batch and tokens overflowed index_t before it was checked.
TEST_CASE("positions/position_view: strides that 64 bits do not hold are the largest number") {
    constexpr index_t huge = index_t{1} << 62, largest = std::numeric_limits<index_t>::max();
    CHECK(axis_major<int>(nullptr, 2, huge, huge).axis_stride == largest);
    CHECK(axis_minor<int>(nullptr, huge, 2, huge).batch_stride == largest);
}

TEST_CASE("positions/position_view: one row of positions serves every row, and a stride of 0 repeats it") {
    const std::vector<std::int32_t> row{5, 6, 7, 15, 16, 17};
    const position_view<std::int32_t> one(row), two(row.data(), 2, 3, 3), repeated(row.data(), 2, 3, 0);
    CHECK((one.batch == 1 && one.tokens == 6 && one.at(0, 4) == 16));
    CHECK((two.at(1, 0) == 15 && repeated.at(1, 0) == 5));
}
