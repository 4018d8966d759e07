// SPDX-License-Identifier: MIT
#include "cordage/scaling/interpolated_share.hpp"

#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace cordage_test;

TEST_CASE("scaling/interpolated_share: alpha is r/t + 1 - r") {
    for (const double r : {0.0, 0.25, 0.9, 1.0}) {
        for (const double t : {1.0, 1.0000001, 3.0, 1e3, 1e9}) {
            CHECK(close_relative(std::exp(interpolated_share{r}.log_alpha(t)), (r + (1.0 - r) * t) / t, closed_form));
        }
        CHECK(interpolated_share{r}.log_alpha(1.0) == 0.0);
    }
}

TEST_CASE("scaling/interpolated_share: a share of 0 leaves the pair alone and a share of 1 divides it by t") {
    CHECK(interpolated_share{0.0}.log_alpha(8.0) == 0.0);
    CHECK(interpolated_share{0.0}.rate(8.0) == 0.0);
    CHECK(interpolated_share{0.0}.curvature(8.0) == 0.0);
    CHECK(close_relative(interpolated_share{1.0}.log_alpha(8.0), -std::log(8.0), closed_form));
    CHECK(close_relative(interpolated_share{1.0}.rate(8.0), -1.0 / 8.0, closed_form));
    CHECK(close_relative(interpolated_share{1.0}.curvature(8.0), 1.0 / 64.0, closed_form));
}

TEST_CASE("scaling/interpolated_share: rate and curvature are the derivatives of log alpha") {
    for (const double r : {0.1, 0.5, 0.99}) {
        const interpolated_share share{r};
        for (const double t : {1.0, 2.0, 32.0}) {
            CHECK(
                close(share.rate(t), difference([&](double at) { return share.log_alpha(at); }, t), first_difference));
            CHECK(
                close(share.curvature(t), difference([&](double at) { return share.rate(at); }, t), first_difference));
        }
    }
}
