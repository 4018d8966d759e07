// SPDX-License-Identifier: MIT
// The concept of a source of cos and sin, the two that need no table, and their check against a tensor; stage angles.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "cordage/angles/cos_sin.hpp"
#include "cordage/basis/basis.hpp"
#include "cordage/core/view.hpp"

namespace cordage {

/// Knows for which tensors its angles are, wherever they lie.
template <class S>
concept angles_of_tokens = requires(const S& s) {
    { s.batch() } -> std::same_as<index_t>;  // rows; 1 serves any batch
    { s.tokens() } -> std::same_as<index_t>;
    { s.pairs() } -> std::same_as<index_t>;
};

/// Gives m*cos and m*sin of the angle of every (row, token, pair), m the row's attention factor, in float or double.
template <class S>
concept angle_source = angles_of_tokens<S> && requires(const S& s, index_t i) {
    { s.attention_factor(i) } -> std::same_as<double>;  // of a row
    { s.template at<float>(i, i, i) } -> std::same_as<cos_sin<float>>;
    { s.template at<double>(i, i, i) } -> std::same_as<cos_sin<double>>;
};

/// A source that also knows the positions and frequencies behind its angles, so that gradients can flow to them:
///
///   angle(row, token, pair) = position(row, token, axis(pair)) * inv_freq(row)[pair]
template <class S>
concept differentiable_angle_source = angle_source<S> && requires(const S& s, index_t i) {
    { s.axes() } -> std::same_as<index_t>;                       // numbers that make a position; 1 for text
    { s.axis(i) } -> std::same_as<index_t>;                      // the one that turns a pair
    { s.position(i, i, i) } -> std::same_as<double>;             // of (row, token, axis)
    { s.bases() } -> std::same_as<index_t>;                      // 1, or batch() where every row has its own
    { s.inv_freq(i) } -> std::same_as<std::span<const double>>;  // of a row
};

namespace angle_detail {

template <position_type P>
void check_positions(const position_view<P>& position_ids) {
    if (position_ids.data == nullptr && position_ids.tokens > 0) {
        fail<shape_error>({"angles: position_ids.data nullptr must point to the positions"});
    }
    if (position_ids.tokens < 0 || position_ids.batch < 1 || position_ids.batch_stride < 0) {
        fail<shape_error>({"angles: position_ids [", position_ids.batch, ", ", position_ids.tokens,
                           "] with batch_stride ", position_ids.batch_stride,
                           " must have batch >= 1, tokens >= 0 and batch_stride >= 0"});
    }
    if (!is_addressable({position_ids.batch, position_ids.tokens}, {position_ids.batch_stride, 1})) {
        fail<shape_error>({"angles: position_ids [", position_ids.batch, ", ", position_ids.tokens,
                           "] with batch_stride ", position_ids.batch_stride, " must span at most 2^58 entries"});
    }
}

// Positions are reduced in 64 bits. Integers of any size are; what is not a number is no position.
template <position_type P>
bool is_position(P p) noexcept {
    if constexpr (std::is_integral_v<P>) {
        return true;
    } else {
        return is_finite(p) && std::fabs(p) < P(0x1p63);
    }
}

[[noreturn]] inline void refuse_position(const char* who, const std::string& where, double position,
                                         const char* expected) {
    fail<value_error>({who, ": position_ids[", where, "] ", position, " must be ", expected});
}
inline constexpr const char* expected_position = "finite and below 2^63 in magnitude";

// What both table-free sources share: a basis and positions, viewed.
template <position_type P>
class basis_and_positions {
 public:
    basis_and_positions(const basis& b, position_view<P> position_ids) : basis_(&b), position_ids_(position_ids) {
        angle_detail::check_positions(position_ids);
    }
    basis_and_positions(const basis&&, position_view<P>) = delete;  // both must outlive their angles
    basis_and_positions(const basis&, const std::vector<P>&&) = delete;

    index_t batch() const noexcept { return position_ids_.batch; }
    index_t tokens() const noexcept { return position_ids_.tokens; }
    index_t pairs() const noexcept { return basis_->pairs(); }
    double attention_factor(index_t = 0) const noexcept { return basis_->attention_factor(); }
    std::span<const double> inv_freq(index_t = 0) const noexcept { return basis_->inv_freq(); }
    static constexpr index_t bases() noexcept { return 1; }
    static constexpr index_t axes() noexcept { return 1; }
    static constexpr index_t axis(index_t) noexcept { return 0; }
    double position(index_t row, index_t token, index_t = 0) const noexcept {
        return static_cast<double>(position_id(row, token));
    }
    P position_id(index_t row, index_t token) const noexcept {
        return position_ids_.at(position_ids_.batch == 1 ? 0 : row, token);
    }
    /// @param first_row  of the batch that these positions are rows of, for the message
    /// @throws value_error  naming the first position that is none; one look at each, at the door of a rotation or
    /// table
    void check_positions(const char* who, index_t first_row = 0) const {
        if constexpr (!std::is_integral_v<P>) {
            for_each_position([&](index_t row, index_t token, P p) {
                if (is_position(p)) return;
                refuse_position(who, message(first_row + row, ", ", token), double{p}, expected_position);
            });
        }
    }
    std::span<const turns> turns_per_position() const noexcept { return basis_->turns_per_position(); }
    std::span<const std::uint64_t> fractions_of_turn() const noexcept { return basis_->fractions_of_turn(); }

