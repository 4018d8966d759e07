// SPDX-License-Identifier: MIT
#include "cordage/clex/panels.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace cordage;
using namespace cordage::clex_detail;

namespace {

template <class Scalar>
using matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
template <class Scalar>
using column = typename panel_pair<Scalar>::column;

/// Small integers, whose sums are exact in any order.
template <class Scalar>
matrix<Scalar> whole_numbers(index_t rows, index_t columns, int seed) {
    matrix<Scalar> out(rows, columns);
    for (index_t r = 0; r < rows; ++r) {
        for (index_t c = 0; c < columns; ++c) out(r, c) = static_cast<Scalar>((7 * r + 5 * c + seed * (r + 1)) % 9 - 4);
    }
    return out;
}

/// The same numbers in double, by columns as in Eigen.
struct in_double {
    Eigen::MatrixXd numbers;
    matrix_view view() const {
        const auto rows = static_cast<std::size_t>(numbers.rows());
        return {numbers.data(), rows, static_cast<std::size_t>(numbers.cols()), 1, rows};
    }
};
template <class Scalar>
in_double widened(const matrix<Scalar>& m) {
    return {m.template cast<double>()};
}

}  // namespace

TEST_CASE_TEMPLATE("clex/panels: second f(first x) for every size, the same bits up and down", Scalar, float, double) {
    for (const index_t ends : {1, 6, 31, 64, 65}) {
        for (const index_t hidden : {1, 16, 63, 64, 129}) {
            const auto first = whole_numbers<Scalar>(hidden, ends, 1), second = whole_numbers<Scalar>(ends, hidden, 2);
            const in_double wide_first = widened<Scalar>(first), wide_second = widened<Scalar>(second);
            panel_pair<Scalar> pair(wide_first.view(), wide_second.view());
            column<Scalar> x = column<Scalar>::Zero(static_cast<index_t>(pair.ends_padded()));
            x.head(ends) = whole_numbers<Scalar>(ends, 1, 3).array();
            const column<Scalar> expected = (second * (first * x.head(ends).matrix()).cwiseAbs2()).array();
            for (int call = 0; call < 3; ++call) {
                const Scalar* y = pair(x.data(), [](std::size_t, Scalar* h) {
                    for (std::size_t i = 0; i < panel<Scalar>::rows; ++i) h[i] *= h[i];
                });
                for (index_t i = 0; i < ends; ++i) CHECK(y[i] == expected[i]);
            }
        }
    }
}

TEST_CASE_TEMPLATE("clex/panels: sums of outer products over any count", Scalar, float, double) {
    const auto rows = static_cast<index_t>(panel<Scalar>::rows);
    for (const index_t count : {1, 63, 64, 130}) {
        const auto a = whole_numbers<Scalar>(2 * rows, count, 4), b = whole_numbers<Scalar>(rows, count, 5);
        matrix<Scalar> sums = matrix<Scalar>::Constant(2 * rows, rows, Scalar{3});
        const matrix<Scalar> expected = sums + a * b.transpose();
        add_outer_products(a.data(), static_cast<std::size_t>(2 * rows), b.data(), static_cast<std::size_t>(rows),
                           static_cast<std::size_t>(count), sums.data());
        CHECK(sums == expected);
    }
}
