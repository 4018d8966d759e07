// SPDX-License-Identifier: MIT
// The released scheme written with Eigen and no library: the baseline of CLEX's benchmarks.
#pragma once

#include <Eigen/Core>
#include <cmath>

#include "reference_problem.hpp"

namespace cordage::benchmarks {

/// The 3/8 rule in 1500 steps, sizes known at compile time, sums in Scalar. For the gradient all inputs and outputs of
/// the network are kept, and the gradient of each weight matrix is one product at the end.
template <class Scalar>
class plain_eigen {
    static constexpr int pairs = reference_problem::pairs, hidden = reference_problem::hidden, steps = 1500;
    static constexpr int steps_a_read = 100, reads = reference_problem::reads;
    static constexpr Scalar h = Scalar{1} / steps_a_read;
    using state = Eigen::Matrix<Scalar, pairs, 1>;
    using column = Eigen::Matrix<Scalar, hidden, 1>;
    using states = Eigen::Matrix<Scalar, pairs, Eigen::Dynamic>;
    using columns = Eigen::Matrix<Scalar, hidden, Eigen::Dynamic>;

 public:
    explicit plain_eigen(const reference_problem& problem) {
        using rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
        up_ = Eigen::Map<const rows>(problem.weights.up.data(), hidden, pairs).cast<Scalar>();
        down_ = Eigen::Map<const rows>(problem.weights.down.data(), pairs, hidden).cast<Scalar>();
        for (int i = 0; i < pairs; ++i) {
            start_[i] = static_cast<Scalar>(problem.log_theta[static_cast<std::size_t>(i)]);
            exponent_[i] = Scalar(2 * i) / (2 * pairs - 2);
        }
        grads_ = Eigen::Map<const Eigen::Matrix<double, pairs, reads>>(problem.grads.data()).template cast<Scalar>();
    }

    const Eigen::Matrix<Scalar, pairs, reads>& solve() {
        return march([this](Scalar t, const state& z) {
            column y = up_ * seen(t, z);
            y = y.array().tanh();
            return state(down_ * y - exponent_ * (2 / (2 * t - 1)));
        });
    }

    void solve_with_gradient() {
        inputs_.resize(pairs, 4 * steps), grad_slopes_.resize(pairs, 4 * steps);
        outputs_.resize(hidden, 4 * steps), grad_sums_.resize(hidden, 4 * steps);
        Eigen::Index call = 0;
        march([&](Scalar t, const state& z) {
            inputs_.col(call) = seen(t, z);
            column y = up_ * inputs_.col(call);
            y = y.array().tanh();
            outputs_.col(call++) = y;
            return state(down_ * y - exponent_ * (2 / (2 * t - 1)));
        });
        const auto pull_back = [&](const state& grad) {
            grad_slopes_.col(--call) = grad;
            column g = down_.transpose() * grad;
            g.array() *= 1 - outputs_.col(call).array().square();
            grad_sums_.col(call) = g;
            return state(up_.transpose() * g);
        };
        state g = state::Zero();
        for (int step = steps; step-- > 0;) {
            if ((step + 1) % steps_a_read == 0) g += grads_.col((step + 1) / steps_a_read);
            state g1 = g * (h / 8), g2 = g * (3 * h / 8), g3 = g2;
            const state last = pull_back(g1);
            g1 += h * last, g2 -= h * last, g3 += h * last;
            const state third = pull_back(g3);
            g1 -= h / 3 * third, g2 += h * third;
            const state second = pull_back(g2);
            g1 += h / 3 * second;
            g += last + third + second + pull_back(g1);
        }
        grad_up_.noalias() = grad_sums_ * inputs_.transpose();
        grad_down_.noalias() = grad_slopes_ * outputs_.transpose();
    }

    double grad_up(int row, int pair) const { return double{grad_up_(row, pair)}; }

 private:
    template <class Field>
    const Eigen::Matrix<Scalar, pairs, reads>& march(Field&& f) {
        state z = start_;
        read_.col(0) = z;
        for (int step = 0; step < steps; ++step) {
            const Scalar t = 1 + static_cast<Scalar>(step) * h;
            const state k1 = f(t, z), k2 = f(t + h / 3, z + h / 3 * k1), k3 = f(t + 2 * h / 3, z + h * (k2 - k1 / 3));
            const state k4 = f(t + h, z + h * (k1 - k2 + k3));
            z += h / 8 * (k1 + 3 * (k2 + k3) + k4);
            if ((step + 1) % steps_a_read == 0) read_.col((step + 1) / steps_a_read) = z;
        }
        return read_;
    }
    state seen(Scalar t, const state& z) const { return z + start_ - exponent_ * std::log(2 * t - 1); }

    Eigen::Matrix<Scalar, hidden, pairs> up_, grad_up_;
    Eigen::Matrix<Scalar, pairs, hidden> down_, grad_down_;
    state start_, exponent_;  // log theta, which is also log n(1) since the base is 10000
    Eigen::Matrix<Scalar, pairs, reads> read_, grads_;
    states inputs_, grad_slopes_;
    columns outputs_, grad_sums_;
};

}  // namespace cordage::benchmarks
