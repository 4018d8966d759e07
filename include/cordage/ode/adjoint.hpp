// SPDX-License-Identifier: MIT
// The discrete gradient of a solve, exact for the computed numbers; the backward pass of the stage ode.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "cordage/core/error.hpp"
#include "cordage/ode/butcher_tableau.hpp"
#include "cordage/ode/field.hpp"
#include "cordage/ode/step.hpp"
#include "cordage/ode/trajectory.hpp"

namespace cordage {

/// The gradient of a loss with respect to the state at t: an input of the reverse sweep.
template <class Scalar>
struct gradient_seed {
    Scalar t;
    std::span<const Scalar> grad_z;  ///< [size]
};

/// Spans to which discrete_adjoint adds its results.
template <class Scalar>
struct gradient_sums {
    std::span<Scalar> grad_z0;          ///< [size]
    std::span<Scalar> grad_parameters;  ///< [parameter_count]
};

namespace ode_detail {

/// The checks of the adjoint: the solve succeeded, sizes agree, seeds lie in the interval.
template <butcher_tableau Tableau, class Scalar, class Field>
void validate_gradient(const char* who, const trajectory<Tableau, Scalar>& path, const Field& field,
                       std::span<const gradient_seed<Scalar>> seeds, const gradient_sums<Scalar>& sums) {
    static_assert(differentiable_field<Field, Scalar>,
                  "cordage::discrete_adjoint: Field needs size(), parameter_count() and 'void "
                  "vjp(Scalar t, std::span<const Scalar> z, std::span<const Scalar> grad_dz, std::span<Scalar> grad_z, "
                  "std::span<Scalar> grad_parameters)'; docs/extending.md");
    path.locate(who, path.interval().begin, path.size());  // throws unless the solve succeeded
    const auto expect = [who](const char* what, std::size_t size, std::size_t wanted) {
        if (size != wanted) fail<shape_error>({who, ": ", what, " size ", size, " must be ", wanted});
    };
    expect("field", static_cast<std::size_t>(field.size()), path.size());
    expect("grad_z0", sums.grad_z0.size(), path.size());
    expect("grad_parameters", sums.grad_parameters.size(), static_cast<std::size_t>(field.parameter_count()));
    for (const auto& seed : seeds) {
        expect("a seed's grad_z", seed.grad_z.size(), path.size());
        path.locate(who, seed.t, path.size());
    }
}

/// A seed located in a trajectory: the gradient to the state there.
template <class Scalar>
struct placed_gradient {
    trajectory_place<Scalar> place;
    std::span<const Scalar> grad_z;  ///< [size]
    std::size_t index;               ///< among the seeds
};

/// One sweep of discrete_adjoint. It holds the gradient to the state and to the slope at the current node. step_back(n)
/// moves from node n+1 to node n by the transpose of
///
///   z_i = z_n + h sum_{j<i} a_ij k_j      k_i = f(t_n + c_i h, z_i)      z_{n+1} = z_last
///
/// The states z_i of many steps are recorded at once, before the sweep goes through those steps.
template <butcher_tableau Tableau, class Scalar>
class reverse_sweep {
    using form = fsal_form<Tableau>;

 public:
    reverse_sweep(const trajectory<Tableau, Scalar>& path, recorded_field<Scalar>& field,
                  std::span<Scalar> grad_parameters)
        : path_(path),
          field_(field),
          grad_parameters_(grad_parameters),
          recorded_(path.nodes()),
          memory_((form::slopes + 2) * path.size()) {
        std::size_t taken = 0;
        const auto take = [&] { return std::span(memory_).subspan(path.size() * taken++, path.size()); };
        for (auto& slope : grad_slopes_) slope = take();
        for (auto* vector : {&grad_z_, &grad_before_}) *vector = take();
    }
    reverse_sweep(const reverse_sweep&) = delete;
    reverse_sweep& operator=(const reverse_sweep&) = delete;

    /// The gradient to the state at this node.
    std::span<Scalar> grad_z() noexcept { return grad_z_; }

    /// Moves from node n+1 to node n; `inside` are the seeds between the two.
    void step_back(std::size_t n, std::span<const placed_gradient<Scalar>> inside) {
        if (n < recorded_) record_steps_before(n + 1);
        const Scalar h = path_.step_size(n);
        // The last slope of this step is the first slope of the next step, whose sweep accumulated its gradient.
        std::ranges::copy(grad_slopes_[0], grad_slopes_[form::last].begin());
        for (std::size_t i = 0; i < form::last; ++i) std::ranges::fill(grad_slopes_[i], Scalar{0});
        std::ranges::fill(grad_before_, Scalar{0});
        for (const auto& seed : inside) read_back(seed, h);
        for (std::size_t stage = form::last; stage > 0; --stage) {
            // From here grad_z_ is the gradient to this stage's state. The last stage's state is the step's result.
            if (stage != form::last) std::ranges::fill(grad_z_, Scalar{0});
            const std::size_t place = first_stage() + (n - recorded_) * form::last + stage - 1;
            field_.pull_back(static_cast<index_t>(place), grad_slopes_[stage], grad_z_);
            for (std::size_t j = 0; j < stage; ++j) {
                const Scalar weight = stage_weights<Tableau, Scalar>[stage][j];
                if (weight != 0) add_scaled<Scalar>(h * weight, grad_z_, grad_slopes_[j]);
            }
            add_scaled<Scalar>(1, grad_z_, grad_before_);
        }
        std::swap(grad_z_, grad_before_);
    }

