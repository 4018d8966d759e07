// SPDX-License-Identifier: MIT
#include "cordage/ode/solve_adaptive.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace cordage;
using namespace cordage::ode_detail;
using vector = std::vector<double>;

namespace {
const tolerance allowed{.relative = 0.5, .absolute = 0.25};
}  // namespace

TEST_CASE("ode/step_control: an error of absolute + relative times the larger of two states is just allowed") {
    const auto norm = [](double x, double z, double z_next) {
        return scaled_norm<double>(allowed, vector{x}, vector{z}, vector{z_next});
    };
    CHECK(norm(0.25, 0.0, 0.0) == 1.0);
    CHECK(norm(2.25, -4.0, 1.0) == 1.0);
    CHECK(norm(-2.25, 1.0, 4.0) == 1.0);
    CHECK(norm(4.5, 4.0, 0.0) == 2.0);
}

TEST_CASE("ode/step_control: the norm is the root mean square, for any size") {
    CHECK(scaled_norm<double>(allowed, {}, {}, {}) == 0.0);
    for (std::size_t size = 1; size < 20; ++size) {
        const vector rest(size), all(size, 0.25);
        CHECK(scaled_norm<double>(allowed, all, rest, rest) == doctest::Approx(1.0).epsilon(1e-15));
        for (std::size_t i = 0; i < size; ++i) {
            vector one(size);
            one[i] = 0.25;
            CHECK(scaled_norm<double>(allowed, one, rest, rest) ==
                  doctest::Approx(1.0 / std::sqrt(static_cast<double>(size))).epsilon(1e-15));
        }
    }
}

TEST_CASE("ode/step_control: for a rule with error h^(p+1), steps settle at an error of safety^((p+1)/0.3)") {
    for (const int embedded_order : {1, 2, 4}) {
        pi_controller controller(embedded_order);
        const double power = embedded_order + 1.0;
        double size = 0.1;
        for (int n = 0; n < 200; ++n) size *= controller.after_accepted(std::pow(size, power));
        // The factor 1 = safety * e^(-0.7/(p+1)) * e^(0.4/(p+1)).
        CHECK(std::pow(size, power) == doctest::Approx(std::pow(pi_controller::safety, power / 0.3)).epsilon(1e-12));
    }
}

TEST_CASE("ode/step_control: a rejected step is tried again where its error would be safety^(p+1), or at shrink") {
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

TEST_CASE("ode/step_control: after a rejection the next step is no larger, and the one after that may be") {
    pi_controller controller(4);
    controller.after_rejected(2.0);
    CHECK(controller.after_accepted(1e-6) == 1.0);
    CHECK(controller.after_accepted(1e-6) > 1.0);
    controller.after_non_finite();
    CHECK(controller.after_accepted(1e-6) == 1.0);
}

TEST_CASE("ode/step_control: steps of no error grow by grow at most, and go on growing") {
    pi_controller controller(4);
    CHECK(controller.after_accepted(0.0) == pi_controller::grow);
    CHECK(controller.after_accepted(0.0) > 1.0);
}

// It was once 0 if the norm of the slope overflowed, and NaN if that of the state did too.
TEST_CASE("ode/step_control: a first step is > 0 and at most the interval, also if norms overflow") {
    const tolerance tight{.relative = 1e-300, .absolute = 1e-300};
    const auto first = [&](double z0, double slope0, double bend, time_interval<double> interval) {
        const auto field = [&](double, std::span<const double>, std::span<double> dz) { dz[0] = slope0 + bend; };
        return first_step_size<double>(any_field<double>(field), interval, vector{z0}, vector{slope0}, tight, 5);
    };
    for (const double z0 : {0.0, 1e-300, 1.0, 1e300}) {
        for (const double slope0 : {0.0, 1e-300, 1.0, 1e300}) {
            for (const double bend : {0.0, 1.0, 1e300}) {
                for (const time_interval<double> interval :
                     {time_interval<double>{0.0, 2.0}, {2.0, 0.0}, {0.0, 1e-9}}) {
                    CAPTURE(z0);
                    CAPTURE(slope0);
                    CAPTURE(bend);
                    const double h = first(z0, slope0, bend, interval);
                    CHECK(h > 0.0);
                    CHECK(h <= std::abs(interval.end - interval.begin));
                }
            }
        }
    }
}
