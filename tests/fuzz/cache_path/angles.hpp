// SPDX-License-Identifier: MIT
// Angles of a run, of raw keys or of keys that are already rotated, and the angles of a plain reference for them.
#pragma once

#include <optional>
#include <random>
#include <vector>

#include "cordage/angles/angle_difference.hpp"
#include "cordage/angles/axis_angles.hpp"
#include "cordage/angles/exact_angles.hpp"
#include "cordage/rotate/cos_sin_table.hpp"
#include "exact_turn.hpp"
#include "input.hpp"
#include "run_counter.hpp"

namespace fuzz {

using cordage::index_t;

/// The rotation of a pair, without the attention factor.
struct plain_turn {
    double cos, sin;
};

/// One source of angles: a basis for all tokens, for each row or for each token, and positions of several axes.
class random_source {
 public:
    random_source() = default;
    random_source(input& in, std::mt19937_64& random, index_t batch, index_t tokens, index_t pairs, index_t axes,
                  double factor)
        : batch_(batch), tokens_(tokens), axes_(axes) {
        const bool has_one = !in.rarely(4);
        is_by_row_ = !has_one && in.coin();
        const index_t count = has_one ? 1 : is_by_row_ ? batch : 3;
        for (index_t basis = 0; basis < count; ++basis) {
            const double base = 100.0 + 1000.0 * static_cast<double>(in.between(0, 200));
            std::vector<double> theta;
            for (index_t i = 0; i < pairs; ++i) {
                theta.push_back(std::pow(base, -static_cast<double>(i) / static_cast<double>(pairs)));
            }
            bases_.emplace_back(theta, factor);
        }
        for (index_t i = 0; i < batch * tokens; ++i) {
            of_token_.push_back(static_cast<std::int32_t>(
                is_by_row_ ? i / tokens : static_cast<index_t>(random() % static_cast<std::size_t>(count))));
        }
        ids.resize(static_cast<std::size_t>(axes * batch * tokens));
        for (index_t pair = 0; pair < pairs; ++pair) {
            axis_of_pair_.push_back(static_cast<std::uint8_t>(random() % static_cast<std::size_t>(axes)));
        }
    }

    std::vector<double> ids;  ///< [axes, batch, tokens]

    /// A copy of the bases and positions.
    bool is_same_at(const random_source& other, index_t i) const {
        for (index_t axis = 0; axis < axes_; ++axis) {
            if (id(i, axis) != other.id(i, axis)) return false;
        }
        return std::ranges::equal(basis(i).inv_freq(), other.basis(i).inv_freq()) &&
               basis(i).attention_factor() == other.basis(i).attention_factor();
    }
    bool is_zero_at(index_t i) const {
        for (index_t axis = 0; axis < axes_; ++axis) {
            if (id(i, axis) != 0.0) return false;
        }
        return basis(i).attention_factor() == 1.0;
    }
    /// Rotation of token i, counted over the rows.
    turn at(index_t i, index_t pair) const { return fuzz::turn_of(id(i, axis(pair)), theta(i, pair)); }
    plain_turn turn_of(index_t i, index_t pair) const {
        const turn a = at(i, pair);
        return {static_cast<double>(a.cos), static_cast<double>(a.sin)};
    }
    double factor(index_t i) const { return basis(i).attention_factor(); }
    double theta(index_t i, index_t pair) const { return basis(i).inv_freq()[static_cast<std::size_t>(pair)]; }
    double id(index_t i, index_t axis) const { return ids[static_cast<std::size_t>(axis * batch_ * tokens_ + i)]; }
    index_t axis(index_t pair) const { return axis_of_pair_[static_cast<std::size_t>(pair)]; }
    index_t basis_of(index_t i) const { return of_token_[static_cast<std::size_t>(i)]; }
    index_t bases() const { return std::ssize(bases_); }
    index_t pairs() const { return std::ssize(axis_of_pair_); }
    index_t tokens() const { return batch_ * tokens_; }  ///< of all rows
    /// Uses the axes of another one's pairs.
    void share_axes(const random_source& other) { axis_of_pair_ = other.axis_of_pair_; }

    /// Call once: it keeps the memory that the source views.
    cordage::exact_angles<std::int32_t> exact() {
        for (const double id : ids) narrow_.push_back(static_cast<std::int32_t>(id));
        return {view_of_bases(), cordage::position_view<std::int32_t>(narrow_.data(), batch_, tokens_, tokens_)};
    }
    cordage::axis_angles<double> of_axes() {
        return {view_of_bases(), axis_of_pair_, cordage::axis_major(ids.data(), axes_, batch_, tokens_)};
    }

