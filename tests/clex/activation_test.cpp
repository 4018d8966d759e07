// SPDX-License-Identifier: MIT
#include "cordage/clex/activation.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "cordage/core/bits.hpp"

using namespace cordage;

namespace {

template <class Scalar>
using column = Eigen::Array<Scalar, Eigen::Dynamic, 1>;  // of whole packets: sizes are multiples of 16

template <class Activation, class Scalar>
column<Scalar> value(const column<Scalar>& x) {
    column<Scalar> y(x.size());
    clex_detail::activate<Activation>(x.data(), static_cast<std::size_t>(x.size()), y.data());
    return y;
}

template <class Activation, class Scalar>
void value_and_slope(const column<Scalar>& x, column<Scalar>& y, column<Scalar>& slope) {
    clex_detail::activate<Activation>(x.data(), static_cast<std::size_t>(x.size()), y.data(), slope.data());
}

}  // namespace

TEST_CASE_TEMPLATE("clex/activation: SiLU and tanh are the functions of that name", Scalar, float, double) {
    const double room = sizeof(Scalar) == 4 ? 1e-6 : 1e-15;
    const column<Scalar> x = column<Scalar>::LinSpaced(1024, -20, 20);
    const auto y = value<silu>(x), h = value<tanh_activation>(x);
    for (Eigen::Index i = 0; i < x.size(); ++i) {
        const double at{x[i]};
        CHECK(std::abs(double{y[i]} - at / (1.0 + std::exp(-at))) <= room * std::max(1.0, std::abs(at)));
        CHECK(std::abs(double{h[i]} - std::tanh(at)) <= room);
    }
}

TEST_CASE_TEMPLATE("clex/activation: the slope is the derivative", Activation, silu, tanh_activation) {
    const column<double> x = column<double>::LinSpaced(112, -8, 8);
    const double h = 1e-5;
    const column<double> expected = (value<Activation, double>(x + h) - value<Activation, double>(x - h)) / (2 * h);
    column<double> y(x.size()), slope(x.size());
    value_and_slope<Activation>(x, y, slope);
    CHECK((slope - expected).abs().maxCoeff() < 1e-9);
    CHECK((y - value<Activation, double>(x)).abs().maxCoeff() < 1e-15);
}

TEST_CASE_TEMPLATE("clex/activation: nothing overflows at large arguments", Scalar, float, double) {
    column<Scalar> x(16), y(16), slope(16);
    for (Eigen::Index i = 0; i < 16; i += 4)
        x.segment(i, 4) << Scalar(1e30), Scalar(-1e30), Scalar(1000), Scalar(-1000);
    value_and_slope<silu>(x, y, slope);
    const auto z = value<silu>(x);
    for (Eigen::Index i = 0; i < 4; ++i) CHECK((is_finite(y[i]) && is_finite(slope[i]) && is_finite(z[i])));
    // Fast-math divides by an approximate reciprocal, which is off by some roundings.
    CHECK(std::abs(y[2] - Scalar(1000)) < Scalar(1e-3));
    CHECK(std::abs(slope[2] - Scalar(1)) < Scalar(1e-6));
    CHECK(std::abs(y[1]) < Scalar(1e-30));
    CHECK(std::abs(y[3]) < Scalar(1e-30));
    CHECK(std::abs(slope[3]) < Scalar(1e-30));
    value_and_slope<tanh_activation>(x, y, slope);
    CHECK((y.abs() == Scalar(1)).all());
    CHECK((slope == Scalar(0)).all());
}
