// SPDX-License-Identifier: MIT
#include "cordage/ode/step.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace cordage;
using namespace cordage::ode_detail;

TEST_CASE("ode/loops: sums of every length are complete") {
    for (std::size_t size = 0; size < 40; ++size) {
        std::vector<double> x(size), y(size);
        for (std::size_t i = 0; i < size; ++i) {
            x[i] = static_cast<double>(i + 1), y[i] = static_cast<double>(2 * i) - 7.0;
        }
        add_scaled<double>(-2.0, x, y);
        for (std::size_t i = 0; i < size; ++i) CHECK(y[i] == -9.0);
    }
}

TEST_CASE_TEMPLATE("ode/loops: one number that is not finite is found at any place", Scalar, float, double) {
    using limits = std::numeric_limits<Scalar>;
    for (const Scalar bad : {limits::infinity(), -limits::infinity(), limits::quiet_NaN(), -limits::signaling_NaN()}) {
        for (std::size_t at = 0; at < 19; ++at) {
            std::vector<Scalar> x(19, limits::max());
            x[(at + 1) % 19] = -limits::denorm_min(), x[(at + 2) % 19] = limits::lowest();
            CHECK(all_finite<Scalar>(x));
            x[at] = bad;
            CHECK_FALSE(all_finite<Scalar>(x));
        }
    }
}

TEST_CASE_TEMPLATE("ode/loops: one number beyond a limit is found at any place", Scalar, float, double) {
    for (const Scalar most : {Scalar{0}, Scalar{0x1p-100}, Scalar{3}, std::numeric_limits<Scalar>::max() / 2}) {
        const Scalar more = std::max(std::nextafter(most, 2 * most), std::numeric_limits<Scalar>::min());
        for (std::size_t at = 0; at < 19; ++at) {
            std::vector<Scalar> x(19, most);
            x[(at + 1) % 19] = 0, x[(at + 2) % 19] = -most;
            CHECK(all_within<Scalar>(most, x));
            x[at] = at % 2 == 0 ? more : -more;
            CHECK_FALSE(all_within<Scalar>(most, x));
        }
    }
}

TEST_CASE_TEMPLATE("ode/loops: a sum over slopes has every term once, however many there are and whichever are 0",
                   Scalar, float, double) {
    for (const std::size_t size : {1u, 7u, 32u, 65u}) {
        for (std::size_t terms = 0; terms <= 19; ++terms) {
            std::vector<std::vector<Scalar>> slopes;
            std::vector<const Scalar*> pointers;
            std::vector<Scalar> weights, from(size, 3), expected = from, out(size, -1);
            for (std::size_t j = 0; j < terms; ++j) {
                slopes.emplace_back(size, static_cast<Scalar>(j + 1));
                weights.push_back(j % 3 == 1 ? Scalar{0} : static_cast<Scalar>(j));  // integers: exact in any order
            }
            for (std::size_t j = 0; j < terms; ++j) {
                pointers.push_back(weights[j] == 0 ? nullptr : slopes[j].data());  // not read
                for (Scalar& x : expected) x += 2 * weights[j] * static_cast<Scalar>(j + 1);
            }
            add_slopes<Scalar>(2, weights, pointers.data(), from.data(), out);
            CHECK(out == expected);
            add_slopes<Scalar>(2, weights, pointers.data(), from.data(), from);
            CHECK(from == expected);
        }
    }
}
