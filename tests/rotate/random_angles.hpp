// SPDX-License-Identifier: MIT
// Further angle sources for random cases: several axes, a basis for every row.
#pragma once

#include "cordage/angles/axis_angles.hpp"
#include "cordage/angles/free_angles.hpp"
#include "cordage/angles/summed_axes.hpp"
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

inline cordage::basis slower(const cordage::basis& b, double by = 3.0, double factor = 0.75) {
    std::vector<double> theta(b.inv_freq().begin(), b.inv_freq().end());
    for (double& t : theta) t /= by;
    return cordage::basis(theta, factor);
}

/// For each row b or, at random, another basis.
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

/// For each token b or, at random, another basis, by an index of one row or of all rows.
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

/// Every row has its own basis and positions of two axes, of one tensor for all rows or one for each.
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

/// Angles of their own, [1 or batch, tokens, pairs] at a border: near and far.
template <class T>
cordage::free_angles<T> random_free_angles(draw& d, index_t rows, index_t tokens, index_t pairs) {
    const std::span<T> phi = guarded_numbers<T>(d, 9, rows * tokens * pairs);
    for (T& angle : phi) angle = static_cast<T>(d.between(-100'000, 100'000)) / (d.coin() ? T(1000) : T(7));
    return {phi.data(), rows, tokens, pairs};
}
template <class T>
struct free_of_tokens {
    template <class F>
    static void with(draw& d, const F& f) {
        const index_t batch = d.between(1, 3), tokens = d.between(0, 5), pairs = d.between(1, 70);
        f(random_free_angles<T>(d, d.coin() ? 1 : batch, tokens, pairs), batch);
    }
};

/// Positions of three axes that rotate every pair together, by bases of all rows or by chance of each, and angles of
/// their own.
template <cordage::position_type P, bool HasRows>
struct summed3 {
    template <class F>
    static void with(draw& d, const F& f) {
        with_positions<P>(
            d, 3, [&](const cordage::basis& b, const P* ids, index_t batch, index_t rows, index_t tokens) {
                const cordage::basis one = slower(b, 2.0, 1.25), other = slower(b), two = slower(b, 5.0);
                std::vector<const cordage::basis*> bases;
                for (index_t row = 0, count = HasRows && d.coin() ? batch : 1; row < count; ++row) {
                    const bool is_first = d.coin();
                    for (index_t axis = 0; axis < 3; ++axis) {
                        bases.push_back(is_first ? (d.coin() ? &b : &one) : (d.coin() ? &other : &two));
                    }
                }
                const cordage::basis_list list(bases);
                const cordage::summed_axes<P> angles(list.of_rows(), cordage::axis_major(ids, 3, rows, tokens));
                f(angles + random_free_angles<float>(d, d.coin() ? 1 : batch, tokens, b.pairs()), batch);
            });
    }
};

/// Keys that are rotated from one basis and position to others: to - from.
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
