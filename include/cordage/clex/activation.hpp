// SPDX-License-Identifier: MIT
// The nonlinearity of CLEX's network; serves the stage clex.
#pragma once

#include <Eigen/Core>
#include <concepts>
#include <cstddef>

#include "cordage/clex/panels.hpp"

namespace cordage {

/// An activation, defined on a number, float or double, and on a packet of them (a vector register of Eigen).
template <class A>
concept activation = requires(double x, double& out) {
    { A::value(x) } -> std::same_as<double>;  // sigma(x)
    A::value_and_slope(x, out, out);          // sigma(x) and sigma'(x)
};

namespace clex_detail {

/// y = sigma(x) and slope = sigma'(x) of `size` numbers, aligned and a multiple of the packet size. y or slope may be
/// x. (Loops over packets, since Eigen's expression types take much longer to compile.)
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
/// x below -limit is replaced by -limit, where the value is negligible, so that no product overflows.
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
        if constexpr (sizeof(typename unpacket_traits<Packet>::type) == sizeof(float)) {
            return ptanh(x);
        } else {
            // Eigen 3.4 does not vectorise tanh in double. exp(2x) = 2^n (q + p) / (q - p), |2x - n ln 2| <= ln 2 / 2,
            // with the fraction of Cephes' exp; so tanh x = (exp(2x) - 1) / (exp(2x) + 1) takes one division. Beyond 20
            // it is 1.
            const auto number = [](double c) { return pset1<Packet>(c); };
            const Packet twice = number(2) * pmin(pmax(x, number(-20)), number(20));
            const Packet n = pfloor(pmadd(twice, number(1.4426950408889634), number(0.5)));
            const Packet g = pmadd(n, number(-1.42860682030941723212e-6), pmadd(n, number(-0.693145751953125), twice));
            const Packet w = g * g;
            const Packet p =
                g * pmadd(w, pmadd(w, number(1.26177193074810590878e-4), number(3.02994407707441961300e-2)),
                          number(9.99999999999999999910e-1));
            const Packet q =
                pmadd(w,
                      pmadd(w, pmadd(w, number(3.00198505138664455042e-6), number(2.52448340349684104192e-3)),
                            number(2.27265548208155028766e-1)),
                      number(2));
            const Packet above = pldexp(Packet(q + p), n), below = q - p;
            return (above - below) / (above + below);
        }
    }
    template <class Packet>
    static void value_and_slope(const Packet& x, Packet& y, Packet& slope) {
        y = value(x);
        slope = Eigen::internal::pset1<Packet>(1) - y * y;
    }
};
static_assert(activation<tanh_activation>);

}  // namespace cordage
