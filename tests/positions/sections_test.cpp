// SPDX-License-Identifier: MIT
#include "cordage/positions/sections.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace cordage;

using axes = std::vector<std::uint8_t>;

TEST_CASE("positions/sections: contiguous sections are blocks, one an axis") {
    CHECK(contiguous_axes({2, 3, 3}) == axes{0, 0, 1, 1, 1, 2, 2, 2});
    CHECK(contiguous_axes({0, 2, 1}) == axes{1, 1, 2});
    CHECK(contiguous_axes({3}) == axes{0, 0, 0});
    const axes qwen2_vl = contiguous_axes({16, 24, 24});
    REQUIRE(qwen2_vl.size() == 64);
    for (std::size_t pair = 0; pair < 64; ++pair) CHECK(qwen2_vl[pair] == (pair < 16 ? 0 : pair < 40 ? 1 : 2));
}

TEST_CASE("positions/sections: interleaved sections are assigned in turn, remaining pairs belong to axis 0") {
    CHECK(interleaved_axes({4, 2, 2}) == axes{0, 1, 2, 0, 1, 2, 0, 0});
    CHECK(interleaved_axes({11, 11, 10}) ==
          axes{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1});
    CHECK(interleaved_axes({3, 2}) == axes{0, 1, 0, 1, 0});
    CHECK(interleaved_axes({3}) == axes{0, 0, 0});
    const axes qwen3_vl = interleaved_axes({24, 20, 20});
    REQUIRE(qwen3_vl.size() == 64);
    for (std::size_t pair = 0; pair < 64; ++pair) CHECK(qwen3_vl[pair] == (pair < 60 ? pair % 3 : 0));
}

TEST_CASE("positions/sections: either builder gives every axis as many pairs as its section has") {
    for (const std::vector<index_t>& sections : {std::vector<index_t>{24, 20, 20}, {11, 11, 10}, {20, 20}, {5, 0, 2}}) {
        for (const axes& built : {contiguous_axes(sections), interleaved_axes(sections)}) {
            for (std::size_t axis = 0; axis < sections.size(); ++axis) {
                CHECK(std::count(built.begin(), built.end(), static_cast<std::uint8_t>(axis)) == sections[axis]);
            }
        }
    }
}

TEST_CASE("positions/sections: sections that cannot be are named") {
    CHECK_THROWS_WITH_AS(contiguous_axes({}), "contiguous_axes: sections has 0 entries, must have 1 to 256",
                         value_error);
    CHECK_THROWS_WITH_AS(interleaved_axes(std::vector<index_t>(257, 1)),
                         "interleaved_axes: sections has 257 entries, must have 1 to 256", value_error);
    CHECK_THROWS_WITH_AS(contiguous_axes({4, -1}), "contiguous_axes: sections[1] -1 must be 0 to 1048576 pairs",
                         value_error);
    CHECK_THROWS_WITH_AS(contiguous_axes({index_t{1} << 62}),
                         "contiguous_axes: sections[0] 4611686018427387904 must be 0 to 1048576 pairs", value_error);
    // Assigned in turn, axes 1 and 2 get at most every third of 8 pairs.
    CHECK_THROWS_WITH_AS(interleaved_axes({2, 3, 3}),
                         "interleaved_axes: sections[2] 3 must be at most 2, one in 3 of all 8 pairs", value_error);
}
