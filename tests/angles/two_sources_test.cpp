// SPDX-License-Identifier: MIT
#include "cordage/angles/two_sources.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "cordage/angles/angle_difference.hpp"
#include "cordage/angles/free_angles.hpp"
#include "cordage/rotate/backward.hpp"

using namespace cordage;

namespace {

const std::vector<std::int32_t> ids{3, 70, -2};

}  // namespace

TEST_CASE("angles/two_sources: attention factors whose product leaves its domain are refused, at any token") {
    const basis large({1.0}, 0x1p50), one({1.0}), small({1.0}, 0x1p-50);
    const exact_angles at_large(large, ids), at_one(one, ids), at_small(small, ids);
    CHECK_THROWS_WITH_AS((at_large + at_large).check("test"),
                         "test: attention factors 1125899906842624 * 1125899906842624 must be 2^-60 to 2^60 in "
                         "magnitude",
                         value_error);
    CHECK_THROWS_AS((at_small + at_small).check("test"), value_error);
    CHECK_NOTHROW((at_large + at_small).check("test"));
    // Only the third token has another factor, in the innermost of three sources.
    const basis_list list({&one, &large});
    const std::vector<std::int32_t> of_token{0, 0, 1};
    const exact_angles of_list(list.of(of_token), ids);
    CHECK_THROWS_AS((of_list + at_large).check("test"), value_error);
    CHECK_THROWS_AS((at_large + of_list).check("test"), value_error);
    CHECK_THROWS_AS(((at_one + of_list) - at_small).check("test"), value_error);
    CHECK_NOTHROW(((at_one + of_list) - at_large).check("test"));
}

TEST_CASE("angles/two_sources: the gradient to the first source's attention factor is of its factor alone") {
    const basis first({0.5}, 1.25), second({0.25}, 2.0);
    const exact_angles a(first, ids), b(second, ids);
    std::vector<double> y{1, 2, 3, 4, 5, 6}, g{1, 1, 1, 1, 1, 1}, gx(6), to_factor(1);
    const auto view = [](std::vector<double>& x) { return token_major(x.data(), {1, 3, 1, 2}); };
    rotate_backward<half_split, backend::scalar>(a + b, rotation_gradients{.attention_factor = to_factor},
                                                 grad_through(view(g), view(y), view(gx)));
    CHECK(to_factor[0] == doctest::Approx(21.0 / 1.25));  // y = 1.25 * 2 * rotated x
}

TEST_CASE("angles/two_sources: sums and differences of sources undo each other, by pair and by token") {
    const basis fast({100.0, 3.0}), slow({1.0, 50.0}), wide({0.1, 0.2});
    const exact_angles a(fast, ids), b(slow, ids);
    const std::vector<std::int32_t> of_two_rows{1, 2, 3, 4, 5, 6};
    const exact_angles rows(wide, position_view<std::int32_t>(of_two_rows.data(), 2, 3, 3));
    const auto back = (a + b) - b;
    for (index_t token = 0; token < 3; ++token) {
        for (index_t pair = 0; pair < 2; ++pair) {
            CHECK(back.phase(0, token, pair) == a.phase(0, token, pair));
            CHECK(back.of_token(0, token).phase(pair) == a.phase(0, token, pair));
            CHECK((a + b).phase(0, token, pair) == a.phase(0, token, pair) + b.phase(0, token, pair));
        }
    }
    CHECK((a + rows).batch() == 2);
    CHECK((rows - a).batch() == 2);
}
