// SPDX-License-Identifier: MIT
// The right-hand side of an ODE as a concept, plain and differentiable; serves the stage ode.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "cordage/core/index.hpp"

namespace cordage {

/// dz/dt = f(t, z), written to dz [size]. A field may hold its workspace, so it is called as non-const.
template <class F, class Scalar>
concept ode_field = requires(F& f, Scalar t, std::span<const Scalar> z, std::span<Scalar> dz) { f(t, z, dz); };

/// A field with a size, so that solvers can check z0.
template <class F>
concept sized_field = requires(const F& f) {
    { f.size() } -> std::convertible_to<index_t>;
};

/// A field with parameters and a vector-Jacobian product: with g = grad_dz,
///
///   grad_z += (df/dz)^T g        grad_parameters += (df/dparameters)^T g
template <class F, class Scalar>
concept differentiable_field = ode_field<F, Scalar> && sized_field<F> &&
                               requires(F& f, Scalar t, std::span<const Scalar> in, std::span<Scalar> out) {
                                   { f.parameter_count() } -> std::convertible_to<index_t>;
                                   f.vjp(t, in, in, out, out);
                               };

/// A field that receives in advance the states at which vjps are needed, so that it can evaluate them in one batch and
/// add the parameters' part of all vjps at the end:
///
///   record(times [n], states [n, size])     states until the next record
///   pull_back(i, grad_dz, grad_z)           the vjp at state i without the parameters; once for each
///   collect(grad_parameters)                adds the parameters' part of those vjps; once
template <class F, class Scalar>
concept recording_field =
    differentiable_field<F, Scalar> && requires(F& f, std::span<const Scalar> in, std::span<Scalar> out, index_t i) {
        f.record(in, in);
        f.pull_back(i, in, out);
        f.collect(out);
    };

namespace ode_detail {

/// A type-erased field, so that solvers are compiled once for all fields.
template <class Scalar>
using any_field = std::function<void(Scalar, std::span<const Scalar>, std::span<Scalar>)>;

/// A type-erased differentiable field as a recording_field, so that gradients are compiled once for all fields.
template <class Scalar>
struct recorded_field {
    virtual void record(std::span<const Scalar> times, std::span<const Scalar> states) = 0;
    virtual void pull_back(index_t i, std::span<const Scalar> grad_dz, std::span<Scalar> grad_z) = 0;
    virtual void collect(std::span<Scalar> grad_parameters) = 0;

 protected:
    ~recorded_field() = default;
};

/// For a field that has only vjp, pull_back calls vjp immediately.
template <class Scalar, differentiable_field<Scalar> Field>
class recorder final : public recorded_field<Scalar> {
    static constexpr bool records = recording_field<Field, Scalar>;

 public:
    explicit recorder(Field& field) : field_(field) {
        if constexpr (!records) grad_parameters_.resize(static_cast<std::size_t>(field.parameter_count()));
    }

    void record(std::span<const Scalar> times, std::span<const Scalar> states) override {
        if constexpr (records) return field_.record(times, states);
        times_.assign(times.begin(), times.end());
        states_.assign(states.begin(), states.end());
        grad_parameters_.assign(grad_parameters_.size(), Scalar{0});
    }
    void pull_back(index_t i, std::span<const Scalar> grad_dz, std::span<Scalar> grad_z) override {
        if constexpr (records) {
            field_.pull_back(i, grad_dz, grad_z);
        } else {
            const auto at = static_cast<std::size_t>(i);
            const auto z = std::span<const Scalar>(states_).subspan(at * grad_z.size(), grad_z.size());
            field_.vjp(times_[at], z, grad_dz, grad_z, std::span<Scalar>(grad_parameters_));
        }
    }
    void collect(std::span<Scalar> grad_parameters) override {
        if constexpr (records) return field_.collect(grad_parameters);
        for (std::size_t i = 0; i < grad_parameters_.size(); ++i) grad_parameters[i] += grad_parameters_[i];
    }

 private:
    Field& field_;
    std::vector<Scalar> times_, states_, grad_parameters_;
};

}  // namespace ode_detail

}  // namespace cordage
