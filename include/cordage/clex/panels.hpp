// SPDX-License-Identifier: MIT
// Two matrices in a row with something between them, at the speed of the cache; serves the stage clex.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "cordage/core/index.hpp"

namespace cordage::clex_detail {

/// Calls body(integral_constant<size_t, i>) for i = 0 ... Count-1: arrays of vectors stay in registers.
template <std::size_t Count, class Body>
void unroll(Body&& body) {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (body(std::integral_constant<std::size_t, I>{}), ...); }
    (std::make_index_sequence<Count>{});
}

/// Four vectors of the processor: so many rows of a matrix are summed at once.
template <class Scalar>
struct panel {
    using packet = typename Eigen::internal::packet_traits<Scalar>::type;
    static constexpr std::size_t lanes = Eigen::internal::unpacket_traits<packet>::size;
    static constexpr std::size_t packets = 4;
    static constexpr std::size_t rows = packets * lanes;
};

/// x rounded up to a multiple of `unit`.
constexpr std::size_t padded(std::size_t x, std::size_t unit) { return (x + unit - 1) / unit * unit; }

/// y = M x for one panel, whose columns lie one after the other; y [panel rows], x [columns], columns even. All aligned
/// to packets. Two sums a row hide the latency of a product.
template <class Scalar>
void product(const Scalar* m, const Scalar* x, std::size_t columns, Scalar* y) noexcept {
    using namespace Eigen::internal;
    using packet = typename panel<Scalar>::packet;
    constexpr std::size_t lanes = panel<Scalar>::lanes, packets = panel<Scalar>::packets;
    packet even[packets], odd[packets];
    unroll<packets>([&](auto p) { even[p] = odd[p] = pset1<packet>(Scalar{0}); });
    for (std::size_t c = 0; c < columns; c += 2, m += 2 * packets * lanes) {
        const packet x_even = pset1<packet>(x[c]), x_odd = pset1<packet>(x[c + 1]);
        unroll<packets>([&](auto p) {
            even[p] = pmadd(pload<packet>(m + p * lanes), x_even, even[p]);
            odd[p] = pmadd(pload<packet>(m + (packets + p) * lanes), x_odd, odd[p]);
        });
    }
    unroll<packets>([&](auto p) { pstore(y + p * lanes, padd(even[p], odd[p])); });
}

/// x *= factors, and the same into copy, for one panel's rows.
template <class Scalar>
void multiply(Scalar* x, const Scalar* factors, Scalar* copy) noexcept {
    using namespace Eigen::internal;
    using packet = typename panel<Scalar>::packet;
    for (std::size_t i = 0; i < panel<Scalar>::rows; i += panel<Scalar>::lanes) {
        const packet product = pmul(pload<packet>(x + i), pload<packet>(factors + i));
        pstore(x + i, product);
        pstore(copy + i, product);
    }
}

/// sums [b_size, a_size] += sum_n b[n] a[n]^T for a [count, a_size] and b [count, b_size], both sizes multiples of a
/// panel's rows. So many n at a time as leave a and b in the nearest cache.
template <class Scalar>
void add_outer_products(const Scalar* a, std::size_t a_size, const Scalar* b, std::size_t b_size, std::size_t count,
                        Scalar* sums) noexcept {
    using namespace Eigen::internal;
    using packet = typename panel<Scalar>::packet;
    constexpr std::size_t lanes = panel<Scalar>::lanes, wide = 2, high = 4, at_once = 64;
    for (std::size_t begin = 0; begin < count; begin += at_once) {
        const std::size_t end = std::min(begin + at_once, count);
        for (std::size_t j = 0; j < b_size; j += high) {
            for (std::size_t i = 0; i < a_size; i += wide * lanes) {
                packet sum[high][wide];
                Scalar* const to = sums + j * a_size + i;
                unroll<high>([&](auto r) {
                    unroll<wide>([&](auto p) { sum[r][p] = pload<packet>(to + r * a_size + p * lanes); });
                });
                for (std::size_t n = begin; n < end; ++n) {
                    packet row[wide];
                    unroll<wide>([&](auto p) { row[p] = pload<packet>(a + n * a_size + i + p * lanes); });
                    unroll<high>([&](auto r) {
                        const packet factor = pset1<packet>(b[n * b_size + j + r]);
                        unroll<wide>([&](auto p) { sum[r][p] = pmadd(row[p], factor, sum[r][p]); });
                    });
                }
                unroll<high>(
                    [&](auto r) { unroll<wide>([&](auto p) { pstore(to + r * a_size + p * lanes, sum[r][p]); }); });
            }
        }
    }
}

/// A matrix in double, by rows or by columns.
struct matrix_view {
    const double* first;
    std::size_t rows, columns, row_stride, column_stride;

