// SPDX-License-Identifier: MIT
#include "cordage/core/index.hpp"

#include <doctest/doctest.h>

using namespace cordage;

TEST_CASE("core/index: a quotient rounded up is the fewest parts of b that hold a") {
    for (index_t a = 0; a < 30; ++a) {
        for (index_t b = 1; b < 12; ++b) {
            index_t parts = 0;
            while (parts * b < a) ++parts;
            CHECK(rounded_up_quotient(a, b) == parts);
        }
    }
}
