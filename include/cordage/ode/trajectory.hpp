// SPDX-License-Identifier: MIT
// A solved ODE: its status, nodes and slopes, which can be evaluated at every t of the interval; serves the stage ode.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "cordage/core/bits.hpp"
#include "cordage/core/error.hpp"
#include "cordage/core/index.hpp"
#include "cordage/core/macros.hpp"
#include "cordage/ode/butcher_tableau.hpp"
#include "cordage/ode/step.hpp"

namespace cordage {

/// How a solve ended. Its trajectory can be read only after `success`.
enum class solve_status {
    success,            ///< the whole interval is solved
    max_steps_reached,  ///< the limit on steps was reached
    step_too_small,     ///< the tolerance needs steps below the resolution of t: the solution likely blows up here
    non_finite,         ///< the field or the state became infinite, NaN or close to the largest number
};

/// The status as text, for messages.
constexpr std::string_view name_of(solve_status status) {
    constexpr std::string_view names[] = {"success", "max_steps_reached", "step_too_small", "non_finite"};
    return names[static_cast<int>(status)];
}

/// Advice after a failed solve, for messages.
constexpr std::string_view remedy_of(solve_status status) {
    constexpr std::string_view remedies[] = {
        "", "raise max_steps or loosen the tolerance; a trajectory holds at most 2^28 numbers",
        "loosen the tolerance or end at an earlier t: the solution may diverge here",
        "end at an earlier t or check the field's parameters: the field or its state is not finite or close to the "
        "largest number"};
    return remedies[static_cast<int>(status)];
}

/// The cost of a solve.
struct solve_statistics {
    index_t evaluations = 0;  ///< calls of the field
    index_t accepted = 0;     ///< steps kept
    index_t rejected = 0;     ///< steps tried and dropped

    friend bool operator==(const solve_statistics&, const solve_statistics&) = default;
};

/// The interval of a solve: from `begin` to `end`, which may be less than `begin`.
template <class Scalar>
struct time_interval {
    Scalar begin;
    Scalar end;
};

/// A place in a trajectory: `fraction` in [0, 1) of the step that starts at `node`.
template <class Scalar>
struct trajectory_place {
    std::size_t node;
    Scalar fraction;
};

/// Largest number of entries of one trajectory: 2 GiB in double.
inline constexpr std::size_t most_trajectory_numbers = std::size_t{1} << 28;

/// The result of a solve. Node n has t_n and one row of memory, the step that starts there:
///
///   row n:  [ z_n | k_0 = f(t_n, z_n) | k_1 | ... ]     the last slope of the step is k_0 of row n+1
///
/// Reading throws cordage::error unless the solve succeeded, value_error outside the interval, and shape_error for
/// an `out` of another size.
template <butcher_tableau Tableau, std::floating_point Scalar = double>
class trajectory {
 public:
    using form = fsal_form<Tableau>;
    using tableau = Tableau;
    using scalar = Scalar;

    /// The largest number of steps that a trajectory of states of this size can hold.
    static constexpr std::size_t most_steps(std::size_t size) noexcept {
        const std::size_t nodes = most_trajectory_numbers / (2 + (1 + form::last) * size);
        return nodes == 0 ? 0 : nodes - 1;
    }

    solve_status status() const noexcept { return status_; }
    const solve_statistics& statistics() const noexcept { return statistics_; }
    std::size_t size() const noexcept { return size_; }                    ///< entries of a state
    std::size_t nodes() const noexcept { return times_.size(); }           ///< accepted steps + 1
    std::span<const Scalar> times() const noexcept { return times_; }      ///< t of the nodes [nodes]
    time_interval<Scalar> interval() const noexcept { return interval_; }  ///< as requested
    Scalar reached() const noexcept { return times_.back(); }              ///< the last t solved

    std::span<const Scalar> state(std::size_t node) const noexcept { return {row(node), size_}; }
    std::span<const Scalar> slope(std::size_t node) const noexcept { return {row(node) + size_, size_}; }
    Scalar step_size(std::size_t step) const noexcept { return steps_[step]; }

    /// The slopes of fsal_form of a step, each [size].
    std::array<const Scalar*, form::slopes> slopes(std::size_t step) const noexcept {
        std::array<const Scalar*, form::slopes> out{};
        for (std::size_t i = 0; i < form::last; ++i) out[i] = row(step) + (1 + i) * size_;
        out[form::last] = row(step + 1) + size_;
        return out;
    }

    /// Writes the state at t to out [size]: exactly the stored one at a node, the interpolant in between.
    void at(Scalar t, std::span<Scalar> out) const {
        const auto [node, fraction] = locate("trajectory::at", t, out.size());
        std::ranges::copy(state(node), out.begin());
        if (fraction != 0) add(node, steps_[node], ode_detail::dense_weights<Tableau>(fraction), out);
    }

