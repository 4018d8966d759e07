// SPDX-License-Identifier: MIT
#include "cordage/ode/controller.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace cordage;

TEST_CASE("ode/controller: where a rule's error goes with h^(p+1), steps settle at an error of safety^((p+1)/0.3)") {
    for (const int embedded_order : {1, 2, 4}) {
        pi_controller controller(embedded_order);
        const double power = embedded_order + 1.0;
        double size = 0.1;
        for (int n = 0; n < 200; ++n) size *= controller.after_accepted(std::pow(size, power));
        // The factor 1 = safety * e^(-0.7/(p+1)) * e^(0.4/(p+1)).
        CHECK(std::pow(size, power) == doctest::Approx(std::pow(pi_controller::safety, power / 0.3)).epsilon(1e-12));
    }
}

TEST_CASE("ode/controller: a rejected step is tried again where its error would be safety^(p+1), or at shrink") {
    for (const int embedded_order : {1, 2, 4}) {
        const double power = embedded_order + 1.0;
        for (const double error : {1.5, 2.5}) {
            const double factor = pi_controller(embedded_order).after_rejected(error);
            CHECK(std::pow(factor, power) * error == doctest::Approx(std::pow(pi_controller::safety, power)));
        }
        CHECK(pi_controller(embedded_order).after_rejected(1e10) == pi_controller::shrink);
    }
    CHECK(pi_controller(4).after_non_finite() == pi_controller::shrink);
}

TEST_CASE("ode/controller: after a rejection the next step is no larger, and the one after that may be") {
    pi_controller controller(4);
    controller.after_rejected(2.0);
    CHECK(controller.after_accepted(1e-6) == 1.0);
    CHECK(controller.after_accepted(1e-6) > 1.0);
    controller.after_non_finite();
    CHECK(controller.after_accepted(1e-6) == 1.0);
}

TEST_CASE("ode/controller: steps of no error grow by grow at most, and go on growing") {
    pi_controller controller(4);
    CHECK(controller.after_accepted(0.0) == pi_controller::grow);
    CHECK(controller.after_accepted(0.0) > 1.0);
}
