// SPDX-License-Identifier: MIT
// The network that all CLEX fields share, W_down sigma(W_up z), with its backward; serves the stage clex.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>

#include "cordage/clex/activation.hpp"
#include "cordage/clex/weights.hpp"

namespace cordage {

/// net(z) = W_down sigma(W_up z), with the workspace for one call at a time.
template <class Scalar, activation Activation>
class clex_network {
 public:
    explicit clex_network(const clex_weights& weights)
        : up_(matrix_of(weights.up, weights.hidden, weights.pairs)),
          down_(matrix_of(weights.down, weights.pairs, weights.hidden)),
          input_(weights.hidden),
          output_(weights.hidden),
          slope_(weights.hidden),
          grad_input_(weights.hidden) {}

    index_t pairs() const noexcept { return up_.cols(); }
    index_t parameter_count() const noexcept { return 2 * up_.size(); }

    /// out = net(z); both [pairs]. Allocates nothing.
    void operator()(std::span<const Scalar> z, std::span<Scalar> out) {
        input_.matrix().noalias() = up_ * column(z);
        Activation::value(input_, output_);
        column(out).noalias() = down_ * output_.matrix();
    }

    /// grad_z += J^T grad_out, and likewise for the parameters, up then down. Allocates nothing.
    void vjp(std::span<const Scalar> z, std::span<const Scalar> grad_out, std::span<Scalar> grad_z,
             std::span<Scalar> grad_parameters) {
        input_.matrix().noalias() = up_ * column(z);
        Activation::value_and_slope(input_, output_, slope_);
        grad_input_.matrix().noalias() = down_.transpose() * column(grad_out);
        grad_input_ *= slope_;
        column(grad_z).noalias() += up_.transpose() * grad_input_.matrix();
        const auto count = static_cast<std::size_t>(up_.size());
        matrix_at(grad_parameters.first(count), up_).noalias() += grad_input_.matrix() * column(z).transpose();
        matrix_at(grad_parameters.last(count), down_).noalias() += column(grad_out) * output_.matrix().transpose();
    }

 private:
    using matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    using vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

    static matrix matrix_of(const std::vector<double>& numbers, index_t rows, index_t columns) {
        using source = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
        return Eigen::Map<const source>(numbers.data(), rows, columns).template cast<Scalar>();
    }
    static Eigen::Map<const vector> column(std::span<const Scalar> x) {
        return {x.data(), static_cast<Eigen::Index>(x.size())};
    }
    static Eigen::Map<vector> column(std::span<Scalar> x) { return {x.data(), static_cast<Eigen::Index>(x.size())}; }
    static Eigen::Map<matrix> matrix_at(std::span<Scalar> x, const matrix& shape) {
        return {x.data(), shape.rows(), shape.cols()};
    }

    matrix up_;                                                 // [hidden, pairs]
    matrix down_;                                               // [pairs, hidden]
    hidden_array<Scalar> input_, output_, slope_, grad_input_;  // [hidden]
};

}  // namespace cordage
