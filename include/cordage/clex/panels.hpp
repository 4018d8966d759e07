// SPDX-License-Identifier: MIT
// Products with two matrices in sequence and a function in between, blocked for the cache; serves the stage clex.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "cordage/core/index.hpp"

namespace cordage::clex_detail {

/// Calls body(integral_constant<size_t, i>) for i = 0 ... Count-1, so that arrays of vectors stay in registers.
template <std::size_t Count, class Body>
void unroll(Body&& body) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (body(std::integral_constant<std::size_t, I>{}), ...);
    }(std::make_index_sequence<Count>{});
}

/// Rows of a panel: as many numbers as fit into four vector registers.
template <class Scalar>
struct panel {
    using packet = typename Eigen::internal::packet_traits<Scalar>::type;
    static constexpr std::size_t lanes = Eigen::internal::unpacket_traits<packet>::size;
    static constexpr std::size_t packets = 4;
    static constexpr std::size_t rows = packets * lanes;
};

/// x rounded up to a multiple of `unit`.
constexpr std::size_t padded(std::size_t x, std::size_t unit) { return (x + unit - 1) / unit * unit; }

/// y = M x for one panel, stored by columns, or for two consecutive panels; y [Panels * panel rows], x [columns],
/// columns even, all aligned to packets. Eight independent packets of sums hide the latency of a multiplication: those
/// of two panels, or of the even and odd columns of one.
template <std::size_t Panels, class Scalar>
void product(const Scalar* m, const Scalar* x, std::size_t columns, Scalar* y) noexcept {
    using namespace Eigen::internal;
    using packet = typename panel<Scalar>::packet;
    constexpr std::size_t lanes = panel<Scalar>::lanes, packets = panel<Scalar>::packets, rows = packets * lanes;
    constexpr bool is_one = Panels == 1;
    const Scalar* const from[2] = {m, m + (is_one ? rows : columns * rows)};
    packet sum[2][packets];
    unroll<2>([&](auto half) { unroll<packets>([&](auto p) { sum[half][p] = pset1<packet>(Scalar{0}); }); });
    for (std::size_t c = 0; c < columns; c += is_one ? 2 : 1) {
        unroll<2>([&](auto half) {
            const packet factor = pset1<packet>(x[is_one ? c + half : c]);
            unroll<packets>([&](auto p) {
                sum[half][p] = pmadd(pload<packet>(from[half] + c * rows + p * lanes), factor, sum[half][p]);
            });
        });
    }
    unroll<packets>([&](auto p) {
        pstore(y + p * lanes, is_one ? padd(sum[0][p], sum[1][p]) : sum[0][p]);
        if constexpr (!is_one) pstore(y + rows + p * lanes, sum[1][p]);
    });
}

/// y = M x of one panel for Count states at once, x [Count, x_stride] and y [Count, y_stride]: a column of m is read
/// once for all of them. Count times two packets of sums.
template <std::size_t Count, class Scalar>
void products(const Scalar* m, const Scalar* x, std::size_t x_stride, std::size_t columns, Scalar* y,
              std::size_t y_stride) noexcept {
    using namespace Eigen::internal;
    using packet = typename panel<Scalar>::packet;
    constexpr std::size_t lanes = panel<Scalar>::lanes, packets = 2;
    for (std::size_t first = 0; first < panel<Scalar>::rows; first += packets * lanes) {
        const Scalar* column = m + first;
        packet sum[Count][packets];
        unroll<Count>([&](auto n) { unroll<packets>([&](auto p) { sum[n][p] = pset1<packet>(Scalar{0}); }); });
        for (std::size_t c = 0; c < columns; ++c, column += panel<Scalar>::rows) {
            packet part[packets];
            unroll<packets>([&](auto p) { part[p] = pload<packet>(column + p * lanes); });
            unroll<Count>([&](auto n) {
                const packet factor = pset1<packet>(x[n * x_stride + c]);
                unroll<packets>([&](auto p) { sum[n][p] = pmadd(part[p], factor, sum[n][p]); });
            });
        }
        unroll<Count>(
            [&](auto n) { unroll<packets>([&](auto p) { pstore(y + n * y_stride + first + p * lanes, sum[n][p]); }); });
    }
}

