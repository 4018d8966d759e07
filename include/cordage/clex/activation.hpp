// SPDX-License-Identifier: MIT
// The nonlinearity of CLEX's network; serves the stage clex.
#pragma once

#include <Eigen/Core>
#include <concepts>

#include "cordage/clex/panels.hpp"

namespace cordage {

/// A column of numbers, one a hidden unit.
template <class Scalar>
using hidden_array = Eigen::Array<Scalar, Eigen::Dynamic, 1>;

/// An activation computes on a number, float or double, or on a packet of them, which is a vector of the processor.
template <class A>
concept activation = requires(double x, double& out) {
    { A::value(x) } -> std::same_as<double>;  // sigma(x)
    A::value_and_slope(x, out, out);          // sigma(x) and sigma'(x)
};

namespace clex_detail {

template <class Packet>
using number_of = typename Eigen::internal::unpacket_traits<Packet>::type;

/// The packet of one number.
template <class Packet>
Packet packet_of(number_of<Packet> number) {
    return Eigen::internal::pset1<Packet>(number);
}

/// body(i, zero) for every i, of type packet where it begins a whole packet and of type Scalar where not. (Packets and
/// not expressions of arrays, whose types take a compiler much longer.)
template <class Scalar, class Body>
void for_packets(Eigen::Index size, const Body& body) {
    constexpr auto lanes = static_cast<Eigen::Index>(panel<Scalar>::lanes);
    Eigen::Index i = 0;
    for (; i + lanes <= size; i += lanes) body(i, packet_of<typename panel<Scalar>::packet>(0));
    for (; i < size; ++i) body(i, Scalar{0});
}

/// y = sigma(x), and its slope; y may be x. All of one size.
template <activation A, class Scalar>
void activate(const hidden_array<Scalar>& x, hidden_array<Scalar>& y) {
    using namespace Eigen::internal;
    for_packets<Scalar>(x.size(), [&]<class Packet>(Eigen::Index i, Packet) {
        pstore(y.data() + i, A::value(pload<Packet>(x.data() + i)));
    });
}
template <activation A, class Scalar>
void activate(const hidden_array<Scalar>& x, hidden_array<Scalar>& y, hidden_array<Scalar>& slope) {
    using namespace Eigen::internal;
    for_packets<Scalar>(x.size(), [&]<class Packet>(Eigen::Index i, Packet value) {
        Packet rate = value;
        A::value_and_slope(pload<Packet>(x.data() + i), value, rate);
        pstore(y.data() + i, value);
        pstore(slope.data() + i, rate);
    });
}

}  // namespace clex_detail

/// SiLU, x sigma(x) with sigma(x) = 1 / (1 + exp(-x)), the paper's choice; its slope is sigma (1 + x exp(-x) sigma).
/// Below -limit, where it is 0 but for a number beyond the reach of any sum, x is taken as -limit: nothing overflows in
/// whatever order the compiler multiplies.
struct silu {
    template <class Packet>
    static Packet value(const Packet& x) {
        const Packet one = clex_detail::packet_of<Packet>(1), at = bounded(x);
        return at / (one + Eigen::internal::pexp(Packet(-at)));
    }
    template <class Packet>
    static void value_and_slope(const Packet& x, Packet& y, Packet& slope) {
        const Packet one = clex_detail::packet_of<Packet>(1), at = bounded(x), decay = Eigen::internal::pexp(Packet(-at));
        const Packet sigma = one / (one + decay);
        slope = sigma * (one + at * decay * sigma);
        y = sigma * at;
    }

 private:
    template <class Packet>
    static Packet bounded(const Packet& x) {
        const bool is_float = sizeof(clex_detail::number_of<Packet>) == sizeof(float);
        return Eigen::internal::pmax(x, clex_detail::packet_of<Packet>(is_float ? -80 : -700));
    }
};
static_assert(activation<silu>);

/// The hyperbolic tangent, which the released checkpoints use.
struct tanh_activation {
    template <class Packet>
    static Packet value(const Packet& x) {
        using namespace Eigen::internal;
        using clex_detail::packet_of;
        if constexpr (sizeof(clex_detail::number_of<Packet>) == sizeof(float)) return ptanh(x);
        // Eigen 3.4 has no vectors of tanh in double, but of exp; beyond 20 the result is 1.
        const Packet one = packet_of<Packet>(1), two = packet_of<Packet>(2);
        const Packet at = pmin(pmax(x, packet_of<Packet>(-20)), packet_of<Packet>(20));
        return one - two / (one + pexp(Packet(two * at)));
    }
    template <class Packet>
    static void value_and_slope(const Packet& x, Packet& y, Packet& slope) {
        y = value(x);
        slope = clex_detail::packet_of<Packet>(1) - y * y;
    }
};
static_assert(activation<tanh_activation>);

}  // namespace cordage
