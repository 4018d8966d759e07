// SPDX-License-Identifier: MIT
// The continuous adjoint, a gradient computed by a backward solve: what the gradient of cordage/ode/ is compared with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "cordage/ode/adjoint.hpp"
#include "cordage/ode/solve_adaptive.hpp"

namespace cordage::benchmarks {

using namespace ode_detail;

/// One backward solve of continuous_adjoint: the gradient lambda to the state follows
///
///   dlambda/dt = -(df/dz)^T lambda            grad_parameters = integral of (df/dparameters)^T lambda dt
///
/// with z read from the forward trajectory.
template <class Scalar>
class adjoint_flow {
 public:
    /// `state` evaluates the forward trajectory.
    adjoint_flow(recorded_field<Scalar>& field, std::function<void(Scalar, std::span<Scalar>)> state, std::size_t size)
        : field_(field), state_(std::move(state)), lambda_(size), z_(size), unread_(size) {}

    std::span<Scalar> lambda() noexcept { return lambda_; }

    void operator()(Scalar t, std::span<const Scalar> lambda, std::span<Scalar> rate) {
        state_(t, z_);
        field_.record({&t, 1}, z_);
        std::ranges::fill(rate, Scalar{0});
        field_.pull_back(0, lambda, rate);
        std::ranges::transform(rate, rate.begin(), std::negate<>{});
    }

    /// Integrates lambda from one time to another and adds the parameters' integral over that interval.
    solve_status carry(Scalar from, Scalar to, std::span<Scalar> grad_parameters, const adaptive_options& options) {
        if (from == to) return solve_status::success;
        const auto back = solve_adaptive<tsit5, Scalar>(*this, {from, to}, lambda_, options);
        if (back.status() != solve_status::success) return back.status();
        for (std::size_t n = 0; n + 1 < back.nodes(); ++n) gather(back, n, grad_parameters);
        std::ranges::copy(back.state(back.nodes() - 1), lambda_.begin());
        return back.status();
    }

 private:
    using form = fsal_form<tsit5>;

    /// The parameters' integral over one step, by the rule of the step: of the same order.
    void gather(const trajectory<tsit5, Scalar>& back, std::size_t n, std::span<Scalar> grad_parameters) {
        const Scalar t = back.times()[n], h = back.step_size(n);
        const std::size_t size = lambda_.size();
        times_.resize(form::last);
        states_.resize(form::last * size);
        for (std::size_t i = 0; i < form::last; ++i) {
            times_[i] = t + static_cast<Scalar>(form::c(i)) * h;
            state_(times_[i], std::span(states_).subspan(i * size, size));
        }
        field_.record(times_, states_);
        const auto k = back.slopes(n);
        for (std::size_t i = 0; i < form::last; ++i) {  // the weight of the last slope is 0
            stage_state<tsit5, Scalar>(i, h, back.state(n), k, z_);
            for (Scalar& lambda : z_) lambda *= -h * static_cast<Scalar>(form::b(i));
            field_.pull_back(static_cast<index_t>(i), z_, unread_);
        }
        field_.collect(grad_parameters);
    }

    recorded_field<Scalar>& field_;
    std::function<void(Scalar, std::span<Scalar>)> state_;
    std::vector<Scalar> lambda_, z_, unread_;  // [size]
    std::vector<Scalar> times_, states_;       // [stages], [stages, size]
};

/// The continuous gradient: the derivative of the exact flow through z0, up to the errors of the trajectory and of the
/// backward solve. Arguments are those of discrete_adjoint. The backward solve chooses its own steps by its
/// tolerance, independently of the forward steps.
///
/// @param options  settings of the backward solves, one between successive seeds' times, by tsit5. The error estimate
///                 covers lambda only; the parameters' integral has the order of the rule
/// @throws cordage::error unless the forward and the backward solves succeed; value_error for a seed's t or a setting;
///         shape_error for sizes. In these cases nothing is added.
/// Error: that of the trajectory between its nodes (the order of its interpolant: 4 for tsit5 and dopri5, at most 3 for
/// the other rules, 1 for linear_output) plus the tolerance's. Allocates its workspace and the backward trajectories.
template <butcher_tableau Tableau, class Scalar, class Field>
void continuous_adjoint(const trajectory<Tableau, Scalar>& path, Field&& field,
                        std::type_identity_t<std::span<const gradient_seed<Scalar>>> seeds,
                        const std::type_identity_t<gradient_sums<Scalar>>& sums, const adaptive_options& options = {}) {
    using field_type = std::remove_reference_t<Field>;
    ode_detail::validate("continuous_adjoint", options);
    validate_gradient("continuous_adjoint", path, field, seeds, sums);
    if (seeds.empty()) return;

    const Scalar begin = path.interval().begin, end = path.interval().end;
    // Added at the end, since a backward solve may fail.
    std::vector<Scalar> grad_parameters(sums.grad_parameters.size());
    std::vector<gradient_seed<Scalar>> from_the_end(seeds.begin(), seeds.end());
    std::ranges::sort(from_the_end, std::greater{}, [&](const auto& seed) { return std::abs(seed.t - begin); });
    recorder<Scalar, field_type> recorded(field);
    const auto state = [&](Scalar t, std::span<Scalar> out) {  // rounding may put a stage's time outside the trajectory
        path.at(std::clamp(t, std::min(begin, end), std::max(begin, end)), out);
    };
    adjoint_flow<Scalar> flow(recorded, state, path.size());
    for (std::size_t i = 0; i < from_the_end.size(); ++i) {
        const auto& seed = from_the_end[i];
        add_scaled<Scalar>(1, seed.grad_z, flow.lambda());
        const Scalar stop = i + 1 < from_the_end.size() ? from_the_end[i + 1].t : begin;
        const solve_status status = flow.carry(seed.t, stop, grad_parameters, options);
        if (status != solve_status::success) {
            fail<error>({"continuous_adjoint: the backward solve from t ", seed.t, " to ", stop,
                         " failed: ", name_of(status), "; ", remedy_of(status)});
        }
    }
    add_scaled<Scalar>(1, flow.lambda(), sums.grad_z0);
    add_scaled<Scalar>(1, grad_parameters, sums.grad_parameters);
}

}  // namespace cordage::benchmarks