/// x *= y, then y = x, for the rows of one panel.
template <class Scalar>
void multiply(Scalar* x, Scalar* y) noexcept {
    using namespace Eigen::internal;
    using packet = typename panel<Scalar>::packet;
    for (std::size_t i = 0; i < panel<Scalar>::rows; i += panel<Scalar>::lanes) {
        const packet product = pmul(pload<packet>(x + i), pload<packet>(y + i));
        pstore(x + i, product);
        pstore(y + i, product);
    }
}

/// A tile of add_outer_products: sums [High rows of a_size, two packets] += sum_n b[n] a[n]^T.
template <std::size_t High, class Scalar>
void add_outer_tile(const Scalar* a, std::size_t a_size, const Scalar* b, std::size_t b_size, std::size_t count,
                    Scalar* sums) noexcept {
    using namespace Eigen::internal;
    using packet = typename panel<Scalar>::packet;
    constexpr std::size_t lanes = panel<Scalar>::lanes, wide = 2;
    packet sum[High][wide];
    unroll<High>(
        [&](auto r) { unroll<wide>([&](auto p) { sum[r][p] = ploadu<packet>(sums + r * a_size + p * lanes); }); });
    for (std::size_t n = 0; n < count; ++n, a += a_size, b += b_size) {
        packet row[wide];
        unroll<wide>([&](auto p) { row[p] = pload<packet>(a + p * lanes); });
        unroll<High>([&](auto r) {
            const packet factor = pset1<packet>(b[r]);
            unroll<wide>([&](auto p) { sum[r][p] = pmadd(row[p], factor, sum[r][p]); });
        });
    }
    unroll<High>([&](auto r) { unroll<wide>([&](auto p) { pstoreu(sums + r * a_size + p * lanes, sum[r][p]); }); });
}

/// sums [b_size, a_size] += sum_n b[n] a[n]^T for a [count, a_size] and b [count, b_size], both sizes multiples of a
/// panel's rows; sums need not be aligned. Twelve sums in registers hide the latency of a product; as many n at a time
/// as keep a and b in the L1 cache.
template <class Scalar>
void add_outer_products(const Scalar* a, std::size_t a_size, const Scalar* b, std::size_t b_size, std::size_t count,
                        Scalar* sums) noexcept {
    constexpr std::size_t wide = 2 * panel<Scalar>::lanes, high = 6, rest = 2, at_once = 32;
    for (std::size_t begin = 0; begin < count; begin += at_once) {
        const std::size_t some = std::min(at_once, count - begin);
        for (std::size_t i = 0; i < a_size; i += wide) {
            const auto add = [&, i](auto rows, std::size_t j) {
                add_outer_tile<rows>(a + begin * a_size + i, a_size, b + begin * b_size + j, b_size, some,
                                     sums + j * a_size + i);
            };
            std::size_t j = 0;
            for (; j + high <= b_size; j += high) add(std::integral_constant<std::size_t, high>{}, j);
            for (; j < b_size; j += rest) add(std::integral_constant<std::size_t, rest>{}, j);
        }
    }
}

/// A matrix in double, by rows or by columns.
struct matrix_view {
    const double* first;
    std::size_t rows, columns, row_stride, column_stride;

    matrix_view transposed() const { return {first, columns, rows, column_stride, row_stride}; }
};

/// y = second * f(first * x) with first [hidden, ends], second [ends, hidden] and f applied to whole panels of hidden
/// rows.
///
///   memory:  [ first of panel 0 | second of panel 0 | first of panel 1 | second of panel 1 | ... ]
///
/// Successive calls go through the panels in alternating order, so that each begins with the panels that the previous
/// call left in the cache. Sums have one order in both cases: equal calls give equal bits.
template <class Scalar>
class panel_pair {
    static constexpr std::size_t rows = panel<Scalar>::rows;

 public:
    using column = Eigen::Array<Scalar, Eigen::Dynamic, 1>;

