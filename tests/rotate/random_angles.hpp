// SPDX-License-Identifier: MIT
// Sources of angles for random cases beyond exact ones: several axes, a basis for every row.
#pragma once

#include "cordage/angles/axis_angles.hpp"
#include "cordage/basis/basis_list.hpp"
#include "rotate/random_case.hpp"

namespace cordage_test {

inline std::vector<std::uint8_t> random_axes(draw& d, index_t pairs, index_t axes) {
    std::vector<std::uint8_t> axis_of_pair;
    for (index_t i = 0; i < pairs; ++i) axis_of_pair.push_back(static_cast<std::uint8_t>(d.between(0, axes - 1)));
    return axis_of_pair;
}

template <cordage::position_type P>
struct axes3 {
    template <class F>
    static void with(draw& d, const F& f) {
        with_positions<P>(
            d, 3, [&](const cordage::basis& b, const P* ids, index_t batch, index_t rows, index_t tokens) {
                const auto axis_of_pair = random_axes(d, b.pairs(), 3);
                f(cordage::axis_angles<P>(b, axis_of_pair, cordage::axis_major(ids, 3, rows, tokens)), batch);
            });
    }
};

/// For each row b or, by chance, another basis.
inline std::vector<const cordage::basis*> one_of_two(draw& d, const cordage::basis& b, const cordage::basis& other,
                                                     index_t rows) {
    std::vector<const cordage::basis*> chosen;
    for (index_t row = 0; row < rows; ++row) chosen.push_back(d.coin() ? &b : &other);
    return chosen;
}
inline cordage::basis slower(const cordage::basis& b) {
    std::vector<double> theta(b.inv_freq().begin(), b.inv_freq().end());
    for (double& t : theta) t /= 3.0;
    return cordage::basis(theta, 0.75);
}

template <cordage::position_type P>
struct rows_of_bases {
    template <class F>
    static void with(draw& d, const F& f) {
        with_positions<P>(
            d, 1, [&](const cordage::basis& b, const P* ids, index_t batch, index_t rows, index_t tokens) {
                const cordage::basis other = slower(b);
                const auto chosen = one_of_two(d, b, other, batch);
                const auto each =
                    cordage::exact_angles_of_rows<P>(chosen, cordage::position_view<P>(ids, rows, tokens, tokens));
                f(cordage::row_angles(each), batch);
            });
    }
};

/// Every row has a basis of its own and positions of two axes, of one tensor for all rows or of one each.
template <cordage::position_type P>
struct rows_of_axes {
    template <class F>
    static void with(draw& d, const F& f) {
        with_positions<P>(d, 2,
                          [&](const cordage::basis& b, const P* ids, index_t batch, index_t rows, index_t tokens) {
                              const cordage::basis other = slower(b);
                              const auto chosen = one_of_two(d, b, other, batch);
                              const auto axis_of_pair = random_axes(d, b.pairs(), 2);
                              const auto all = cordage::axis_major(ids, 2, rows, tokens);
                              std::vector<cordage::axis_angles<P>> each;
                              for (index_t row = 0; row < batch; ++row) {
                                  auto of_row = all;
                                  if (rows > 1) of_row.data += row * all.batch_stride;
                                  of_row.batch = 1;
                                  each.emplace_back(*chosen[static_cast<std::size_t>(row)], axis_of_pair, of_row);
                              }
                              f(cordage::row_angles(each), batch);
                          });
    }
};

}  // namespace cordage_test
