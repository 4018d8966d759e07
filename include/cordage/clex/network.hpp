// SPDX-License-Identifier: MIT
// The network that all CLEX fields share, W_down sigma(W_up z), with its backward; serves the stage clex.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>

#include "cordage/clex/activation.hpp"
#include "cordage/clex/panels.hpp"
#include "cordage/clex/weights.hpp"

namespace cordage {

/// net(z) = W_down sigma(W_up z), with the workspace for one call at a time. States may be of another type than Scalar,
/// in which the network computes.
template <class Scalar, activation Activation>
class clex_network {
 public:
    /// The first unit_rows rows of W_up are those of the identity (coordinates.hpp).
    explicit clex_network(const clex_weights& weights, index_t unit_rows = 0)
        : up_(matrix_of(weights.up, weights.hidden, weights.pairs)),
          forward_(up_, matrix_of(weights.down, weights.pairs, weights.hidden), unit_rows, 0),
          backward_(matrix_of(weights.down, weights.pairs, weights.hidden).transpose(), up_.transpose(), 0, unit_rows),
          output_(clex_detail::panel<Scalar>::rows),
          unit_rows_(unit_rows) {}

    index_t pairs() const noexcept { return up_.cols(); }
    index_t hidden() const noexcept { return up_.rows(); }
    index_t parameter_count() const noexcept { return 2 * up_.size(); }

    /// out = net(z); both [pairs]. Allocates nothing.
    template <class State>
    void operator()(std::span<const State> z, std::span<State> out) {
        copy(z, forward_.in());
        const Scalar* y = forward_([this](std::size_t, hidden_array<Scalar>& column) {
            Activation::value(column, output_);
            column.swap(output_);
        });
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<State>(y[i]);
    }

    /// Looks at `count` states, z [count, pairs], which the calls of pull_back until the next record are about.
    template <class State>
    void record(index_t count, std::span<const State> z) {
        inputs_.resize(pairs(), count);
        copy(z, inputs_.data());
        sums_.resize(hidden() * count);
        auto sums = matrix_at(sums_.data(), hidden(), count);
        sums.topRows(unit_rows_) = inputs_.topRows(unit_rows_);
        sums.bottomRows(hidden() - unit_rows_).noalias() = up_.bottomRows(hidden() - unit_rows_) * inputs_;
        outputs_.resize(sums_.size());
        slopes_.resize(sums_.size());
        Activation::value_and_slope(sums_, outputs_, slopes_);
        grad_outputs_.resize(pairs(), count);
        grad_sums_.resize(hidden(), count);
    }

    /// grad_z += J^T grad_out at recorded state i, once each. Allocates nothing.
    template <class State>
    void pull_back(index_t i, std::span<const State> grad_out, std::span<State> grad_z) {
        copy(grad_out, backward_.in());
        copy(grad_out, grad_outputs_.col(i).data());
        const Scalar* y = backward_([this, i](std::size_t first, hidden_array<Scalar>& column) {
            const auto begin = static_cast<Eigen::Index>(first);
            const auto count = std::min(column.size(), hidden() - begin);
            column.head(count) *= slopes_.segment(i * hidden() + begin, count);
            grad_sums_.col(i).segment(begin, count) = column.head(count).matrix();
        });
        for (std::size_t k = 0; k < grad_z.size(); ++k) grad_z[k] += static_cast<State>(y[k]);
    }

    /// grad_parameters += what the calls of pull_back owe to them, up then down: one matrix product each.
    template <class State>
    void collect(std::span<State> grad_parameters) {
        const auto add = [&](const auto& product, std::span<State> sums) {
            grad_weights_.noalias() = product;
            for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += static_cast<State>(grad_weights_.data()[k]);
        };
        const auto half = static_cast<std::size_t>(up_.size());
        const auto outputs = matrix_at(outputs_.data(), hidden(), inputs_.cols());
        // Rows are contiguous in the parameters, columns in grad_weights_: hence the transposes.
        add(inputs_ * grad_sums_.transpose(), grad_parameters.first(half));
        add(outputs * grad_outputs_.transpose(), grad_parameters.last(half));
    }

 private:
    using matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;

    static matrix matrix_of(const std::vector<double>& numbers, index_t rows, index_t columns) {
        using source = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
        return Eigen::Map<const source>(numbers.data(), rows, columns).template cast<Scalar>();
    }
    static Eigen::Map<matrix> matrix_at(Scalar* numbers, index_t rows, index_t columns) {
        return {numbers, rows, columns};
    }
    template <class State>
    static void copy(std::span<const State> from, Scalar* to) {
        for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<Scalar>(from[i]);
    }

    matrix up_;                                           // [hidden, pairs]
    clex_detail::panel_pair<Scalar> forward_, backward_;  // up and down; their transposes
    hidden_array<Scalar> output_;                         // [panel rows]
    matrix inputs_, grad_outputs_, grad_sums_;            // recorded: [pairs, count] twice, [hidden, count]
    hidden_array<Scalar> sums_, outputs_, slopes_;        // recorded: [hidden, count]
    index_t unit_rows_;
    matrix grad_weights_;  // workspace [pairs, hidden] or [hidden, pairs]
};

}  // namespace cordage