    /// Finishes at node 0, whose slope is the field at (begin, z0), and adds the gradients to the parameters.
    void finish() {
        if (recorded_ > 0) record_steps_before(0);
        field_.pull_back(0, grad_slopes_[0], grad_z_);
        field_.collect(grad_parameters_);
    }

 private:
    /// Large enough for fast matrix products, small enough for the cache.
    static constexpr std::size_t steps_at_once = 256 / form::last;

    /// Index of the first stage among the recorded states: after node 0, if that is recorded.
    std::size_t first_stage() const noexcept { return recorded_ == 0 ? 1 : 0; }

    /// Records the stages of the steps before `end`, as many as fit, and node 0 before those of the first step, in the
    /// order of the solve.
    void record_steps_before(std::size_t end) {
        if (!times_.empty()) field_.collect(grad_parameters_);
        recorded_ = end - std::min(end, steps_at_once);
        const std::size_t size = path_.size(), count = (end - recorded_) * form::last;
        times_.resize(first_stage() + count);
        states_.resize(times_.size() * size);
        if (recorded_ == 0) {
            times_[0] = path_.times()[0];
            std::ranges::copy(path_.state(0), states_.begin());
        }
        for (std::size_t step = recorded_, place = first_stage(); step < end; ++step) {
            const Scalar t = path_.times()[step], h = path_.step_size(step);
            const auto z = path_.state(step);
            const auto k = path_.slopes(step);
            for (std::size_t stage = 1; stage <= form::last; ++stage, ++place) {
                times_[place] = t + static_cast<Scalar>(form::c(stage)) * h;
                stage_state<Tableau, Scalar>(stage, h, z, k, std::span(states_).subspan(size * place, size));
            }
        }
        field_.record(std::span<const Scalar>(times_), std::span<const Scalar>(states_));
    }

    /// The transpose of evaluating z(t_n + s h) = z_n + h sum_i w_i(s) k_i.
    void read_back(const placed_gradient<Scalar>& seed, Scalar h) noexcept {
        const auto weights = dense_weights<Tableau>(seed.place.fraction);
        for (std::size_t i = 0; i < form::slopes; ++i) {
            add_scaled<Scalar>(h * weights[i], seed.grad_z, grad_slopes_[i]);
        }
        add_scaled<Scalar>(1, seed.grad_z, grad_before_);
    }

    const trajectory<Tableau, Scalar>& path_;
    recorded_field<Scalar>& field_;
    std::span<Scalar> grad_parameters_;
    std::size_t recorded_;                // the first recorded step
    std::vector<Scalar> times_, states_;  // recorded stages
    std::vector<Scalar> memory_;
    std::array<std::span<Scalar>, form::slopes> grad_slopes_;
    std::span<Scalar> grad_z_, grad_before_;
};

}  // namespace ode_detail

/// The discrete gradient: the exact derivative of the computed numbers, including the interpolant, for fixed accepted
/// steps. One sweep from the last seed back to begin handles all seeds.
///
/// @param field  the one the trajectory was solved with, differentiable
/// @param seeds  any number, in any order, each t within the interval
/// @param sums   results are added to them; must not overlap
/// @throws cordage::error unless the solve succeeded; value_error for a seed's t; shape_error for sizes; all before
///         anything is added
/// Precision: Scalar. Calls vjp at most once for each field evaluation of an accepted step. Allocates its workspace
/// once.
template <butcher_tableau Tableau, class Scalar, class Field>
void discrete_adjoint(const trajectory<Tableau, Scalar>& path, Field&& field,
                      std::type_identity_t<std::span<const gradient_seed<Scalar>>> seeds,
                      const std::type_identity_t<gradient_sums<Scalar>>& sums) {
    using namespace ode_detail;
    validate_gradient("discrete_adjoint", path, field, seeds, sums);
    if (seeds.empty()) return;

    // Seeds are processed from the last to the first. A seed at the last node adds to the state there, any other one to
    // its step.
    std::vector<placed_gradient<Scalar>> placed;
    for (const auto& seed : seeds) {
        placed.push_back({path.locate("discrete_adjoint", seed.t, path.size()), seed.grad_z, placed.size()});
    }
    std::sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) {
        return std::pair(b.place.node, a.index) < std::pair(a.place.node, b.index);
    });
    auto next = placed.begin();
    const auto take_those_at = [&](std::size_t node) {
        const auto begin = next;
        while (next != placed.end() && next->place.node == node) ++next;
        return std::span<const placed_gradient<Scalar>>(begin, next);
    };
    recorder<Scalar, std::remove_reference_t<Field>> recorded(field);
    reverse_sweep<Tableau, Scalar> sweep(path, recorded, sums.grad_parameters);
    std::size_t node = std::min(placed.front().place.node + 1, path.nodes() - 1);
    for (const auto& seed : take_those_at(node)) add_scaled<Scalar>(1, seed.grad_z, sweep.grad_z());
    while (node-- > 0) sweep.step_back(node, take_those_at(node));
    sweep.finish();
    add_scaled<Scalar>(1, sweep.grad_z(), sums.grad_z0);
}

}  // namespace cordage
