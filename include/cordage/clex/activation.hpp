// SPDX-License-Identifier: MIT
// The nonlinearity of CLEX's network; serves the stage clex.
#pragma once

#include <Eigen/Core>
#include <concepts>
#include <cstddef>

#include "cordage/clex/panels.hpp"

namespace cordage {

/// An activation computes on a number, float or double, or on a packet of them, which is a vector of the processor.
template <class A>
concept activation = requires(double x, double& out) {
    { A::value(x) } -> std::same_as<double>;  // sigma(x)
    A::value_and_slope(x, out, out);          // sigma(x) and sigma'(x)
};

namespace clex_detail {

/// y = sigma(x), and its slope, of `size` numbers, whole packets of them, aligned; y may be x. (No expressions of
/// Eigen, whose types take a compiler much longer.)
template <activation A, class Scalar>
void activate(const Scalar* x, std::size_t size, Scalar* y) {
    using packet = typename panel<Scalar>::packet;
    for (std::size_t i = 0; i < size; i += panel<Scalar>::lanes) {
        Eigen::internal::pstore(y + i, A::value(Eigen::internal::pload<packet>(x + i)));
    }
}
template <activation A, class Scalar>
void activate(const Scalar* x, std::size_t size, Scalar* y, Scalar* slope) {
    using packet = typename panel<Scalar>::packet;
    for (std::size_t i = 0; i < size; i += panel<Scalar>::lanes) {
        packet value, rate;
        A::value_and_slope(Eigen::internal::pload<packet>(x + i), value, rate);
        Eigen::internal::pstore(y + i, value);
        Eigen::internal::pstore(slope + i, rate);
    }
}

}  // namespace clex_detail

/// SiLU, x sigma(x) with sigma(x) = 1 / (1 + exp(-x)), the paper's choice; its slope is sigma (1 + x exp(-x) sigma).
/// Below -limit, where it is 0 but for a number beyond the reach of any sum, x is taken as -limit: nothing overflows in
/// whatever order the compiler multiplies.
struct silu {
    template <class Packet>
    static Packet value(const Packet& x) {
        const Packet one = Eigen::internal::pset1<Packet>(1), at = bounded(x);
        return at / (one + Eigen::internal::pexp(Packet(-at)));
    }
    template <class Packet>
    static void value_and_slope(const Packet& x, Packet& y, Packet& slope) {
        const Packet one = Eigen::internal::pset1<Packet>(1), at = bounded(x);
        const Packet decay = Eigen::internal::pexp(Packet(-at)), sigma = one / (one + decay);
        slope = sigma * (one + at * decay * sigma);
        y = sigma * at;
    }

 private:
    template <class Packet>
    static Packet bounded(const Packet& x) {
        using number = typename Eigen::internal::unpacket_traits<Packet>::type;
        return Eigen::internal::pmax(x, Eigen::internal::pset1<Packet>(sizeof(number) == sizeof(float) ? -80 : -700));
    }
};
static_assert(activation<silu>);

/// The hyperbolic tangent, which the released checkpoints use.
struct tanh_activation {
    template <class Packet>
    static Packet value(const Packet& x) {
        using namespace Eigen::internal;
        if constexpr (sizeof(typename unpacket_traits<Packet>::type) == sizeof(float)) return ptanh(x);
        // Eigen 3.4 has no vectors of tanh in double, but of exp; beyond 20 the result is 1.
        const Packet one = pset1<Packet>(1), two = pset1<Packet>(2);
        const Packet at = pmin(pmax(x, pset1<Packet>(-20)), pset1<Packet>(20));
        return one - two / (one + pexp(Packet(two * at)));
    }
    template <class Packet>
    static void value_and_slope(const Packet& x, Packet& y, Packet& slope) {
        y = value(x);
        slope = Eigen::internal::pset1<Packet>(1) - y * y;
    }
};
static_assert(activation<tanh_activation>);

}  // namespace cordage
