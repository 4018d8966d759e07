// SPDX-License-Identifier: MIT
// The network shared by all CLEX fields, W_down sigma(W_up z), with its backward pass; serves the stage clex.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "cordage/clex/activation.hpp"
#include "cordage/clex/panels.hpp"
#include "cordage/clex/weights.hpp"

namespace cordage {

/// net(z) = W_down sigma(W_up z), with a workspace, so that only one thread at a time may call it. Keeps z and W_up z
/// of its first 128 evaluations for the gradient: (pairs + hidden) numbers each, padded to whole panels, 96 KB in float
/// for 64 pairs and 128 hidden units. Scalar is the arithmetic of the network; states may have another type.
template <class Scalar, activation Activation>
class clex_network {
 public:
    explicit clex_network(const clex_weights& weights)
        : pairs_(static_cast<std::size_t>(weights.pairs)),
          hidden_(static_cast<std::size_t>(weights.hidden)),
          forward_(up(weights), down(weights)),
          backward_(down(weights).transposed(), up(weights).transposed()),
          wide_(forward_.ends_padded()),
          high_(forward_.hidden_padded()),
          kept_inputs_(numbers::Zero(size((most_kept + 1) * wide_))),
          kept_sums_(size((most_kept + 1) * high_)),
          shifts_(pairs_) {}

    /// The number that W_up is given for entry i of z becomes z_i - shift.
    void shift_input(index_t i, double shift) { shifts_[static_cast<std::size_t>(i)] = shift; }

    index_t pairs() const noexcept { return static_cast<index_t>(pairs_); }
    index_t parameter_count() const noexcept { return static_cast<index_t>(2 * pairs_ * hidden_); }

    /// out = net(z); both [pairs]. Allocates nothing.
    template <class From, class To>
    void operator()(std::span<const From> z, std::span<To> out) {
        if (is_recorded_) kept_ = 0, is_recorded_ = false;
        const std::size_t slot = kept_;  // evaluations beyond most_kept share one slot after the kept ones
        if (kept_ < most_kept) ++kept_;
        Scalar* const input = kept_inputs_.data() + slot * wide_;
        copy_input(z, input);
        const Scalar* y = forward_(input, [sums = kept_sums_.data() + slot * high_](std::size_t first, Scalar* column) {
            constexpr std::size_t rows = clex_detail::panel<Scalar>::rows;
            std::copy_n(column, rows, sums + first);
            clex_detail::activate<Activation>(column, rows, column);
        });
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<To>(y[i]);
    }

    /// Evaluates `count` states z [count, pairs] for later calls of pull_back, valid until the next record. Stores 2
    /// (pairs + hidden) numbers for each state, padded to whole panels.
    template <class State>
    void record(std::size_t count, std::span<const State> z) {
        count_ = count;
        for (numbers* column : {&inputs_, &grad_outputs_}) zero_grown(*column, count_ * wide_);
        for (numbers* column : {&outputs_, &slopes_}) zero_grown(*column, count_ * high_);
        for (std::size_t i = 0; i < count_; ++i) copy_input(z.subspan(i * pairs_, pairs_), inputs_.data() + i * wide_);
        forward_.first_products(inputs_.data(), take_kept(), slopes_.data());
        clex_detail::activate<Activation>(slopes_.data(), count_ * high_, outputs_.data(), slopes_.data());
    }

    /// J^T grad_out at recorded state i, [pairs], valid until the next call. Call it once for each state. Allocates
    /// nothing.
    template <class From>
    const Scalar* pull_back(index_t i, std::span<const From> grad_out) {
        const auto at = static_cast<std::size_t>(i);
        Scalar* const grad_output = grad_outputs_.data() + at * wide_;
        copy(grad_out, grad_output);
        return backward_(grad_output, [this, at](std::size_t first, Scalar* column) {
            Scalar* const slopes = slopes_.data() + at * high_ + first;  // overwritten by the gradient to W_up z
            clex_detail::multiply(column, slopes);
        });
    }

    /// grad_parameters += the sum over the calls of pull_back, up then down.
    template <class State>
    void collect(std::span<State> grad_parameters) {
        const auto half = hidden_ * pairs_;
        add_products(inputs_, wide_, pairs_, slopes_, high_, hidden_, grad_parameters.first(half));
        add_products(outputs_, high_, hidden_, grad_outputs_, wide_, pairs_, grad_parameters.last(half));
    }

 private:
    /// Maximum number of evaluations after a record whose input and W_up z are kept.
    static constexpr std::size_t most_kept = 128;

