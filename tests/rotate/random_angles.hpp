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

inline cordage::basis slower(const cordage::basis& b) {
    std::vector<double> theta(b.inv_freq().begin(), b.inv_freq().end());
    for (double& t : theta) t /= 3.0;
    return cordage::basis(theta, 0.75);
}

/// For each row b or, by chance, another basis.
inline cordage::basis_list one_of_two(draw& d, const cordage::basis& b, const cordage::basis& other, index_t rows) {
    std::vector<const cordage::basis*> chosen;
    for (index_t row = 0; row < rows; ++row) chosen.push_back(d.coin() ? &b : &other);
    return cordage::basis_list(chosen);
}

template <cordage::position_type P>
struct rows_of_bases {
    template <class F>
    static void with(draw& d, const F& f) {
        with_positions<P>(
            d, 1, [&](const cordage::basis& b, const P* ids, index_t batch, index_t rows, index_t tokens) {
                const cordage::basis other = slower(b);
                const cordage::basis_list list = one_of_two(d, b, other, batch);
                f(cordage::exact_angles(list.of_rows(), cordage::position_view<P>(ids, rows, tokens, tokens)), batch);
            });
    }
};

/// For each token b or, by chance, another basis, by an index of one row or of one a row.
template <cordage::position_type P>
struct tokens_of_bases {
    template <class F>
    static void with(draw& d, const F& f) {
        with_positions<P>(d, 1,
                          [&](const cordage::basis& b, const P* ids, index_t batch, index_t rows, index_t tokens) {
                              const cordage::basis other = slower(b);
                              const cordage::basis_list list({&b, &other, &b});
                              const index_t index_rows = d.coin() ? 1 : batch;
                              std::vector<std::int32_t> of_token;
                              for (index_t i = 0; i < index_rows * tokens; ++i) {
                                  of_token.push_back(static_cast<std::int32_t>(d.between(0, 2)));
                              }
                              f(cordage::exact_angles(list.of(of_token, index_rows),
                                                      cordage::position_view<P>(ids, rows, tokens, tokens)),
                                batch);
                          });
    }
};

/// Every row has a basis of its own and positions of two axes, of one tensor for all rows or of one each.
template <cordage::position_type P>
struct rows_of_axes {
    template <class F>
    static void with(draw& d, const F& f) {
        with_positions<P>(
            d, 2, [&](const cordage::basis& b, const P* ids, index_t batch, index_t rows, index_t tokens) {
                const cordage::basis other = slower(b);
                const cordage::basis_list list = one_of_two(d, b, other, batch);
                const auto axis_of_pair = random_axes(d, b.pairs(), 2);
                f(cordage::axis_angles(list.of_rows(), axis_of_pair, cordage::axis_major(ids, 2, rows, tokens)), batch);
            });
    }
};

/// Keys that turn from one basis and position to others: to - from.
template <cordage::position_type P>
struct differences {
    template <class F>
    static void with(draw& d, const F& f) {
        with_positions<P>(d, 2,
                          [&](const cordage::basis& b, const P* ids, index_t batch, index_t rows, index_t tokens) {
                              const cordage::basis other = slower(b);
                              const cordage::position_view<P> now(ids, rows, tokens, tokens),
                                  before(ids + rows * tokens, rows, tokens, tokens);
                              f(cordage::exact_angles(b, now) - cordage::exact_angles(other, before), batch);
                          });
    }
};

}  // namespace cordage_test
