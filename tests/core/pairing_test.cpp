// SPDX-License-Identifier: MIT
#include "cordage/core/pairing.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace cordage;

namespace {
template <class Pairing>
std::vector<index_t> lanes_in_order(index_t pairs, const Pairing& of = {}) {
    std::vector<index_t> lanes;
    for (index_t pair = 0; pair < pairs; ++pair) {
        lanes.push_back(of.first(pair, pairs));
        lanes.push_back(of.second(pair, pairs));
    }
    return lanes;
}
}  // namespace

TEST_CASE("core/pairing: half_split pairs lane i with i + rotary_dim/2, interleaved with its neighbour") {
    CHECK(lanes_in_order<half_split>(4) == std::vector<index_t>{0, 4, 1, 5, 2, 6, 3, 7});
    CHECK(lanes_in_order<interleaved>(4) == std::vector<index_t>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("core/pairing: as a value, either has the same lanes") {
    CHECK(lanes_in_order(4, pairing_value::of<half_split>()) == lanes_in_order<half_split>(4));
    CHECK(lanes_in_order(4, pairing_value::of<interleaved>()) == lanes_in_order<interleaved>(4));
}

TEST_CASE("core/pairing: nothing but the two is a pairing") {
    static_assert(pairing<half_split> && pairing<interleaved>);
    static_assert(!pairing<int> && !pairing<const half_split>);
    CHECK(lanes_in_order<half_split>(1) == lanes_in_order<interleaved>(1));  // one pair: the two agree
}
