// SPDX-License-Identifier: MIT
// The same problem by Boost.odeint's dopri5 with dense output, over Eigen's field in float.
#pragma once

#include <Eigen/Core>
#include <boost/numeric/odeint.hpp>
#include <cmath>
#include <vector>

#include "reference_problem.hpp"

namespace cordage::benchmarks {

class boost_dopri5 {
    static constexpr int pairs = reference_problem::pairs, hidden = reference_problem::hidden;
    using state = std::vector<double>;
    using column = Eigen::Matrix<float, pairs, 1>;

 public:
    explicit boost_dopri5(const reference_problem& problem) : problem_(problem) {
        using rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
        up_ = Eigen::Map<const rows>(problem.weights.up.data(), hidden, pairs).cast<float>();
        down_ = Eigen::Map<const rows>(problem.weights.down.data(), pairs, hidden).cast<float>();
        for (int i = 0; i < pairs; ++i) {
            log_theta_[i] = static_cast<float>(problem.log_theta[static_cast<std::size_t>(i)]);
            exponent_[i] = 2.0f * static_cast<float>(i) / (2 * pairs - 2);
        }
    }

    /// z at the problem's times [reads, pairs].
    const std::vector<double>& solve(double tolerance) {
        using namespace boost::numeric::odeint;
        evaluations_ = 0;
        read_.clear();
        const auto field = [this](const state& z, state& dz, double t) {
            ++evaluations_;
            const column x = Eigen::Map<const Eigen::Matrix<double, pairs, 1>>(z.data()).cast<float>();
            Eigen::Matrix<float, hidden, 1> y =
                up_ * (x + log_theta_ - exponent_ * static_cast<float>(std::log(2 * t - 1)));
            y = y.array().tanh();
            const column out = down_ * y - exponent_ * static_cast<float>(2 / (2 * t - 1));
            Eigen::Map<Eigen::Matrix<double, pairs, 1>>(dz.data()) = out.cast<double>();
        };
        state z = problem_.log_theta;
        integrate_times(make_dense_output(tolerance, tolerance, runge_kutta_dopri5<state>()), field, z,
                        problem_.times.begin(), problem_.times.end(), 0.05,
                        [this](const state& x, double) { read_.insert(read_.end(), x.begin(), x.end()); });
        return read_;
    }
    index_t evaluations() const { return evaluations_; }

 private:
    const reference_problem& problem_;
    Eigen::Matrix<float, hidden, pairs> up_;
    Eigen::Matrix<float, pairs, hidden> down_;
    column log_theta_, exponent_;
    std::vector<double> read_;
    index_t evaluations_ = 0;
};

}  // namespace cordage::benchmarks
