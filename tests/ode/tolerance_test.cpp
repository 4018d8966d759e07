// SPDX-License-Identifier: MIT
#include "cordage/ode/tolerance.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace cordage;
using vector = std::vector<double>;

namespace {
const tolerance allowed{.relative = 0.5, .absolute = 0.25};
}  // namespace

TEST_CASE("ode/tolerance: an error of absolute + relative times the larger of two states is just allowed") {
    const auto norm = [](double x, double z, double z_next) {
        return scaled_norm<double>(allowed, vector{x}, vector{z}, vector{z_next});
    };
    CHECK(norm(0.25, 0.0, 0.0) == 1.0);
    CHECK(norm(2.25, -4.0, 1.0) == 1.0);
    CHECK(norm(-2.25, 1.0, 4.0) == 1.0);
    CHECK(norm(4.5, 4.0, 0.0) == 2.0);
}

TEST_CASE("ode/tolerance: the norm is the root mean square, whatever the size") {
    CHECK(scaled_norm<double>(allowed, {}, {}, {}) == 0.0);
    for (std::size_t size = 1; size < 20; ++size) {
        const vector rest(size), all(size, 0.25);
        CHECK(scaled_norm<double>(allowed, all, rest, rest) == doctest::Approx(1.0).epsilon(1e-15));
        for (std::size_t i = 0; i < size; ++i) {
            vector one(size);
            one[i] = 0.25;
            CHECK(scaled_norm<double>(allowed, one, rest, rest) ==
                  doctest::Approx(1.0 / std::sqrt(static_cast<double>(size))).epsilon(1e-15));
        }
    }
}
