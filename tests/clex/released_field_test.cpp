// SPDX-License-Identifier: MIT
#include "cordage/clex/released_field.hpp"

#include <doctest/doctest.h>

#include "clex/field_checks.hpp"
#include "cordage/clex/initial_weights.hpp"

using namespace cordage;
using namespace cordage_test;

static_assert(recording_field<released_field<>, double> &&
              recording_field<released_field<tanh_activation, float>, float>);

TEST_CASE("clex/released_field: its vjp is the Jacobian transposed, and the derivative in t goes through n(t) too") {
    const rope_config config{12, 10, 500000.0, 64.0};
    check_vjp(released_field<>(config, dense_weights_for(config)), 2.3);
    check_vjp(released_field<silu>(config, dense_weights_for(config)), 7.9);
}

TEST_CASE("clex/released_field: states recorded together have the gradients of each") {
    const rope_config config{12, 10, 500000.0, 64.0};
    check_recorded(released_field<>(config, dense_weights_for(config)));
}

TEST_CASE("clex/released_field: with W_down = 0 the drift is that of NTK-aware scaling by 2t - 1") {
    const rope_config config{12, 10, 10000.0, 64.0};
    released_field<> field(config, clex_initial_weights(config, 1, 3));
    const std::vector<double> z(5, 0.2);
    std::vector<double> dz(5);
    for (const double t : {1.0, 2.5, 16.0}) {
        field(t, z, dz);
        for (index_t i = 0; i < 5; ++i) {
            const double rate = 2.0 * ntk_aware{}.log_alpha_rate(config, i, 2.0 * t - 1.0);
            CHECK(dz[static_cast<std::size_t>(i)] == doctest::Approx(rate).epsilon(1e-15));
        }
    }
}

TEST_CASE("clex/released_field: the network's input is z + log n(t), whose base is 10000 for every model") {
    const rope_config config{6, 6, 500000.0, 64.0};
    // One hidden lane that reads pair 2 and writes to pair 1.
    clex_weights weights{1, 3, {0.0, 0.0, 1.0}, {0.0, 1.0, 0.0}};
    released_field<> field(config, weights);
    const std::vector<double> z{0.0, 0.0, 9.0};
    std::vector<double> dz(3);
    const double t = 3.0, seen = 9.0 - (4.0 / 6.0) * std::log(10000.0) - (4.0 / 4.0) * std::log(5.0);
    field(t, z, dz);
    CHECK(dz[1] == doctest::Approx(std::tanh(seen) - (4.0 / 4.0) / 5.0).epsilon(1e-14));
    CHECK(dz[2] == doctest::Approx(-(8.0 / 4.0) / 5.0).epsilon(1e-14));
}

TEST_CASE("clex/released_field: in float it is the same field to float's precision") {
    const rope_config config{12, 10, 10000.0, 64.0};
    const clex_weights weights = dense_weights_for(config);
    check_narrow(released_field<>(config, weights), released_field<tanh_activation, float>(config, weights));
}
