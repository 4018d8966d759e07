// SPDX-License-Identifier: MIT
// A solved policy, any form of CLEX, as polynomials that a kernel evaluates at any t.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cordage/ode/trajectory.hpp>
#include <cordage/scaling/policy.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace basis_on_device {

using cordage::index_t;

/// A policy solved as a trajectory of log inv_freq over t or ln t.
template <class P>
concept trajectory_policy = cordage::scaling_policy<P> && requires(const P& p) {
    { p.path().nodes() } -> std::same_as<std::size_t>;
    { p.config() } -> std::same_as<const cordage::rope_config&>;
    { p.options().t_max } -> std::convertible_to<double>;
    { P::field_type::in_log_time } -> std::convertible_to<bool>;
};

/// Sizes of device_trajectory_numbers, and t_max.
struct device_trajectory_shape {
    index_t steps;
    index_t pairs;
    double t_max;
    bool in_log_time;

    static constexpr index_t coefficients = 5;  // of the polynomial of log alpha in a step
    static constexpr index_t factor_pieces = 64, factor_coefficients = 4;
};

/// The weights of dense output as polynomials: in a step z(t + s h) = z + h sum_i k_i sum_k c[i][k] s^(k+1).
template <class Path>
constexpr auto dense_coefficients() {
    using form = typename Path::form;
    constexpr bool is_linear = requires { requires Path::tableau::is_read_linearly; };
    std::array<std::array<double, 4>, form::slopes> c{};
    for (std::size_t i = 0; i < form::slopes; ++i) {
        const double b = form::b(i), quartic = form::quartic(i);
        if (is_linear) {
            c[i] = {b, 0.0, 0.0, 0.0};
        } else {
            c[i] = {0.0, 3 * b + quartic, -2 * b - 2 * quartic, quartic};
        }
    }
    if constexpr (!is_linear) {
        c[0] = {c[0][0] + 1, c[0][1] - 2, c[0][2] + 1, c[0][3]};
        auto& last = c[form::last];
        last = {last[0], last[1] - 1, last[2] + 1, last[3]};
    }
    return c;
}

/// The numbers from which a device computes a policy's basis at any t of [1, t_max], in this order:
///
///   times           [steps + 1]         t or ln t of the nodes
///   step sizes      [steps]
///   log alpha       [steps, 5, pairs]   c0 + s (c1 + s (c2 + s (c3 + s c4))), s in [0, 1] within a step
///   theta           [pairs]             inv_freq without scaling
///   factor          [64, 4]             of the attention factor, cubics in ln t over equal pieces of [0, ln t_max]
///
/// The polynomial of a step is its dense output, without further approximation. The cubics of the attention factor
/// match m and dm/dt at both ends of a piece; the constructor throws unless they are within 1e-9 of m. Computed once,
/// on the host.
class device_trajectory_numbers {
 public:
    /// @throws value_error  if the policy's attention factor is not a smooth function of t
    template <trajectory_policy Policy>
    explicit device_trajectory_numbers(const Policy& policy)
        : shape_{std::max<index_t>(static_cast<index_t>(policy.path().nodes()) - 1, 1), policy.config().pairs(),
                 policy.options().t_max, Policy::field_type::in_log_time} {
        add_steps(policy);
        for (index_t pair = 0; pair < shape_.pairs; ++pair) numbers_.push_back(policy.config().inv_freq(pair));
        add_attention_factor(policy);
    }
    const device_trajectory_shape& shape() const noexcept { return shape_; }
    std::span<const double> numbers() const noexcept { return numbers_; }

 private:
    void add(std::span<const double> more) { numbers_.insert(numbers_.end(), more.begin(), more.end()); }

    template <class Policy>
    void add_steps(const Policy& policy) {
        const auto& path = policy.path();
        const auto size = static_cast<std::size_t>(shape_.pairs);
        add(path.times());
        const bool is_one_point = path.nodes() == 1;  // t_max = 1: one step of size 0
        if (is_one_point) numbers_.push_back(path.times()[0]);
        for (index_t step = 0; step < shape_.steps; ++step) {
            numbers_.push_back(is_one_point ? 1.0 : path.step_size(static_cast<std::size_t>(step)));
        }
        for (std::size_t step = 0; step < static_cast<std::size_t>(shape_.steps); ++step) {
            const auto state = path.state(step);
            std::vector<double> start(state.begin(), state.end());
            for (std::size_t i = 0; i < size; ++i) start[i] -= policy.config().log_inv_freq(static_cast<index_t>(i));
            add(start);
            for (std::size_t power = 0; power < 4; ++power) {
                std::vector<double> sum(size);
                if (!is_one_point) add_slopes(path, step, power, sum);
                add(sum);
            }
        }
    }

    template <class Path>
    static void add_slopes(const Path& path, std::size_t step, std::size_t power, std::span<double> sum) {
        constexpr auto weights = dense_coefficients<Path>();
        const auto slopes = path.slopes(step);
        for (std::size_t k = 0; k < slopes.size(); ++k) {
            for (std::size_t i = 0; i < sum.size(); ++i) {
                sum[i] += path.step_size(step) * weights[k][power] * slopes[k][i];
            }
        }
    }

