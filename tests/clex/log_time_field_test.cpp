// SPDX-License-Identifier: MIT
#include "cordage/clex/paper_field.hpp"

#include <doctest/doctest.h>

#include "clex/field_checks.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/power_laws.hpp"

using namespace cordage;
using namespace cordage_test;

static_assert(recording_field<log_time_field<>, double>);

TEST_CASE_TEMPLATE(
    "clex/log_time_field: its vjp is the Jacobian transposed, and the derivative in ln t that of the prior", Prior,
    ntk_aware, by_parts) {
    const rope_config config{12, 10, 10000.0, 64.0};
    check_vjp(log_time_field<Prior>(config, dense_weights_for(config)), 0.8);
    check_vjp(log_time_field<Prior, tanh_activation>(config, dense_weights_for(config)), 0.8);
}

TEST_CASE(
    "clex/log_time_field: the prior's part is the paper's times t, the network's is damped by the pair's rotations") {
    const rope_config config{12, 10, 10000.0, 64.0};
    clex_weights zero = dense_weights_for(config);
    std::ranges::fill(zero.down, 0.0);
    std::vector<double> z(5, 0.3), in_t(5), in_log_t(5);
    const double t = 3.0;
    paper_field<>(config, zero)(t, z, in_t);
    log_time_field<>(config, zero)(std::log(t), z, in_log_t);
    for (std::size_t i = 0; i < 5; ++i) CHECK(in_log_t[i] == doctest::Approx(t * in_t[i]).epsilon(1e-14));

    paper_field<unscaled>(config, dense_weights_for(config))(t, z, in_t);
    log_time_field<unscaled>(config, dense_weights_for(config))(std::log(t), z, in_log_t);
    for (std::size_t i = 0; i < 5; ++i) {
        const double share = 1.0 / (1.0 + 64.0 * config.inv_freq(static_cast<index_t>(i)));
        CHECK(in_log_t[i] == doctest::Approx(share * in_t[i]).epsilon(1e-14));
    }
}
