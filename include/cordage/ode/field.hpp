// SPDX-License-Identifier: MIT
// The right-hand side of an ODE as a concept, plain and differentiable; serves the stage ode.
#pragma once

#include <concepts>
#include <span>

#include "cordage/core/index.hpp"

namespace cordage {

/// dz/dt = f(t, z), written to dz [size]. A field may keep its workspace inside, so it is called as non-const.
template <class F, class Scalar>
concept ode_field = requires(F& f, Scalar t, std::span<const Scalar> z, std::span<Scalar> dz) {
    f(t, z, dz);
};

/// A field that knows its size, so that solvers can check z0 against it.
template <class F>
concept sized_field = requires(const F& f) {
    { f.size() } -> std::convertible_to<index_t>;
};

/// A field with parameters and a vector-Jacobian product: with g = grad_dz,
///
///   grad_z += (df/dz)^T g        grad_parameters += (df/dparameters)^T g        returns g . df/dt
template <class F, class Scalar>
concept differentiable_field = ode_field<F, Scalar> && sized_field<F> &&
    requires(F& f, Scalar t, std::span<const Scalar> in, std::span<Scalar> out) {
    { f.parameter_count() } -> std::convertible_to<index_t>;
    { f.vjp(t, in, in, out, out) } -> std::same_as<Scalar>;
};

}  // namespace cordage
