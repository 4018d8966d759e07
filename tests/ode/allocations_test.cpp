// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "allocations.hpp"
#include "clex/field_checks.hpp"
#include "cordage/clex/released_field.hpp"
#include "cordage/ode/adjoint.hpp"
#include "cordage/ode/solve_adaptive.hpp"
#include "cordage/ode/solve_fixed.hpp"

using namespace cordage;
using namespace cordage::ode_detail;
using namespace cordage_test;

namespace {

const rope_config small{16, 12, 10000.0, 64.0};

template <class Scalar>
struct solves {
    released_field<tanh_activation, Scalar> field{small, dense_weights_for(small)};
    std::vector<Scalar> z0 = std::vector<Scalar>(6, Scalar{-1}), grad_z0 = std::vector<Scalar>(6),
                        grad_parameters = std::vector<Scalar>(144);

    auto fixed(index_t steps) {
        return solve_fixed<rk4_38, Scalar>(field, {Scalar{1}, Scalar{4}}, z0, equal_steps{steps});
    }
    auto adaptive(double allowed) {
        return solve_adaptive<tsit5, Scalar>(field, {Scalar{1}, Scalar{4}}, z0, {.tolerance = {allowed, allowed}});
    }
    void gradient(const auto& path) {
        const gradient_seed<Scalar> seed{Scalar{4}, z0};
        discrete_adjoint(path, field, {&seed, 1}, {grad_z0, grad_parameters});
    }
};

}  // namespace

TEST_CASE("ode/allocations: a vector and an Eigen array are both counted" * doctest::skip(cannot_count)) {
    CHECK(allocations_of([] { keep(std::vector<double>(1000, 1.0).data()); }) == 1);
    CHECK(allocations_of([] { keep(Eigen::ArrayXf(1000).data()); }) == 1);
}

TEST_CASE_TEMPLATE("ode/allocations: steps of a given size take nothing, however many" * doctest::skip(cannot_count),
                   Scalar, float, double) {
    solves<Scalar> with;
    const long few = allocations_of([&] { with.fixed(2); });
    CHECK(allocations_of([&] { with.fixed(2000); }) == few);
    CHECK(few <= 3);  // times, step sizes and rows of the trajectory
}

TEST_CASE_TEMPLATE("ode/allocations: steps that are chosen take nothing but for a longer trajectory" *
                       doctest::skip(cannot_count),
                   Scalar, float, double) {
    solves<Scalar> with;
    index_t few_steps = 0, many_steps = 0;
    const long few = allocations_of([&] { few_steps = with.adaptive(1e-2).statistics().accepted; });
    const long many = allocations_of([&] { many_steps = with.adaptive(2e-7).statistics().accepted; });
    REQUIRE(few_steps < 16);
    CHECK(many_steps > few_steps + 4);
    CHECK(many - few <= 9);  // three vectors that double twice at the most
}

TEST_CASE_TEMPLATE("ode/allocations: a gradient takes its workspace once, however many steps" *
                       doctest::skip(cannot_count),
                   Scalar, float, double) {
    solves<Scalar> with;
    const auto short_path = with.fixed(64), long_path = with.fixed(640);  // one record, and ten
    with.gradient(short_path);                                            // the field's own workspace
    const long few = allocations_of([&] { with.gradient(short_path); });
    CHECK(allocations_of([&] { with.gradient(long_path); }) <= few + 4);
}
