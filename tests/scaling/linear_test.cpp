// SPDX-License-Identifier: MIT
#include "cordage/scaling/linear.hpp"

#include "cordage/basis/basis.hpp"
#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace cordage_test;

TEST_CASE("scaling/linear: derivatives, and alpha 1 at the original length") {
    check_derivatives(linear{}, llama2());
    check_starts_at_one_and_falls(linear{}, llama2());
}

TEST_CASE("scaling/linear: every pair is divided by t") {
    check_alpha(linear{}, llama2(), 4.0, {{0, 0.25}, {31, 0.25}, {63, 0.25}});
    check_alpha(linear{}, llama2(), 2.5, {{0, 0.4}, {63, 0.4}});
}

TEST_CASE("scaling/linear: dividing frequencies by t is dividing positions by t, CLEX's Theorem 1") {
    for (const double t : {1.5, 4.0, 10.0}) {
        const basis scaled = make_basis(llama2(), linear{}, t), plain = make_basis(llama2(), linear{}, 1.0);
        for (index_t pair = 0; pair < llama2().pairs(); ++pair) {
            const auto i = static_cast<std::size_t>(pair);
            for (const double position : {1.0, 100.0, 4095.0}) {
                CHECK(close_relative(position * scaled.inv_freq()[i], position / t * plain.inv_freq()[i], closed_form));
            }
        }
    }
}
