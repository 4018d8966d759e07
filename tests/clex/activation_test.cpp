// SPDX-License-Identifier: MIT
#include "cordage/clex/activation.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "cordage/core/bits.hpp"

using namespace cordage;

namespace {

template <class Activation, class Scalar>
hidden_array<Scalar> value(const hidden_array<Scalar>& x) {
    hidden_array<Scalar> y(x.size());
    clex_detail::activate<Activation>(x, y);
    return y;
}

}  // namespace

TEST_CASE_TEMPLATE("clex/activation: SiLU and tanh are the functions of that name", Scalar, float, double) {
    const double room = sizeof(Scalar) == 4 ? 1e-6 : 1e-15;
    const hidden_array<Scalar> x = hidden_array<Scalar>::LinSpaced(1001, -20, 20);
    const auto y = value<silu>(x), h = value<tanh_activation>(x);
    for (Eigen::Index i = 0; i < x.size(); ++i) {
        const double at{x[i]};
        CHECK(std::abs(double{y[i]} - at / (1.0 + std::exp(-at))) <= room * std::max(1.0, std::abs(at)));
        CHECK(std::abs(double{h[i]} - std::tanh(at)) <= room);
    }
}

TEST_CASE_TEMPLATE("clex/activation: the slope is the derivative", Activation, silu, tanh_activation) {
    const hidden_array<double> x = hidden_array<double>::LinSpaced(101, -8, 8);
    const double h = 1e-5;
    const hidden_array<double> expected =
        (value<Activation, double>(x + h) - value<Activation, double>(x - h)) / (2 * h);
    hidden_array<double> y(x.size()), slope(x.size());
    clex_detail::activate<Activation>(x, y, slope);
    CHECK((slope - expected).abs().maxCoeff() < 1e-9);
    CHECK((y - value<Activation, double>(x)).abs().maxCoeff() < 1e-15);
}

TEST_CASE_TEMPLATE("clex/activation: nothing overflows at large arguments", Scalar, float, double) {
    hidden_array<Scalar> x(4), y(4), slope(4);
    x << Scalar(1e30), Scalar(-1e30), Scalar(1000), Scalar(-1000);
    clex_detail::activate<silu>(x, y, slope);
    const auto z = value<silu>(x);
    for (Eigen::Index i = 0; i < 4; ++i) CHECK((is_finite(y[i]) && is_finite(slope[i]) && is_finite(z[i])));
    // Fast-math divides by an approximate reciprocal, which is off by some roundings.
    CHECK(std::abs(y[2] - Scalar(1000)) < Scalar(1e-3));
    CHECK(std::abs(slope[2] - Scalar(1)) < Scalar(1e-6));
    CHECK(std::abs(y[1]) < Scalar(1e-30));
    CHECK(std::abs(y[3]) < Scalar(1e-30));
    CHECK(std::abs(slope[3]) < Scalar(1e-30));
    clex_detail::activate<tanh_activation>(x, y, slope);
    CHECK((y.abs() == Scalar(1)).all());
    CHECK((slope == Scalar(0)).all());
}
