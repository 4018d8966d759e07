// SPDX-License-Identifier: MIT
// Coordinates of z in which a part of CLEX's network is the identity; serves the stage clex.
#pragma once

#include <Eigen/Core>
#include <Eigen/LU>
#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "cordage/clex/weights.hpp"

namespace cordage {

/// y = T (z - origin), where as many rows of T as can be are rows of W_up and the others unit vectors. In y,
///
///   dz/dt = W_down sigma(W_up x) + ...    is    dy/dt = (T W_down) sigma((W_up T^-1) T x) + ...
///
/// and the rows of W_up T^-1 that belong to T's are unit vectors, which cost nothing: with hidden = 2 pairs an
/// evaluation reads a quarter less. A Runge-Kutta rule with given steps computes the same in either coordinates, but
/// for rounding. Making T costs as much as some hundred evaluations. Its rows are the pivots of a complete LU
/// decomposition, down to 1/64 of the first, so that it is well conditioned. A template, so that only who solves
/// compiles the decomposition.
template <class Real>
class basic_clex_coordinates {
 public:
    using vector = std::vector<Real>;

    /// Those of z itself: T is the identity.
    explicit basic_clex_coordinates(index_t pairs) : origin_(static_cast<std::size_t>(pairs)) {}

    /// Those made for these weights, with y = 0 at z = origin [pairs].
    basic_clex_coordinates(const clex_weights& weights, const vector& origin)
        : origin_(origin), order_(static_cast<int>(weights.hidden)), to_(matrix::Zero(weights.pairs, weights.pairs)) {
        const auto up = matrix_at(weights.up, weights.hidden, weights.pairs);
        Eigen::FullPivLU<matrix> lu(up);
        lu.setThreshold(1.0 / 64);
        unit_rows_ = lu.rank();
        order_ = lu.permutationP();
        const matrix ordered = order_ * up;
        for (index_t k = 0; k < unit_rows_; ++k) to_.row(k) = ordered.row(k);
        for (index_t k = unit_rows_; k < weights.pairs; ++k) to_(k, lu.permutationQ().indices()(k)) = 1.0;
        from_ = to_.inverse();
        up_ = ordered * from_;
        up_.topRows(unit_rows_).setIdentity();
    }

    /// So many rows of W_up T^-1, the first ones, are unit vectors: row i is the i-th.
    index_t unit_rows() const noexcept { return unit_rows_; }
    const vector& origin() const noexcept { return origin_; }

    /// W_up T^-1 and T W_down, with the hidden units in another order.
    clex_weights weights(const clex_weights& of_z) const {
        if (is_identity()) return of_z;
        const matrix down = to_ * matrix_at(of_z.down, of_z.pairs, of_z.hidden) * order_.transpose();
        return {of_z.hidden, of_z.pairs, numbers(up_), numbers(down)};
    }

    /// The gradient to W_up and W_down, flat, from that to the weights of y.
    vector parameter_gradient(const vector& of_y, index_t hidden, index_t pairs) const {
        if (is_identity()) return of_y;
        const Eigen::Map<const matrix> up(of_y.data(), hidden, pairs), down(of_y.data() + up.size(), pairs, hidden);
        vector flat = numbers(order_.transpose() * up * from_.transpose());
        const vector rest = numbers(to_.transpose() * down * order_);
        flat.insert(flat.end(), rest.begin(), rest.end());
        return flat;
    }

    vector from_z(std::span<const Real> z) const {  ///< y = T (z - origin)
        vector moved(z.begin(), z.end());
        std::transform(z.begin(), z.end(), origin_.begin(), moved.begin(), std::minus<>{});
        return direction(moved);
    }
    vector point(std::span<const Real> y) const {  ///< z = origin + T^-1 y
        vector z = along(y);
        std::transform(z.begin(), z.end(), origin_.begin(), z.begin(), std::plus<>{});
        return z;
    }
    vector along(std::span<const Real> dy) const { return times(from_, dy); }    ///< T^-1 dy
    vector direction(std::span<const Real> dz) const { return times(to_, dz); }  ///< T dz
    vector gradient(std::span<const Real> grad_z) const {                        ///< T^-T grad_z
        return times(from_.transpose(), grad_z);
    }
    vector gradient_of_z(std::span<const Real> grad_y) const {  ///< T^T grad_y
        return times(to_.transpose(), grad_y);
    }

 private:
    using matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

    bool is_identity() const noexcept { return to_.size() == 0; }
    static Eigen::Map<const matrix> matrix_at(const vector& from, index_t rows, index_t columns) {
        return {from.data(), rows, columns};
    }
    static vector numbers(const matrix& from) { return {from.data(), from.data() + from.size()}; }
    vector times(const auto& m, std::span<const Real> x) const {
        vector out(x.begin(), x.end());
        if (is_identity()) return out;
        using column = Eigen::Matrix<Real, Eigen::Dynamic, 1>;
        const auto size = static_cast<Eigen::Index>(x.size());
        Eigen::Map<column>(out.data(), size).noalias() = m * Eigen::Map<const column>(x.data(), size);
        return out;
    }

    vector origin_;                                   // [pairs]
    Eigen::PermutationMatrix<Eigen::Dynamic> order_;  // of the hidden units
    matrix to_, from_;                                // T, T^-1 [pairs, pairs]; empty if T is the identity
    matrix up_;                                       // W_up T^-1 in that order [hidden, pairs]
    index_t unit_rows_ = 0;
};

/// The coordinates of a network in double.
using clex_coordinates = basic_clex_coordinates<double>;

}  // namespace cordage
