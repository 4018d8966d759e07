// SPDX-License-Identifier: MIT
#include "cordage/clex/paper_field.hpp"

#include <doctest/doctest.h>

#include "clex/field_checks.hpp"
#include "clex/golden.hpp"
#include "cordage/ode/solve_fixed.hpp"
#include "cordage/scaling/by_parts.hpp"
#include "cordage/scaling/yarn.hpp"

using namespace cordage;
using namespace cordage::ode_detail;
using namespace cordage_test;

static_assert(recording_field<paper_field<>, double> && recording_field<paper_field<ntk_aware, silu, float>, float>);

TEST_CASE("clex/paper_field: one step of every rule is the golden one, and so is its error estimate") {
    for (const auto& item : golden_cases("single_step")) {
        paper_field<> field(config_of(item), weights_of(item));
        const double t = item.at("t0"), h = item.at("h");
        const auto z0 = item.at("z0").get<vector>();
        for (const auto& result : item.at("results")) {
            with_tableau(result.at("method"), [&]<class Tableau>(Tableau) {
                const auto path = solve_fixed<Tableau>(field, {t, t + h}, z0, equal_steps{1});
                CHECK(largest_difference(path.state(1), result.at("z").get<vector>()) < 1e-14);
                if constexpr (has_error_weights<Tableau>) {
                    vector estimate(z0.size());
                    local_error<Tableau>(h, path.slopes(0), std::span<double>(estimate));
                    for (double& e : estimate) e = std::abs(e);
                    CHECK(largest_difference(estimate, result.at("abs_error_estimate").get<vector>()) < 1e-14);
                }
            });
        }
    }
}

TEST_CASE("clex/paper_field: equal steps of every rule end at the golden state") {
    for (const auto& item : golden_cases("fixed_steps")) {
        paper_field<> field(config_of(item), weights_of(item));
        const auto z1 = item.at("z1").get<vector>();
        for (const auto& result : item.at("results")) {
            with_tableau(result.at("method"), [&]<class Tableau>(Tableau) {
                const auto path = solve_fixed<Tableau>(field, {1.0, item.at("T")}, z1, equal_steps{item.at("N")});
                CHECK(largest_difference(path.state(path.nodes() - 1), result.at("z").get<vector>()) < 1e-14);
            });
        }
    }
}

TEST_CASE_TEMPLATE("clex/paper_field: its vjp is the Jacobian transposed, and the derivative in t that of the prior",
                   Prior, ntk_aware, by_parts, yarn) {
    const rope_config config{12, 10, 10000.0, 64.0};
    check_vjp(paper_field<Prior>(config, dense_weights_for(config)), 2.3);
    check_vjp(paper_field<Prior, tanh_activation>(config, dense_weights_for(config)), 2.3);
}

TEST_CASE("clex/paper_field: states recorded together have the gradients of each") {
    const rope_config config{12, 10, 10000.0, 64.0};
    check_recorded(paper_field<>(config, dense_weights_for(config)));
    check_recorded(paper_field<ntk_aware, tanh_activation>(config, dense_weights_for(config)));
}

TEST_CASE("clex/paper_field: in float it is the same field to float's precision") {
    const rope_config config{12, 10, 10000.0, 64.0};
    const clex_weights weights = dense_weights_for(config);
    check_narrow(paper_field<>(config, weights), paper_field<ntk_aware, silu, float>(config, weights));
}