 protected:
    template <class F>
    void for_each_position(const F& f) const {
        const index_t rows = position_ids_.batch_stride == 0 ? 1 : position_ids_.batch;
        for (index_t row = 0; row < rows; ++row) {
            for (index_t token = 0; token < position_ids_.tokens; ++token) f(row, token, position_ids_.at(row, token));
        }
    }

 private:
    const basis* basis_;
    position_view<P> position_ids_;
};

template <class T>
cos_sin<T> scaled(cos_sin<double> exact, double factor) noexcept {
    return {static_cast<T>(exact.cos * factor), static_cast<T>(exact.sin * factor)};
}

}  // namespace angle_detail

/// angle = position * inv_freq, reduced without rounding the product: the phase is within 2 pi |position| 2^-65 rad
/// (3.7e-10 at 2^31, 4.8e-8 at 2^38), so float cos and sin are right to rounding up to about 2^38; beyond, and for
/// double, that bound is the error. A view: holds no numbers, allocates nothing, and the basis and positions must
/// outlive it.
///
/// @param basis         rotary_dim/2 frequencies and the attention factor
/// @param position_ids  [tokens] or [batch, tokens], int32, int64, float or double, any sign; |position| < 2^63
template <position_type P>
class exact_angles : public angle_detail::basis_and_positions<P> {
 public:
    using angle_detail::basis_and_positions<P>::basis_and_positions;

    template <class T>
    CORDAGE_ALWAYS_INLINE cos_sin<T> at(index_t row, index_t token, index_t pair) const noexcept {
        const turns rate = this->turns_per_position()[static_cast<std::size_t>(pair)];
        const auto exact = cos_sin_of_phase(phase_of(rate, this->position_id(row, token)));
        return angle_detail::scaled<T>(exact, this->attention_factor());
    }
};

/// The common way, to reproduce what other code computed: inv_freq and position rounded to float32, their product
/// rounded to float32 (bit-equal to theirs), then cos and sin of that angle, |angle| <= 2^62. Off by 7e-3 at position
/// 10^5.
template <position_type P>
class float32_angles : public angle_detail::basis_and_positions<P> {
 public:
    using angle_detail::basis_and_positions<P>::basis_and_positions;

    /// The float32 angle itself, radians.
    float angle(index_t row, index_t token, index_t pair) const noexcept {
        return static_cast<float>(this->position_id(row, token)) *
               static_cast<float>(this->inv_freq()[static_cast<std::size_t>(pair)]);
    }

    /// @throws value_error  also for one whose angle is beyond 2^62
    void check_positions(const char* who, index_t first_row = 0) const {
        angle_detail::basis_and_positions<P>::check_positions(who, first_row);
        double fastest = 0.0;
        for (const double theta : this->inv_freq()) fastest = std::max(fastest, std::fabs(theta));
        const double farthest = fastest > 0.5 ? 0x1p62 / fastest : 0x1p63;
        this->for_each_position([&](index_t row, index_t token, P p) {
            const auto position = static_cast<double>(p);
            if (std::fabs(position) > farthest) {
                angle_detail::refuse_position(who, message(first_row + row, ", ", token), position,
                                              "such that its angles are at most 2^62");
            }
        });
    }

    template <class T>
    CORDAGE_ALWAYS_INLINE cos_sin<T> at(index_t row, index_t token, index_t pair) const noexcept {
        const auto exact = cos_sin_of(static_cast<double>(angle(row, token, pair)));
        return angle_detail::scaled<T>(exact, this->attention_factor());
    }
};

template <class Row>
exact_angles(const basis&, const Row&) -> exact_angles<std::remove_cv_t<typename Row::value_type>>;
template <class Row>
float32_angles(const basis&, const Row&) -> float32_angles<std::remove_cv_t<typename Row::value_type>>;
template <position_type P>
exact_angles(const basis&, position_view<P>) -> exact_angles<P>;
template <position_type P>
float32_angles(const basis&, position_view<P>) -> float32_angles<P>;

}  // namespace cordage
