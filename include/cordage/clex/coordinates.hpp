// SPDX-License-Identifier: MIT
// Coordinates of z in which a part of CLEX's network is the identity; serves the stage clex.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "cordage/clex/weights.hpp"
#include "cordage/ode/step.hpp"

namespace cordage {

/// y = T (z - origin), where as many rows of T as possible are rows of W_up and the others unit vectors. In y,
///
///   dz/dt = W_down sigma(W_up x) + ...    is    dy/dt = (T W_down) sigma((W_up T^-1) T x) + ...
///
/// and the rows of W_up that were taken into T become unit vectors in W_up T^-1, which need no multiplication: with
/// hidden = 2 pairs an evaluation reads a quarter less memory. A Runge-Kutta rule with given steps gives the same
/// result in both coordinates, up to rounding. Computing T costs about as much as a hundred evaluations. The rows are
/// chosen by elimination with complete pivoting, down to 1/64 of the first pivot, so that T is well conditioned.
class clex_coordinates {
 public:
    using vector = std::vector<double>;

    /// The coordinates of z itself: T is the identity.
    explicit clex_coordinates(index_t pairs) : origin_(static_cast<std::size_t>(pairs)) {}

    /// Coordinates for these weights, with y = 0 at z = origin [pairs].
    clex_coordinates(const clex_weights& weights, const vector& origin)
        : origin_(origin), hidden_(size(weights.hidden)) {
        const std::size_t pairs = origin_.size();
        vector table = weights.up;  // rows: hidden units; columns: pairs; a pivot exchanges one row with one column
        std::vector<std::size_t> rows, columns;
        std::vector<bool> row_is_used(hidden_);
        vector open(pairs, 1.0);  // 0 for a column that has been exchanged
        double first = 0.0;
        while (rows.size() < pairs && rows.size() < hidden_) {
            std::size_t row = hidden_, column = 0;
            double largest = first / 64;
            for (std::size_t i = 0; i < hidden_; ++i) {
                if (row_is_used[i]) continue;
                const double of_row = largest_open(open, table.data() + i * pairs);
                if (of_row > largest) largest = of_row, row = i;
            }
            if (row == hidden_) break;
            while (open[column] * std::fabs(table[row * pairs + column]) != largest) ++column;
            if (rows.empty()) first = largest;
            exchange(table, row, column);
            row_is_used[row] = true, open[column] = 0.0;
            rows.push_back(row), columns.push_back(column);
        }
        unit_rows_ = static_cast<index_t>(rows.size());
        for (std::size_t i = 0; i < hidden_; ++i) {
            if (!row_is_used[i]) rows.push_back(i);
        }
        for (std::size_t j = 0; j < pairs; ++j) {
            if (open[j] != 0.0) columns.push_back(j);
        }
        to_.resize(pairs * pairs), from_.resize(pairs * pairs), up_.resize(hidden_ * pairs);
        for (std::size_t k = 0; k < pairs; ++k) {
            const bool is_row = k < size(unit_rows_);
            for (std::size_t j = 0; j < pairs; ++j) {
                to_[k * pairs + j] = is_row ? weights.up[rows[k] * pairs + j] : columns[k] == j;
                from_[columns[k] * pairs + j] = is_row ? table[rows[k] * pairs + columns[j]] : k == j;
            }
        }
        for (std::size_t h = 0; h < hidden_; ++h) {
            for (std::size_t j = 0; j < pairs; ++j) {
                up_[h * pairs + j] = h < size(unit_rows_) ? h == j : table[rows[h] * pairs + columns[j]];
            }
        }
        order_ = std::move(rows);
    }

    /// Number of leading rows of W_up T^-1 that are unit vectors: row i is the i-th unit vector.
    index_t unit_rows() const noexcept { return unit_rows_; }
    const vector& origin() const noexcept { return origin_; }

    /// W_up T^-1 and T W_down, with the hidden units in another order.
    clex_weights weights(const clex_weights& of_z) const {
        if (is_identity()) return of_z;
        const vector moved = product(to_, of_z.down, hidden_);
        vector down(moved.size());
        for (std::size_t i = 0; i < down.size(); ++i) down[i] = moved[i / hidden_ * hidden_ + order_[i % hidden_]];
        return {of_z.hidden, of_z.pairs, up_, down};
    }

