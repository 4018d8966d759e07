// SPDX-License-Identifier: MIT
// Two matrices in a row with something between them, at the speed of the cache; serves the stage clex.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <vector>

#include "cordage/core/index.hpp"
#include "cordage/ode/unroll.hpp"

namespace cordage::clex_detail {

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
    using matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
    using column = Eigen::Array<Scalar, Eigen::Dynamic, 1>;

    panel_pair(const matrix& first, const matrix& second, index_t first_units = 0, index_t second_units = 0)
        : ends_(static_cast<std::size_t>(first.cols())),
          ends_padded_(padded(ends_, rows)),
          panels_(padded(static_cast<std::size_t>(first.rows()), rows) / rows),
          first_units_(static_cast<std::size_t>(first_units) / rows),
          second_units_(static_cast<std::size_t>(second_units) / rows),
          in_(column::Zero(size(ends_padded_))),
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

    /// Where x is written before a call [ends]; the rest stays zero.
    Scalar* in() noexcept { return in_.data(); }

    /// The product, valid until the next call [ends]. between(first_row, column [panel rows]) is called once a panel.
    template <class Between>
    const Scalar* operator()(Between&& between) {
        descending_ = !descending_;
        for (std::size_t turn = 0; turn < panels_; ++turn) {
            const std::size_t p = descending_ ? panels_ - 1 - turn : turn;
            const Scalar* m = memory_.data() + starts_[p];
            if (p < first_units_) {
                std::copy_n(in_.data() + p * rows, rows, hidden_.data());
            } else {
                product(m, in_.data(), padded(ends_, 2), hidden_.data());
                m += padded(ends_, 2) * rows;
            }
            between(p * rows, hidden_);
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
        auto total = sums_.head(size(ends_padded_));
        for (std::size_t p = 1; p < panels_; ++p) total += sums_.segment(size(p * ends_padded_), size(ends_padded_));
        return sums_.data();
    }

 private:
    static Eigen::Index size(std::size_t count) { return static_cast<Eigen::Index>(count); }

    /// One panel from a corner of a matrix, with zeros for what lies outside. Returns the place after it.
    static Scalar* store(const matrix& from, std::size_t row, std::size_t column, std::size_t columns, Scalar* to) {
        for (std::size_t c = column; c < column + columns; ++c) {
            for (std::size_t r = row; r < row + rows; ++r) {
                const bool inside = size(r) < from.rows() && size(c) < from.cols();
                *to++ = inside ? from(size(r), size(c)) : Scalar{0};
            }
        }
        return to;
    }

    std::size_t ends_, ends_padded_, panels_, first_units_, second_units_;
    column memory_;
    std::vector<std::ptrdiff_t> starts_;  // of the panels, in memory_
    column in_, hidden_, sums_;           // workspace [ends_padded], [panel rows], [panels, ends_padded]
    bool descending_ = false;
};

}  // namespace cordage::clex_detail