 private:
    const cordage::basis& basis(index_t i) const { return bases_[static_cast<std::size_t>(basis_of(i))]; }
    cordage::basis_view view_of_bases() {
        if (bases_.size() == 1) return bases_[0];
        std::vector<const cordage::basis*> chosen;
        for (const cordage::basis& b : bases_) chosen.push_back(&b);
        list_.emplace(chosen);
        return is_by_row_ ? list_->of_rows() : list_->of(std::span<const std::int32_t>(of_token_), batch_);
    }

    index_t batch_ = 1, tokens_ = 0, axes_ = 1;
    bool is_by_row_ = false;
    std::vector<cordage::basis> bases_;
    std::optional<cordage::basis_list> list_;
    std::vector<std::int32_t> of_token_, narrow_;
    std::vector<std::uint8_t> axis_of_pair_;
};

/// The sources of a run; each is compiled separately.
enum class sources { exact, moved, both, all };

/// to, or to - from.
class random_angles {
 public:
    random_angles(input& in, std::mt19937_64& random, sources which, index_t batch, index_t tokens, index_t pairs) {
        static constexpr kind of_both[] = {kind::exact, kind::moved},
                              of_all[] = {kind::exact, kind::moved, kind::axes, kind::moved_axes, kind::table};
        kind_ = which == sources::exact   ? kind::exact
                : which == sources::moved ? kind::moved
                : which == sources::both  ? in.one_of(of_both)
                                          : in.one_of(of_all);
        has_from_ = kind_ == kind::moved || kind_ == kind::moved_axes;
        const bool has_axes = kind_ == kind::axes || kind_ == kind::moved_axes;
        const index_t axes = has_axes ? in.between(1, 3) : 1;
        const double factor = in.coin() ? 1.0 : 1.25;
        to_ = random_source(in, random, batch, tokens, pairs, axes, factor);
        const bool is_one_basis = in.coin();
        if (has_from_) {
            from_ = is_one_basis ? to_ : random_source(in, random, batch, tokens, pairs, axes, in.coin() ? 1.0 : 0.8);
            from_.share_axes(to_);
        }
        // Any positions; all moved by one distance; unchanged; those of raw keys.
        const auto choice = in.between(0, 3);
        const double delta = static_cast<double>(in.between(0, 100)) - 50.0;
        met(!has_from_    ? "angles: to raw keys"
            : choice == 2 ? "angles: no move, another basis or none"
            : choice == 1 ? "angles: all moved by one delta"
                          : "angles: a move for each token");
        for (std::size_t i = 0; i < to_.ids.size(); ++i) {
            const auto some = [&] {
                const double whole = static_cast<double>(random() % 1'000'000) - 1000.0;
                return has_axes && random() % 2 == 0 ? whole + static_cast<double>(random() % 1024) / 1024.0 : whole;
            };
            to_.ids[i] = some();
            if (!has_from_ && random() % 8 == 0) to_.ids[i] = 0.0;
            if (!has_from_) continue;
            from_.ids[i] = choice == 1                        ? to_.ids[i] - delta
                           : choice == 2 || random() % 8 == 0 ? to_.ids[i]
                           : choice == 3                      ? 0.0
                                                              : some();
        }
    }

    /// Calls f with the source.
    template <sources Which, class F>
    void with(const F& f) {
        if constexpr (Which != sources::moved) {
            if (kind_ == kind::exact) return f(to_.exact());
        }
        if constexpr (Which != sources::exact) {
            if (kind_ == kind::moved) return f(to_.exact() - from_.exact());
        }
        if constexpr (Which == sources::all) {
            if (kind_ == kind::axes) return f(to_.of_axes());
            if (kind_ == kind::moved_axes) return f(to_.of_axes() - from_.of_axes());
            const cordage::cos_sin_table<float> table(to_.exact());
            return f(table.view());
        }
    }

    plain_turn turn_of(index_t i, index_t pair) const {
        const turn a = to_.at(i, pair), b = has_from_ ? from_.at(i, pair) : turn{1.0, 0.0, 0.0};
        return {static_cast<double>(a.cos * b.cos + a.sin * b.sin), static_cast<double>(a.sin * b.cos - a.cos * b.sin)};
    }
    double factor(index_t i) const { return to_.factor(i) / (has_from_ ? from_.factor(i) : 1.0); }
    /// Whether a token's rotation is the identity. (Not reported by a table.)
    bool is_identity(index_t i) const {
        return kind_ != kind::table && (has_from_ ? to_.is_same_at(from_, i) : to_.is_zero_at(i));
    }

 private:
    enum class kind { exact, moved, axes, moved_axes, table };
    kind kind_;
    bool has_from_ = false;
    random_source to_, from_;
};

}  // namespace fuzz
