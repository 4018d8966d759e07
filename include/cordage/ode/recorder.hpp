// SPDX-License-Identifier: MIT
// Every differentiable field as one that records; serves the backward of the stage ode.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "cordage/ode/field.hpp"

namespace cordage {

/// record, pull_back and collect (field.hpp) for a field that has only vjp: it is called at once in pull_back.
template <class Scalar, differentiable_field<Scalar> Field>
class recorder {
 public:
    explicit recorder(Field& field)
        : field_(field), grad_parameters_(static_cast<std::size_t>(field.parameter_count())) {}

    void record(std::span<const Scalar> times, std::span<const Scalar> states) {
        times_.assign(times.begin(), times.end());
        states_.assign(states.begin(), states.end());
    }
    Scalar pull_back(index_t i, std::span<const Scalar> grad_dz, std::span<Scalar> grad_z) {
        const auto at = static_cast<std::size_t>(i);
        const auto z = std::span<const Scalar>(states_).subspan(at * grad_z.size(), grad_z.size());
        return field_.vjp(times_[at], z, grad_dz, grad_z, std::span<Scalar>(grad_parameters_));
    }
    void collect(std::span<Scalar> grad_parameters) {
        for (std::size_t i = 0; i < grad_parameters.size(); ++i) grad_parameters[i] += grad_parameters_[i];
        grad_parameters_.assign(grad_parameters_.size(), Scalar{0});
    }

 private:
    Field& field_;
    std::vector<Scalar> times_, states_, grad_parameters_;
};

/// The field itself if it records, else its recorder.
template <class Scalar, differentiable_field<Scalar> Field>
using recording_of = std::conditional_t<recording_field<Field, Scalar>, Field&, recorder<Scalar, Field>>;

}  // namespace cordage