    /// Writes the states at many t, in any order, to out [times, size].
    void at(std::span<const Scalar> times, std::span<Scalar> out) const {
        if (out.size() != times.size() * size_) {
            fail<shape_error>(
                {"trajectory::at: out size ", out.size(), " must be times ", times.size(), " * size ", size_});
        }
        for (const Scalar t : times) locate("trajectory::at", t, size_);
        for (std::size_t i = 0; i < times.size(); ++i) at(times[i], out.subspan(i * size_, size_));
    }

    /// Writes dz/dt of the interpolant at t to out [size]; at a node that of the field.
    void slope_at(Scalar t, std::span<Scalar> out) const {
        const auto [node, fraction] = locate("trajectory::slope_at", t, out.size());
        if (fraction == 0) {
            std::ranges::copy(slope(node), out.begin());
        } else {
            std::ranges::fill(out, Scalar{0});
            add(node, Scalar{1}, ode_detail::dense_weight_rates<Tableau>(fraction), out);
        }
    }

    /// Finds the step of t. `who` begins the messages; `out_size` is checked against size().
    trajectory_place<Scalar> locate(const char* who, Scalar t, std::size_t out_size) const {
        if (status_ != solve_status::success) {
            fail<error>({who, ": status ", name_of(status_), " must be success; the solve from t ", interval_.begin,
                         " to ", interval_.end, " ended at t ", reached(), "; ", remedy_of(status_)});
        }
        if (out_size != size_) fail<shape_error>({who, ": out size ", out_size, " must be ", size_});
        const bool forward = interval_.end >= interval_.begin;
        const Scalar low = forward ? interval_.begin : interval_.end, high = forward ? interval_.end : interval_.begin;
        if (!is_finite(t) || !(t >= low && t <= high)) {
            fail<value_error>({who, ": t ", t, " must be in [", low, ", ", high, "], the solved interval"});
        }
        const auto later = [forward](Scalar x, Scalar y) { return forward ? x < y : x > y; };
        const auto next = std::upper_bound(times_.begin(), times_.end(), t, later);
        const auto node = static_cast<std::size_t>(next - times_.begin()) - 1;
        if (t == times_[node]) return {node, Scalar{0}};
        return {node, (t - times_[node]) / steps_[node]};
    }

    // For solvers: start at a node, fill in `next_step`, accept or reject it, finish.

    /// One node, z0, whose slope the solver writes next. Reserves memory for `expected_steps`.
    trajectory(time_interval<Scalar> interval, std::span<const Scalar> z0, std::size_t expected_steps)
        : interval_(interval), size_(z0.size()) {
        times_.reserve(expected_steps + 1);
        steps_.reserve(expected_steps);
        rows_.reserve((expected_steps + 1) * row_size());
        rows_.resize(row_size());
        times_.push_back(interval.begin);
        std::ranges::copy(z0, rows_.begin());
    }

    std::span<Scalar> first_slope() noexcept { return {rows_.data() + size_, size_}; }

    /// The memory of the step after the last node. Valid until the next call.
    ode_detail::step_view<Tableau, Scalar> next_step() {
        rows_.resize((nodes() + 1) * row_size());
        Scalar* const here = rows_.data() + (nodes() - 1) * row_size();
        Scalar* const next = here + row_size();
        ode_detail::step_view<Tableau, Scalar> view{{here, size_}, {}, {next, size_}};
        for (std::size_t i = 0; i < form::last; ++i) view.slopes[i] = here + (1 + i) * size_;
        view.slopes[form::last] = next + size_;
        return view;
    }

    /// Accepts the step that was filled in, of size h, ending at t_next.
    void accept(Scalar t_next, Scalar h) {
        times_.push_back(t_next);
        steps_.push_back(h);
        ++statistics_.accepted;
    }
    void reject() noexcept { ++statistics_.rejected; }
    void count_evaluations(std::size_t count) noexcept { statistics_.evaluations += static_cast<index_t>(count); }
    void finish(solve_status status) noexcept { status_ = status; }

 private:
    std::size_t row_size() const noexcept { return (1 + form::last) * size_; }
    const Scalar* row(std::size_t node) const noexcept {
        CORDAGE_ASSERT(node < nodes());
        return rows_.data() + node * row_size();
    }

    /// out += factor * sum_i weights[i] k_i
    void add(std::size_t step, Scalar factor, const std::array<Scalar, form::slopes>& weights,
             std::span<Scalar> out) const noexcept {
        ode_detail::add_slopes<Scalar>(factor, weights, slopes(step).data(), out.data(), out);
    }

    time_interval<Scalar> interval_;
    std::size_t size_;
    std::vector<Scalar> times_;  // [nodes]
    std::vector<Scalar> steps_;  // [nodes - 1]
    std::vector<Scalar> rows_;   // [nodes, 1 + last, size], and one more row during a step
    solve_status status_ = solve_status::max_steps_reached;
    solve_statistics statistics_;
};

}  // namespace cordage