    /// The gradient with respect to W_up and W_down, flat, from that with respect to the weights in coordinates y.
    vector parameter_gradient(const vector& of_y) const {
        if (is_identity()) return of_y;
        const std::size_t pairs = origin_.size(), half = hidden_ * pairs;
        const vector of_up(of_y.begin(), of_y.begin() + static_cast<std::ptrdiff_t>(half));
        const vector of_down(of_y.begin() + static_cast<std::ptrdiff_t>(half), of_y.end());
        const vector up = product(of_up, transposed(from_), pairs), down = product(transposed(to_), of_down, hidden_);
        vector flat(of_y.size());
        for (std::size_t i = 0; i < half; ++i) {
            flat[order_[i / pairs] * pairs + i % pairs] = up[i];
            flat[half + i / hidden_ * hidden_ + order_[i % hidden_]] = down[i];
        }
        return flat;
    }

    vector from_z(std::span<const double> z) const {  ///< y = T (z - origin)
        vector moved(z.begin(), z.end());
        for (std::size_t i = 0; i < moved.size(); ++i) moved[i] -= origin_[i];
        return direction(moved);
    }
    vector point(std::span<const double> y) const {  ///< z = origin + T^-1 y
        vector z = along(y);
        for (std::size_t i = 0; i < z.size(); ++i) z[i] += origin_[i];
        return z;
    }
    vector along(std::span<const double> dy) const { return times(from_, dy); }    ///< T^-1 dy
    vector direction(std::span<const double> dz) const { return times(to_, dz); }  ///< T dz
    vector gradient(std::span<const double> grad_z) const {                        ///< T^-T grad_z
        return times(transposed(from_), grad_z);
    }
    vector gradient_of_z(std::span<const double> grad_y) const {  ///< T^T grad_y
        return times(transposed(to_), grad_y);
    }

 private:
    bool is_identity() const noexcept { return to_.empty(); }
    static std::size_t size(index_t count) noexcept { return static_cast<std::size_t>(count); }

    /// The largest |open[j] row[j]|, in eight running maxima, so that compilers vectorise.
    static double largest_open(const vector& open, const double* row) {
        double largest[8] = {};
        const std::size_t whole = open.size() / 8 * 8;
        const auto look_at = [&](std::size_t j, double& so_far) {
            const double here = open[j] * std::fabs(row[j]);
            so_far = here > so_far ? here : so_far;
        };
        for (std::size_t j = 0; j < whole; j += 8) {
            for (std::size_t lane = 0; lane < 8; ++lane) look_at(j + lane, largest[lane]);
        }
        for (std::size_t j = whole; j < open.size(); ++j) look_at(j, largest[0]);
        return *std::max_element(largest, largest + 8);
    }

    /// In outputs = table * inputs, exchanges output `row` and input `column`.
    void exchange(vector& table, std::size_t row, std::size_t column) const {
        const std::size_t pairs = origin_.size();
        double* const pivot_row = table.data() + row * pairs;
        const double pivot = pivot_row[column];
        for (std::size_t j = 0; j < pairs; ++j) pivot_row[j] /= -pivot;
        pivot_row[column] = 1.0 / pivot;
        for (std::size_t i = 0; i < hidden_; ++i) {
            if (i == row) continue;
            double* const other = table.data() + i * pairs;
            const double factor = other[column];
            other[column] = 0.0;
            ode_detail::add_scaled<double>(factor, {pivot_row, pairs}, {other, pairs});
        }
    }

    /// a [rows, inner] times b [inner, columns].
    static vector product(const vector& a, const vector& b, std::size_t columns) {
        const std::size_t inner = b.size() / columns;
        vector out(a.size() / inner * columns);
        for (std::size_t i = 0; i < a.size(); ++i) {
            ode_detail::add_scaled<double>(a[i], {b.data() + i % inner * columns, columns},
                                           {out.data() + i / inner * columns, columns});
        }
        return out;
    }
    vector transposed(const vector& square) const {
        if (is_identity()) return {};
        const auto pairs = static_cast<index_t>(origin_.size());
        return clex_detail::transposed("clex_coordinates", square, pairs, pairs);
    }
    vector times(const vector& square, std::span<const double> x) const {
        vector out(x.begin(), x.end());
        for (std::size_t i = 0; i < out.size() && !is_identity(); ++i) {
            out[i] = ode_detail::dot<double>(x, square.data() + i * x.size());
        }
        return out;
    }

    vector origin_;                   // [pairs]
    std::size_t hidden_ = 0;          // 0, and the members below empty, if T is the identity
    std::vector<std::size_t> order_;  // permutation of the hidden units [hidden]
    vector to_, from_;                // T, T^-1 [pairs, pairs]
    vector up_;                       // W_up T^-1 in that order [hidden, pairs]
    index_t unit_rows_ = 0;
};

}  // namespace cordage