    template <class Policy>
    void add_attention_factor(const Policy& policy) {
        constexpr index_t pieces = device_trajectory_shape::factor_pieces;
        const double width = std::log(shape_.t_max) / static_cast<double>(pieces);
        const auto t_at = [&](double piece) { return std::clamp(std::exp(piece * width), 1.0, shape_.t_max); };
        const auto value = [&](double piece) {
            return cordage::attention_factor(policy, policy.config(), t_at(piece));
        };
        const auto slope = [&](double piece) {  // dm/d(piece) = dm/dt dt/d(ln t) width
            return cordage::attention_factor_rate(policy, policy.config(), t_at(piece)) * t_at(piece) * width;
        };
        for (index_t n = 0; n < pieces; ++n) {
            const auto begin = static_cast<double>(n), end = begin + 1.0;
            const double a = value(begin), b = value(end), da = slope(begin), db = slope(end);
            const double cubic[] = {a, da, 3.0 * (b - a) - 2.0 * da - db, 2.0 * (a - b) + da + db};
            for (const double s : {0.25, 0.5, 0.75}) {
                const double m = value(begin + s);
                if (std::fabs(cubic[0] + s * (cubic[1] + s * (cubic[2] + s * cubic[3])) - m) > 1e-9 * std::fabs(m)) {
                    cordage::fail<cordage::value_error>({"device_trajectory_numbers: attention_factor between t ",
                                                         t_at(begin), " and ", t_at(end),
                                                         " must be smooth to be read on a device"});
                }
            }
            add(cubic);
        }
    }

    device_trajectory_shape shape_;
    std::vector<double> numbers_;
};

/// View of device_trajectory_numbers that the caller copied to the device.
///
///   const device_trajectory_numbers numbers(policy);                                       // a clex
///   cudaMemcpyAsync(memory, numbers.numbers().data(), numbers.numbers().size_bytes(), cudaMemcpyHostToDevice, stream);
///   const device_trajectory path(numbers.shape(), memory);
class device_trajectory {
 public:
    /// @param numbers  device memory, aligned to 8 bytes
    /// @throws shape_error
    device_trajectory(const device_trajectory_shape& shape, const void* numbers)
        : shape_(shape), numbers_(static_cast<const double*>(numbers)) {
        if (numbers == nullptr || shape.steps < 1 || shape.pairs < 1) {
            cordage::fail<cordage::shape_error>({"device_trajectory: numbers must point to ", shape.steps,
                                                 " >= 1 steps of ", shape.pairs,
                                                 " >= 1 pairs in memory of the device"});
        }
        if (reinterpret_cast<std::uintptr_t>(numbers) % 8 != 0) {
            cordage::fail<cordage::shape_error>(
                {"device_trajectory: numbers ", numbers, " must be aligned to 8 bytes"});
        }
    }
    CORDAGE_HOST_DEVICE index_t pairs() const noexcept { return shape_.pairs; }
    CORDAGE_HOST_DEVICE double t_max() const noexcept { return shape_.t_max; }

    // For kernels: t in [1, t_max].

    CORDAGE_HOST_DEVICE double theta(index_t pair) const noexcept {
        return polynomials()[shape_.steps * device_trajectory_shape::coefficients * shape_.pairs + pair];
    }
    CORDAGE_HOST_DEVICE double log_alpha(double t, index_t pair) const noexcept {
        const double time = shape_.in_log_time ? std::log(t) : t;
        index_t step = 0, end = shape_.steps;  // numbers_[step] <= time, up to rounding of ln
        while (end - step > 1) {
            const index_t middle = (step + end) / 2;
            (numbers_[middle] <= time ? step : end) = middle;
        }
        const double s = (time - numbers_[step]) / numbers_[shape_.steps + 1 + step];
        return horner<device_trajectory_shape::coefficients>(
            polynomials() + step * device_trajectory_shape::coefficients * shape_.pairs + pair, shape_.pairs, s);
    }
    CORDAGE_HOST_DEVICE double attention_factor(double t) const noexcept {
        constexpr index_t pieces = device_trajectory_shape::factor_pieces;
        const double place = shape_.t_max > 1.0 ? std::log(t) / std::log(shape_.t_max) * pieces : 0.0;
        const index_t last = pieces - 1, floor = static_cast<index_t>(place);
        const index_t piece = floor < last ? floor : last;
        const double* factor = &polynomials()[(shape_.steps * device_trajectory_shape::coefficients + 1) * pairs()];
        return horner<device_trajectory_shape::factor_coefficients>(
            factor + piece * device_trajectory_shape::factor_coefficients, 1, place - static_cast<double>(piece));
    }

 private:
    CORDAGE_HOST_DEVICE const double* polynomials() const noexcept { return numbers_ + 2 * shape_.steps + 1; }

    template <index_t Count>
    CORDAGE_HOST_DEVICE static double horner(const double* first, index_t stride, double s) noexcept {
        double sum = first[(Count - 1) * stride];
        for (index_t k = Count - 2; k >= 0; --k) sum = first[k * stride] + s * sum;
        return sum;
    }

    device_trajectory_shape shape_;
    const double* numbers_;
};

}  // namespace basis_on_device