    /// Copies the kept W_up z for as many of the last recorded states as have a kept evaluation with equal input, in
    /// the same order. Returns the number of states that remain to be computed.
    std::size_t take_kept() {
        std::size_t left = count_;
        for (std::size_t slot = kept_; left > 0 && slot-- > 0;) {  // skips rejected steps
            const Scalar* const input = inputs_.data() + (left - 1) * wide_;
            if (!std::equal(input, input + pairs_, kept_inputs_.data() + slot * wide_)) continue;
            std::copy_n(kept_sums_.data() + slot * high_, high_, slopes_.data() + --left * high_);
        }
        is_recorded_ = true;
        return left;
    }

    using numbers = typename clex_detail::panel_pair<Scalar>::column;

    static Eigen::Index size(std::size_t count) { return static_cast<Eigen::Index>(count); }
    static clex_detail::matrix_view by_rows(const std::vector<double>& from, index_t rows, index_t columns) {
        const auto width = static_cast<std::size_t>(columns);
        return {from.data(), static_cast<std::size_t>(rows), width, width, 1};
    }
    static clex_detail::matrix_view up(const clex_weights& w) { return by_rows(w.up, w.hidden, w.pairs); }
    static clex_detail::matrix_view down(const clex_weights& w) { return by_rows(w.down, w.pairs, w.hidden); }
    template <class State>
    static void copy(std::span<const State> from, Scalar* to) {
        for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<Scalar>(from[i]);
    }
    template <class State>
    void copy_input(std::span<const State> z, Scalar* to) const {
        for (std::size_t i = 0; i < z.size(); ++i) to[i] = static_cast<Scalar>(double{z[i]} - shifts_[i]);
    }
    /// Resizes to at least `count` numbers; those past the first `pairs_` or `hidden_` of a row are never written, so
    /// stay 0.
    static void zero_grown(numbers& column, std::size_t count) {
        if (column.size() < size(count)) column.setZero(size(count));
    }
    /// to [rows, columns] += the sum over recorded states of b a^T, a [count, a_size] and b [count, b_size].
    template <class State>
    void add_products(const numbers& a, std::size_t a_size, std::size_t columns, const numbers& b, std::size_t b_size,
                      std::size_t rows, std::span<State> to) {
        if constexpr (std::is_same_v<State, Scalar>) {
            if (a_size == columns && b_size == rows) {
                return clex_detail::add_outer_products(a.data(), a_size, b.data(), b_size, count_, to.data());
            }
        }
        grad_.setZero(size(a_size * b_size));
        clex_detail::add_outer_products(a.data(), a_size, b.data(), b_size, count_, grad_.data());
        for (std::size_t row = 0; row < rows; ++row) {
            const Scalar* const source = grad_.data() + row * a_size;
            State* const target = to.data() + row * columns;
            for (std::size_t i = 0; i < columns; ++i) target[i] += static_cast<State>(source[i]);
        }
    }

    std::size_t pairs_, hidden_;
    clex_detail::panel_pair<Scalar> forward_, backward_;  // up and down; transposes of both
    std::size_t wide_, high_;                             // pairs and hidden, padded to whole panels
    numbers kept_inputs_, kept_sums_;                     // [most_kept + 1, wide], [most_kept + 1, high]
    std::vector<double> shifts_;                          // of the input [pairs]
    std::size_t kept_ = 0;
    bool is_recorded_ = false;       // whether record() followed the last evaluation
    numbers grad_;                   // workspace [high, wide] or [wide, high]
    std::size_t count_ = 0;          // recorded states
    numbers inputs_, grad_outputs_;  // recorded [count, wide]
    numbers outputs_, slopes_;       // recorded [count, high]
};

namespace clex_detail {

/// CRTP base of fields with one network: together with the members of Derived it models recording_field.
template <class Derived, class Scalar, activation Activation>
class field_of_network {
 public:
    index_t size() const noexcept { return network_.pairs(); }
    index_t parameter_count() const noexcept { return network_.parameter_count(); }

    /// The vjp of a single state.
    template <class State>
    void vjp(State time, std::type_identity_t<std::span<const State>> z,
             std::type_identity_t<std::span<const State>> grad_dz, std::type_identity_t<std::span<State>> grad_z,
             std::type_identity_t<std::span<State>> grad_parameters) {
        auto& self = static_cast<Derived&>(*this);
        self.record(std::span<const State>(&time, 1), z);
        self.pull_back(0, grad_dz, grad_z);
        self.collect(grad_parameters);
    }
    template <class State>
    void collect(std::span<State> grad_parameters) {
        network_.collect(grad_parameters);
    }

 protected:
    explicit field_of_network(const clex_weights& weights) : network_(weights) {}

    clex_network<Scalar, Activation> network_;
};

}  // namespace clex_detail

}  // namespace cordage