    matrix_view transposed() const { return {first, columns, rows, column_stride, row_stride}; }
};

/// y = second * f(first * x) with first [hidden, ends], second [ends, hidden] and f of whole panels of hidden rows.
///
///   memory:  [ first of panel 0 | second of panel 0 | first of panel 1 | second of panel 1 | ... ]
///
/// Calls walk the panels up and down in turn, so that what the last call read last is still in the nearest cache. The
/// sums are formed in one order either way: equal calls give equal bits. Whole panels at the beginning where `first` is
/// the identity, or `second` is, are neither stored nor read.
template <class Scalar>
class panel_pair {
    static constexpr std::size_t rows = panel<Scalar>::rows;

 public:
    using column = Eigen::Array<Scalar, Eigen::Dynamic, 1>;

    panel_pair(const matrix_view& first, const matrix_view& second, index_t first_units = 0, index_t second_units = 0)
        : ends_(first.columns),
          ends_padded_(padded(ends_, rows)),
          panels_(padded(first.rows, rows) / rows),
          first_units_(static_cast<std::size_t>(first_units) / rows),
          second_units_(static_cast<std::size_t>(second_units) / rows),
          hidden_(column::Zero(size(rows))),
          sums_(column::Zero(size(panels_ * ends_padded_))) {
        memory_.resize(size(panels_ * (padded(ends_, 2) + ends_padded_) * rows));
        Scalar* to = memory_.data();
        for (std::size_t p = 0; p < panels_; ++p) {
            starts_.push_back(to - memory_.data());
            if (p >= first_units_) to = store(first, p * rows, 0, padded(ends_, 2), to);
            if (p < second_units_) continue;
            for (std::size_t end = 0; end < ends_padded_; end += rows) to = store(second, end, p * rows, rows, to);
        }
    }

    std::size_t ends() const noexcept { return ends_; }
    std::size_t ends_padded() const noexcept { return ends_padded_; }
    std::size_t hidden_padded() const noexcept { return panels_ * rows; }

    /// second * f(first * x), valid until the next call [ends]; x [ends_padded] with zeros at its end.
    /// between(first_row, column [panel rows]) is f in place, called once a panel.
    template <class Between>
    const Scalar* operator()(const Scalar* x, Between&& between) {
        descending_ = !descending_;
        for (std::size_t turn = 0; turn < panels_; ++turn) {
            const std::size_t p = descending_ ? panels_ - 1 - turn : turn;
            const Scalar* m = multiply_first(p, x, hidden_.data());
            between(p * rows, hidden_.data());
            Scalar* const sums = sums_.data() + p * ends_padded_;
            if (p < second_units_) {
                std::fill_n(sums, ends_padded_, Scalar{0});
                std::copy_n(hidden_.data(), rows, sums + p * rows);
                continue;
            }
            for (std::size_t end = 0; end < ends_padded_; end += rows, m += rows * rows) {
                product(m, hidden_.data(), rows, sums + end);
            }
        }
        Scalar* const total = sums_.data();
        for (std::size_t p = 1; p < panels_; ++p) {
            const Scalar* const part = total + p * ends_padded_;
            for (std::size_t end = 0; end < ends_padded_; ++end) total[end] += part[end];
        }
        return total;
    }

    /// first * x for many x [count, ends_padded] into out [count, hidden_padded], one panel after the other.
    void first_products(const Scalar* x, std::size_t count, Scalar* out) const {
        for (std::size_t p = 0; p < panels_; ++p) {
            for (std::size_t n = 0; n < count; ++n) {
                multiply_first(p, x + n * ends_padded_, out + n * hidden_padded() + p * rows);
            }
        }
    }

 private:
    /// One panel of first * x; returns where the panel of `second` begins.
    const Scalar* multiply_first(std::size_t p, const Scalar* x, Scalar* out) const {
        const Scalar* const m = memory_.data() + starts_[p];
        if (p < first_units_) {
            std::copy_n(x + p * rows, rows, out);
            return m;
        }
        product(m, x, padded(ends_, 2), out);
        return m + padded(ends_, 2) * rows;
    }

    static Eigen::Index size(std::size_t count) { return static_cast<Eigen::Index>(count); }

    /// One panel from a corner of a matrix, with zeros for what lies outside. Returns the place after it.
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

    std::size_t ends_, ends_padded_, panels_, first_units_, second_units_;
    column memory_;
    std::vector<std::ptrdiff_t> starts_;  // of the panels, in memory_
    column hidden_, sums_;                // workspace [panel rows], [panels, ends_padded]
    bool descending_ = false;
};

}  // namespace cordage::clex_detail
