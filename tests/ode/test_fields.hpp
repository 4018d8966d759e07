// SPDX-License-Identifier: MIT
// Small ODEs with known solutions or derivatives, for the tests of the stage ode.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "cordage/core/index.hpp"

namespace cordage_test {

/// dz/dt = z cos t: z(t) = z(0) exp(sin t).
struct swinging {
    template <class Scalar>
    void operator()(Scalar t, std::span<const Scalar> z, std::span<Scalar> dz) const {
        for (std::size_t i = 0; i < z.size(); ++i) dz[i] = z[i] * std::cos(t);
    }
    static double exact(double t) { return std::exp(std::sin(t)); }
};

/// dz/dt = z.
struct growing {
    void operator()(double, std::span<const double> z, std::span<double> dz) const { std::ranges::copy(z, dz.begin()); }
};

/// dz/dt = z^2, z(0) = 1: z(t) = 1/(1 - t), infinite at t = 1.
struct exploding {
    void operator()(double, std::span<const double> z, std::span<double> dz) const { dz[0] = z[0] * z[0]; }
};

/// A nonlinear field of two states and three parameters that depends on t:
///
///   dz0/dt = p0 sin(z1) + t/(1 + z0^2)        dz1/dt = -p1 t z0 + p2 z0 z1
struct knotted {
    std::vector<double> p{0.7, 0.4, -0.3};

    static cordage::index_t size() { return 2; }
    static cordage::index_t parameter_count() { return 3; }

    void operator()(double t, std::span<const double> z, std::span<double> dz) const {
        dz[0] = p[0] * std::sin(z[1]) + t / (1.0 + z[0] * z[0]);
        dz[1] = -p[1] * t * z[0] + p[2] * z[0] * z[1];
    }
    void vjp(double t, std::span<const double> z, std::span<const double> g, std::span<double> grad_z,
             std::span<double> grad_p) const {
        const double q = 1.0 + z[0] * z[0];
        grad_z[0] += -g[0] * t * 2.0 * z[0] / (q * q) + g[1] * (-p[1] * t + p[2] * z[1]);
        grad_z[1] += g[0] * p[0] * std::cos(z[1]) + g[1] * p[2] * z[0];
        grad_p[0] += g[0] * std::sin(z[1]);
        grad_p[1] += -g[1] * t * z[0];
        grad_p[2] += g[1] * z[0] * z[1];
    }
};

/// knotted as a recording field.
struct recording : knotted {
    std::vector<double> times, states, owed = std::vector<double>(3);

    void record(std::span<const double> t, std::span<const double> z) {
        times.assign(t.begin(), t.end()), states.assign(z.begin(), z.end());
        owed.assign(3, 0.0);
    }
    void pull_back(cordage::index_t i, std::span<const double> g, std::span<double> grad_z) {
        const auto at = static_cast<std::size_t>(i);
        vjp(times[at], std::span<const double>(states).subspan(2 * at, 2), g, grad_z, owed);
    }
    void collect(std::span<double> grad_p) {
        for (std::size_t i = 0; i < 3; ++i) grad_p[i] += owed[i];
    }
};

/// Initial state of `knotted` in gradient tests, and gradients to its state.
inline const std::vector<double> z_start{0.5, -0.8}, grad_first{1.3, -0.4}, grad_second{-0.2, 0.9},
    grad_third{0.6, 0.1};

}  // namespace cordage_test
