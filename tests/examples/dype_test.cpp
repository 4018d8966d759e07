// SPDX-License-Identifier: MIT
#include "../../examples/own_methods/dype.hpp"

#include <limits>

#include "scaling/derivatives.hpp"

using namespace cordage;
using namespace own;
using namespace cordage_test;

namespace {
const rope_config flux{.head_dim = 56, .rotary_dim = 56, .theta_base = 10000.0, .original_length = 64};  // one axis

void check(const rope_config& axis, double step, double t, const std::vector<double>& alpha) {
    REQUIRE(axis.pairs() == std::ssize(alpha));
    for (index_t pair = 0; pair < axis.pairs(); ++pair) {
        CHECK(
            close_relative(std::exp(dype{step}.log_alpha(axis, pair, t)), alpha[static_cast<std::size_t>(pair)], 1e-7));
    }
}
}  // namespace

TEST_CASE("examples/dype: derivatives, and alpha 1 at the trained side") {
    for (const double step : {1.0, 0.6, 0.25}) {
        check_derivatives(dype{step}, flux);
        check_starts_at_one_and_falls(dype{step}, flux);
    }
}

// Ratio of the frequencies of the authors' code for FLUX (commit 436fe61) to unscaled ones, its ramps in float32.
TEST_CASE("examples/dype: the numbers of the authors' code") {
    check(flux, 1.0, 2.0,
          {1.0, 0.994930922, 0.979980643, 0.955524826, 0.921926443, 0.879536171, 0.857243983, 0.6677584, 0.5, 0.5,
           0.5, 0.5,         0.5,         0.5,         0.5,         0.5,         0.5,         0.5,       0.5, 0.5,
           0.5, 0.5,         0.5,         0.5,         0.5,         0.5,         0.5,         0.5});
    check(flux, 0.6, 4.0, {1.0,         1.0,         0.987801007, 0.964310996, 0.930377612, 0.886791938, 0.834292029,
                           0.773566241, 0.705256358, 0.629960525, 0.482288005, 0.356160478, 0.25,        0.25,
                           0.25,        0.25,        0.25,        0.25,        0.25,        0.25,        0.25,
                           0.25,        0.25,        0.25,        0.25,        0.25,        0.25,        0.25});
    check({.head_dim = 16, .rotary_dim = 16, .theta_base = 10000.0, .original_length = 64}, 0.25, 3.0,
          {1.0, 1.0, 1.0, 0.812240667, 0.533776295, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0});
    check(flux, 0.05, 2.0, {1.0,         1.0,         1.0,         1.0,         1.0,         1.0,         1.0,
                            1.0,         1.0,         1.0,         1.0,         1.0,         1.0,         1.0,
                            1.0,         1.0,         1.0,         0.95579279,  0.907490131, 0.855247723, 0.799216007,
                            0.739540325, 0.676361089, 0.609813934, 0.540029869, 0.517561734, 0.504334081, 0.5});
    CHECK(close_relative(dype{}.attention_factor(flux, 4.0), 0.1 * std::log(4.0) + 1.0, closed_form));
}

TEST_CASE("examples/dype: fewer pairs are scaled the cleaner the image is") {
    for (index_t pair = 0; pair < flux.pairs(); ++pair) {
        double last = 0.0;
        for (const double step : {1.0, 0.8, 0.6, 0.4, 0.2, 0.05}) {
            const double alpha = dype{step}.log_alpha(flux, pair, 4.0);
            CHECK(alpha >= (step == 1.0 ? -std::log(4.0) - 1e-12 : last - 1e-12));
            last = alpha;
        }
    }
}

TEST_CASE("examples/dype: an invalid step is rejected") {
    for (const double step : {0.0, -0.5, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
        CHECK_THROWS_AS(validate(dype{step}, flux), value_error);
    }
    CHECK_THROWS_WITH_AS(validate(dype{2.0}, flux), "dype: step 2 must be finite and in (0, 1]", value_error);
}

TEST_CASE("examples/dype: Dy-NTK is ntk_aware on the schedule denoising") {
    // base * s^(d/(d-2) 2 step^2), s = 2.5, step 0.5
    const double t = ratio_at(denoising{0.5}, flux, 160.0);
    CHECK(close_relative(t, std::sqrt(2.5), closed_form));
    const double base = 10000.0 * std::pow(std::pow(2.5, 56.0 / 54.0), 0.5);
    for (index_t pair = 0; pair < flux.pairs(); ++pair) {
        const double inv_freq = std::exp(ntk_aware{}.log_alpha(flux, pair, t)) * flux.inv_freq(pair);
        CHECK(close_relative(inv_freq, std::pow(base, -2.0 * static_cast<double>(pair) / 56.0), closed_form));
    }
    CHECK(ratio_at(denoising{1.0}, flux, 32.0) == 1.0);
    CHECK(ratio_at(denoising{0.0}, flux, 640.0) == 1.0);
    CHECK_THROWS_WITH_AS(ratio_at(denoising{1.5}, flux, 64.0), "denoising: step 1.5 must be finite and 0 to 1",
                         value_error);
}