    panel_pair(const matrix_view& first, const matrix_view& second)
        : ends_(first.columns),
          ends_padded_(padded(ends_, rows)),
          panels_(padded(first.rows, rows) / rows),
          hidden_(column::Zero(size(rows))),
          sums_(column::Zero(size(panels_ * ends_padded_))),
          total_(sums_.head(size(ends_padded_))) {
        memory_.resize(size(panels_ * (padded(ends_, 2) + ends_padded_) * rows));
        Scalar* to = memory_.data();
        for (std::size_t p = 0; p < panels_; ++p) {
            to = store(first, p * rows, 0, padded(ends_, 2), to);
            for (std::size_t end = 0; end < ends_padded_; end += rows) to = store(second, end, p * rows, rows, to);
        }
    }

    std::size_t ends() const noexcept { return ends_; }
    std::size_t ends_padded() const noexcept { return ends_padded_; }
    std::size_t hidden_padded() const noexcept { return panels_ * rows; }

    /// second * f(first * x), valid until the next call [ends]; x [ends_padded] with zeros at its end.
    /// between(first_row, column [panel rows]) applies f in place, once for each panel.
    template <class Between>
    const Scalar* operator()(const Scalar* x, Between&& between) {
        descending_ = !descending_;
        for (std::size_t step = 0; step < panels_; ++step) {
            const std::size_t p = descending_ ? panels_ - 1 - step : step;
            const Scalar* m = of_panel(p);
            product<1>(m, x, padded(ends_, 2), hidden_.data());
            m += padded(ends_, 2) * rows;
            between(p * rows, hidden_.data());
            Scalar* const sums = sums_.data() + p * ends_padded_;
            std::size_t end = 0;
            for (; end + 2 * rows <= ends_padded_; end += 2 * rows, m += 2 * rows * rows) {
                product<2>(m, hidden_.data(), rows, sums + end);
            }
            if (end < ends_padded_) product<1>(m, hidden_.data(), rows, sums + end);
        }
        Scalar* const total = total_.data();
        for (std::size_t end = 0; end < ends_padded_; end += panel<Scalar>::lanes) {
            auto sum = Eigen::internal::pload<typename panel<Scalar>::packet>(sums_.data() + end);
            for (std::size_t p = 1; p < panels_; ++p) {
                sum = Eigen::internal::padd(
                    sum, Eigen::internal::pload<decltype(sum)>(sums_.data() + p * ends_padded_ + end));
            }
            Eigen::internal::pstore(total + end, sum);
        }
        return total;
    }

    /// first * x for many x [count, ends_padded] into out [count, hidden_padded], panel by panel.
    void first_products(const Scalar* x, std::size_t count, Scalar* out) const {
        constexpr std::size_t at_once = 6;
        for (std::size_t p = 0; p < panels_; ++p) {
            const Scalar* const m = of_panel(p);
            const auto to = [&](std::size_t n) { return out + n * hidden_padded() + p * rows; };
            std::size_t n = 0;
            for (; n + at_once <= count; n += at_once) {
                products<at_once>(m, x + n * ends_padded_, ends_padded_, ends_, to(n), hidden_padded());
            }
            for (; n < count; ++n) product<1>(m, x + n * ends_padded_, padded(ends_, 2), to(n));
        }
    }

 private:
    /// Panel p of `first`, which that of `second` follows.
    const Scalar* of_panel(std::size_t p) const {
        return memory_.data() + p * (padded(ends_, 2) + ends_padded_) * rows;
    }

    static Eigen::Index size(std::size_t count) { return static_cast<Eigen::Index>(count); }

    /// Stores one panel from a corner of a matrix, zero-padded. Returns the address after it.
    static Scalar* store(const matrix_view& from, std::size_t row, std::size_t column, std::size_t columns,
                         Scalar* to) {
        const std::size_t filled = row < from.rows ? std::min(rows, from.rows - row) : 0;
        for (std::size_t c = column; c < column + columns; ++c, to += rows) {
            const double* const source = from.first + row * from.row_stride + c * from.column_stride;
            const std::size_t taken = c < from.columns ? filled : 0;
            for (std::size_t r = 0; r < taken; ++r) to[r] = static_cast<Scalar>(source[r * from.row_stride]);
            std::fill(to + taken, to + rows, Scalar{0});
        }
        return to;
    }

    std::size_t ends_, ends_padded_, panels_;
    column memory_;
    column hidden_, sums_, total_;  // workspace [panel rows], [panels, ends_padded], [ends_padded]
    bool descending_ = false;
};

}  // namespace cordage::clex_detail
