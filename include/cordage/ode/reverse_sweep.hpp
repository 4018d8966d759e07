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
#include "cordage/ode/step.hpp"
#include "cordage/ode/trajectory.hpp"

namespace cordage {

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
template <butcher_tableau Tableau, class Scalar, differentiable_field<Scalar> Field>
class reverse_sweep {
    using form = fsal_form<Tableau>;

 public:
    reverse_sweep(const trajectory<Tableau, Scalar>& path, Field& field, std::span<Scalar> grad_parameters)
        : path_(path), field_(field), grad_parameters_(grad_parameters), memory_((form::slopes + 4) * path.size()) {
        std::size_t taken = 0;
        const auto take = [&] { return std::span(memory_).subspan(path.size() * taken++, path.size()); };
        for (auto& slope : grad_slopes_) slope = take();
        for (auto* vector : {&grad_z_, &grad_before_, &state_, &moved_}) *vector = take();
    }
    reverse_sweep(const reverse_sweep&) = delete;
    reverse_sweep& operator=(const reverse_sweep&) = delete;

    /// The gradient to the state at this node.
    std::span<Scalar> grad_z() noexcept { return grad_z_; }

    /// What stretching the whole mesh about its begin by a factor does to the loss, per unit of that factor.
    Scalar grad_stretch() const noexcept { return grad_stretch_; }

    /// From node n+1 to node n; `inside` are the seeds between the two.
    void step_back(std::size_t n, std::span<const placed_gradient<Scalar>> inside) {
        const Scalar t = path_.times()[n], h = path_.step_size(n);
        const auto z = path_.state(n);
        const auto k = path_.slopes(n);
        // This step's last slope is the first of the step after, where its gradient so far has gathered.
        std::ranges::copy(grad_slopes_[0], grad_slopes_[form::last].begin());
        for (std::size_t i = 0; i < form::last; ++i) std::ranges::fill(grad_slopes_[i], Scalar{0});
        std::ranges::fill(grad_before_, Scalar{0});
        for (const auto& seed : inside) read_back(seed, h, k);
        unroll<form::last>([&](auto done) {
            constexpr std::size_t stage = form::last - done;
            for (std::size_t lane = 0; lane < z.size(); ++lane) {
                moved_[lane] = h * stage_slope<Tableau, stage, Scalar>(k, lane);
                state_[lane] = z[lane] + moved_[lane];
            }
            // From here grad_z_ is the gradient to this stage's state. The last stage's state is the step's result.
            if constexpr (stage != form::last) std::ranges::fill(grad_z_, Scalar{0});
            pull_back(t + static_cast<Scalar>(form::c(stage)) * h, state_, grad_slopes_[stage]);
            for (std::size_t lane = 0; lane < z.size(); ++lane) {
                unroll<stage>([&](auto j) {
                    constexpr auto weight = static_cast<Scalar>(form::a(stage, j));
                    if constexpr (weight != 0) grad_slopes_[j][lane] += h * weight * grad_z_[lane];
                });
                grad_before_[lane] += grad_z_[lane];
                grad_stretch_ += grad_z_[lane] * moved_[lane];
            }
        });
        std::swap(grad_z_, grad_before_);
    }

    /// At node 0, whose slope is the field at (begin, z0).
    void finish() { pull_back(path_.times()[0], path_.state(0), grad_slopes_[0]); }

 private:
    /// The transpose of reading z(t_n + s h) = z_n + h sum_i w_i(s) k_i.
    void read_back(const placed_gradient<Scalar>& seed, Scalar h,
                   const std::array<const Scalar*, form::slopes>& k) noexcept {
        const auto weights = dense_weights<Tableau>(seed.place.fraction);
        for (std::size_t lane = 0; lane < seed.grad_z.size(); ++lane) {
            const Scalar grad = seed.grad_z[lane];
            Scalar moved = 0;
            unroll<form::slopes>([&](auto i) {
                grad_slopes_[i][lane] += h * weights[i] * grad;
                moved += h * weights[i] * k[i][lane];
            });
            grad_before_[lane] += grad;
            grad_stretch_ += grad * moved;
        }
    }

    /// The transpose of k = f(t, z), into grad_z_ and the parameters.
    void pull_back(Scalar t, std::span<const Scalar> z, std::span<const Scalar> grad_slope) {
        // A slope that nothing read, such as the one at the end of the last step, needs no call.
        if (std::ranges::all_of(grad_slope, [](Scalar g) { return g == 0; })) return;
        const Scalar grad_t = field_.vjp(t, z, grad_slope, grad_z_, grad_parameters_);
        grad_stretch_ += (t - path_.times()[0]) * grad_t;
    }

    const trajectory<Tableau, Scalar>& path_;
    Field& field_;
    std::span<Scalar> grad_parameters_;
    std::vector<Scalar> memory_;
    std::array<std::span<Scalar>, form::slopes> grad_slopes_;
    std::span<Scalar> grad_z_, grad_before_, state_, moved_;
    Scalar grad_stretch_ = 0;
};

}  // namespace cordage
