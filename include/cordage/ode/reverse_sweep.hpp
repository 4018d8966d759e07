// SPDX-License-Identifier: MIT
// Carries a gradient back over the steps of a trajectory; serves the backward of the stage ode.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "cordage/ode/dense_output.hpp"
#include "cordage/ode/field.hpp"
#include "cordage/ode/loops.hpp"
#include "cordage/ode/step.hpp"
#include "cordage/ode/trajectory.hpp"

namespace cordage::ode_detail {

/// The gradient to a state read somewhere in a trajectory.
template <class Scalar>
struct placed_gradient {
    trajectory_place<Scalar> place;
    std::span<const Scalar> grad_z;  ///< [size]
};

/// One sweep of discrete_adjoint (adjoint.hpp). It stands at a node and holds the gradient to the state and to the
/// slope there. step_back(n) takes it from node n+1 to node n by the transpose of
///
///   z_i = z_n + h sum_{j<i} a_ij k_j      k_i = f(t_n + c_i h, z_i)      z_{n+1} = z_last
///
/// The states z_i of many steps are recorded together, before the sweep goes through those steps.
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

    /// What stretching the whole mesh about its begin by a factor does to the loss, per unit of that factor.
    Scalar grad_stretch() const noexcept { return grad_stretch_; }

    /// From node n+1 to node n; `inside` are the seeds between the two.
    void step_back(std::size_t n, std::span<const placed_gradient<Scalar>> inside) {
        if (n < recorded_) record_steps_up_to(n);
        const Scalar h = path_.step_size(n);
        const auto k = path_.slopes(n);
        // This step's last slope is the first of the step after, where its gradient so far has gathered.
        std::ranges::copy(grad_slopes_[0], grad_slopes_[form::last].begin());
        for (std::size_t i = 0; i < form::last; ++i) std::ranges::fill(grad_slopes_[i], Scalar{0});
        std::ranges::fill(grad_before_, Scalar{0});
        for (const auto& seed : inside) read_back(seed, h, k);
        for (std::size_t stage = form::last; stage > 0; --stage) {
            // From here grad_z_ is the gradient to this stage's state. The last stage's state is the step's result.
            if (stage != form::last) std::ranges::fill(grad_z_, Scalar{0});
            pull_back((n - recorded_) * form::last + stage - 1, grad_slopes_[stage]);
            for (std::size_t j = 0; j < stage; ++j) {
                const Scalar weight = stage_weights<Tableau, Scalar>[stage][j];
                if (weight != 0) add_scaled<Scalar>(h * weight, grad_z_, grad_slopes_[j]);
            }
            add_scaled<Scalar>(1, grad_z_, grad_before_);
        }
        // Each h a_ij k_j is what a stretch by a factor moves a state by, per unit of the factor.
        for (std::size_t j = 0; j < form::last; ++j) grad_stretch_ += dot<Scalar>(grad_slopes_[j], k[j]);
        std::swap(grad_z_, grad_before_);
    }

    /// At node 0, whose slope is the field at (begin, z0); then the parameters get what they are owed.
    void finish() {
        if (!times_.empty()) field_.collect(grad_parameters_);
        times_.assign(1, path_.times()[0]);
        field_.record(std::span<const Scalar>(times_), path_.state(0));
        pull_back(0, grad_slopes_[0]);
        field_.collect(grad_parameters_);
    }

 private:
    /// Enough for the products of matrices to be quick, and little enough to stay in the cache.
    static constexpr std::size_t steps_at_once = 256 / form::last;

    /// Records the stages of the steps before n+1, as far back as fit.
    void record_steps_up_to(std::size_t n) {
        if (!times_.empty()) field_.collect(grad_parameters_);
        recorded_ = n + 1 - std::min(n + 1, steps_at_once);
        const std::size_t size = path_.size(), count = (n + 1 - recorded_) * form::last;
        times_.resize(count);
        states_.resize(count * size);
        for (std::size_t step = recorded_, place = 0; step <= n; ++step) {
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

    /// The transpose of reading z(t_n + s h) = z_n + h sum_i w_i(s) k_i.
    void read_back(const placed_gradient<Scalar>& seed, Scalar h,
                   const std::array<const Scalar*, form::slopes>& k) noexcept {
        const auto weights = dense_weights<Tableau>(seed.place.fraction);
        for (std::size_t i = 0; i < form::slopes; ++i) {
            add_scaled<Scalar>(h * weights[i], seed.grad_z, grad_slopes_[i]);
        }
        add_scaled<Scalar>(1, seed.grad_z, grad_before_);
        grad_stretch_ +=
            h * weights[form::last] * dot<Scalar>(seed.grad_z, k[form::last]);  // step_back sees to the others
    }

    /// The transpose of k = f(t, z) at a recorded state, into grad_z_.
    void pull_back(std::size_t place, std::span<const Scalar> grad_slope) {
        const Scalar grad_t = field_.pull_back(static_cast<index_t>(place), grad_slope, grad_z_);
        grad_stretch_ += (times_[place] - path_.times()[0]) * grad_t;
    }

    const trajectory<Tableau, Scalar>& path_;
    recorded_field<Scalar>& field_;
    std::span<Scalar> grad_parameters_;
    std::size_t recorded_;                // the first step that is recorded
    std::vector<Scalar> times_, states_;  // recorded: of the stages
    std::vector<Scalar> memory_;
    std::array<std::span<Scalar>, form::slopes> grad_slopes_;
    std::span<Scalar> grad_z_, grad_before_;
    Scalar grad_stretch_ = 0;
};

}  // namespace cordage::ode_detail
