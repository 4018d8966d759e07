// SPDX-License-Identifier: MIT
#include "../../examples/own_methods/alibi.hpp"

#include <doctest/doctest.h>

using namespace cordage;
using namespace own;

TEST_CASE("examples/alibi: slopes of a power of two are a geometric series that ends at 2^-8") {
    CHECK(alibi_slopes(1) == std::vector<double>{0x1p-8});
    CHECK(alibi_slopes(8) == std::vector<double>{0x1p-1, 0x1p-2, 0x1p-3, 0x1p-4, 0x1p-5, 0x1p-6, 0x1p-7, 0x1p-8});
    CHECK(alibi_slopes(1024).back() == 0x1p-8);
}

TEST_CASE("examples/alibi: other numbers of heads take every other slope of the next power of two") {
    CHECK(alibi_slopes(6) == std::vector<double>{0x1p-2, 0x1p-4, 0x1p-6, 0x1p-8, 0x1p-1, 0x1p-3});
    CHECK(alibi_slopes(71).size() == 71);
    CHECK(alibi_slopes(71)[64] == alibi_slopes(128)[0]);
    CHECK(alibi_slopes(71)[70] == alibi_slopes(128)[12]);
}

TEST_CASE("examples/alibi: the bias falls with distance and is 0 at and after the query") {
    CHECK(alibi_bias(0.5, 7.0, 7.0) == 0.0);
    CHECK(alibi_bias(0.5, 7.0, 3.0) == -2.0);
    CHECK(alibi_bias(0.5, 3.0, 7.0) == 0.0);
    const std::vector<double> slopes{0.5, 0.25};
    CHECK(alibi_bias(slopes, 2, 3) == std::vector<double>{-0.5, 0, 0, -1, -0.5, 0, -0.25, 0, 0, -0.5, -0.25, 0});
    CHECK(alibi_bias(slopes, 0, 3).empty());
}

TEST_CASE("examples/alibi: sizes that cannot be are named") {
    CHECK_THROWS_WITH_AS(alibi_slopes(0), "alibi_slopes: heads 0 must be 1 to 1048576", value_error);
    CHECK_THROWS_AS(alibi_slopes((index_t{1} << 20) + 1), value_error);
    CHECK_THROWS_WITH_AS(alibi_bias(std::vector<double>{0.5}, 4, 3), "alibi_bias: queries 4 must be 0 to keys 3",
                         value_error);
    CHECK_THROWS_AS(alibi_bias(std::vector<double>{0.5}, -1, 3), value_error);
    constexpr index_t huge =
        index_t{1} << 40;  // their product wrapped to 0, and the bias grew until memory was exhausted
    CHECK_THROWS_WITH_AS(alibi_bias(std::vector<double>{0.5}, huge, huge),
                         "alibi_bias: slopes 1 * queries 1099511627776 * keys 1099511627776 entries must be at "
                         "most 2^58",
                         value_error);
}
