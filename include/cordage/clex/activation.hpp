// SPDX-License-Identifier: MIT
// The nonlinearity of CLEX's network; serves the stage clex.
#pragma once

#include <Eigen/Core>

namespace cordage {

/// A column of numbers, one a hidden unit.
template <class Scalar>
using hidden_array = Eigen::Array<Scalar, Eigen::Dynamic, 1>;

/// An activation works on whole columns, so that its exponentials are computed several at a time.
template <class A>
concept activation = requires(const hidden_array<double>& x, hidden_array<double>& out) {
    A::value(x, out);                 // out = sigma(x)
    A::value_and_slope(x, out, out);  // sigma(x) and sigma'(x)
};

/// SiLU, x sigma(x) with sigma(x) = 1 / (1 + exp(-x)), the paper's choice; its slope is sigma (1 + x exp(-x) sigma).
/// Below -limit, where it is 0 but for a number beyond the reach of any sum, x is taken as -limit: nothing overflows in
/// whatever order the compiler multiplies.
struct silu {
    template <class Scalar>
    static void value(const hidden_array<Scalar>& x, hidden_array<Scalar>& y) {
        y = bounded(x) / (Scalar{1} + (-bounded(x)).exp());
    }
    template <class Scalar>
    static void value_and_slope(const hidden_array<Scalar>& x, hidden_array<Scalar>& y, hidden_array<Scalar>& slope) {
        slope = (-bounded(x)).exp();
        y = Scalar{1} / (Scalar{1} + slope);
        slope = y * (Scalar{1} + bounded(x) * slope * y);
        y *= bounded(x);
    }

 private:
    template <class Scalar>
    static auto bounded(const hidden_array<Scalar>& x) {
        constexpr Scalar limit = sizeof(Scalar) == sizeof(float) ? Scalar{80} : Scalar{700};
        return x.max(-limit);
    }
};
static_assert(activation<silu>);

/// The hyperbolic tangent, which the released checkpoints use.
struct tanh_activation {
    template <class Scalar>
    static void value(const hidden_array<Scalar>& x, hidden_array<Scalar>& y) {
        if constexpr (sizeof(Scalar) == sizeof(float)) {
            y = x.tanh();
        } else {
            // Eigen 3.4 has no vectors of tanh in double, but of exp; beyond 20 the result is 1.
            y = Scalar{1} - Scalar{2} / (Scalar{1} + (Scalar{2} * x.max(Scalar{-20}).min(Scalar{20})).exp());
        }
    }
    template <class Scalar>
    static void value_and_slope(const hidden_array<Scalar>& x, hidden_array<Scalar>& y, hidden_array<Scalar>& slope) {
        value(x, y);
        slope = Scalar{1} - y.square();
    }
};
static_assert(activation<tanh_activation>);

}  // namespace cordage
