// SPDX-License-Identifier: MIT
#include "../../benchmarks/rounds.hpp"

#include <doctest/doctest.h>

using cordage::benchmarks::rounds;

TEST_CASE("benchmarks/rounds: ratios are taken inside a round, and medians over the rounds") {
    rounds times;
    const double copy[] = {1.0, 4.0, 2.0, 8.0, 10.0}, kernel[] = {2.0, 4.0, 8.0, 10.0, 100.0};
    for (int i = 0; i < 5; ++i) {
        times.add("copy", copy[i]);
        times.add("kernel", kernel[i]);
    }
    CHECK(times.median("copy") == 4.0);
    CHECK(times.median("kernel") == 8.0);
    CHECK(times.ratio("copy", "kernel") == 0.5);                                   // of 0.5, 1, 0.25, 0.8, 0.1
    CHECK(times.spread("copy", "kernel") == doctest::Approx((0.8 - 0.25) / 0.5));  // quartiles over the median
}

TEST_CASE("benchmarks/rounds: at least seven, however long one takes") {
    rounds times;
    for (int i = 0; i < 7; ++i) CHECK(times.want_more());
}
