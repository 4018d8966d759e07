// SPDX-License-Identifier: MIT
// What a source of angles is: a phase, an angle or a cos and sin of every (row, token, pair); stage angles.
#pragma once

#include <concepts>
#include <cstdint>

#include "cordage/core/index.hpp"
#include "cordage/core/macros.hpp"
#include "cordage/pair/cos_sin.hpp"

namespace cordage {

/// Knows for which tensors its angles are, wherever they lie.
template <class S>
concept angles_of_tokens = requires(const S& s) {
    { s.batch() } -> std::same_as<index_t>;  // rows; 1 serves any batch
    { s.tokens() } -> std::same_as<index_t>;
    { s.pairs() } -> std::same_as<index_t>;
};

/// Says the angle of (row, token, pair) as a phase in units of 2^-64 turn, modulo one turn. The form that loses
/// nothing.
template <class S>
concept has_phase = requires(const S& s, index_t i) {
    { s.phase(i, i, i) } -> std::same_as<std::uint64_t>;
};
/// Says it in radians, as a float or a double of at most 2^62.
template <class S>
concept has_angle = requires(const S& s, index_t i) {
    { s.angle(i, i, i) } -> std::floating_point;
};
/// Says its cos and sin in float or double, times the attention factor: a table.
template <class S>
concept has_cos_sin = requires(const S& s, index_t i) {
    { s.template at<float>(i, i, i) } -> std::same_as<cos_sin<float>>;
    { s.template at<double>(i, i, i) } -> std::same_as<cos_sin<double>>;
};

/// A source of angles: for which tokens, which angle, and the attention factor m(row, token) that multiplies cos and
/// sin. A source of one's own is a struct of five short functions (docs/extending.md) and runs as fast as those here:
///
///   struct shifted_angles {
///       const basis& b;
///       std::span<const int> ids;
///       int shift;
///       index_t batch() const { return 1; }
///       index_t tokens() const { return std::ssize(ids); }
///       index_t pairs() const { return b.pairs(); }
///       double attention_factor(index_t, index_t) const { return b.attention_factor(); }
///       std::uint64_t phase(index_t, index_t token, index_t pair) const {
///           return b.phase(pair, ids[static_cast<std::size_t>(token)] + shift);
///       }
///   };
///
/// With `of_token(row, token)`, an object whose `phase(pair)` is phase(row, token, pair), loops over the pairs of a
/// token ask that one: what such a loop need not do again, as to split a fractional position, is done once a token. A
/// source of one basis takes it from the basis:
///
///       auto of_token(index_t, index_t token) const { return b.phases(ids[static_cast<std::size_t>(token)] + shift); }
///
/// With `void check(const char* function) const` it throws for values that are not valid, before anything is written.
template <class S>
concept angle_source = angles_of_tokens<S> && requires(const S& s, index_t i) {
    { s.attention_factor(i, i) } -> std::same_as<double>;
} &&(has_phase<S> || has_angle<S> || has_cos_sin<S>);

/// A source that also knows the positions and frequencies behind its angles, so that gradients can flow to them:
///
///   angle(row, token, pair) = position(row, token, axis(pair)) * inv_freq(basis_index(row, token))[pair]
///
/// Where a position has one axis, axes() and axis(pair) may be left out; where all tokens have one basis, bases() and
/// basis_index(row, token).
template <class S>
concept differentiable_angle_source = angles_of_tokens<S> && requires(const S& s, index_t i) {
    { s.position(i, i, i) } -> std::same_as<double>;          // of (row, token, axis)
    { s.inv_freq(i) } -> std::convertible_to<const double*>;  // of a basis, [pairs]
};

/// A source whose angles are numbers of their own, such as a network's output: gradients flow to the angles alone.
template <class S>
concept has_free_angles = angle_source<S> && requires {
    requires S::are_free;
};

namespace angle_detail {

/// Whether every pair is turned by all axes, each with a basis of its own: basis_index + axis.
template <class S>
inline constexpr bool sums_axes = false;
template <class S>
requires requires { requires S::sums_axes; }
inline constexpr bool sums_axes<S> = true;

template <class S>
CORDAGE_HOST_DEVICE constexpr index_t axes_of(const S& source) noexcept {
    if constexpr (requires { source.axes(); }) return source.axes();
    return 1;
}
template <class S>
CORDAGE_HOST_DEVICE constexpr index_t axis_of(const S& source, index_t pair) noexcept {
    if constexpr (requires { source.axis(pair); }) return source.axis(pair);
    return 0;
}
template <class S>
CORDAGE_HOST_DEVICE constexpr index_t bases_of(const S& source) noexcept {
    if constexpr (requires { source.bases(); }) return source.bases();
    return 1;
}
/// How many bases turn a token, one after the other from basis_of on.
template <class S>
CORDAGE_HOST_DEVICE constexpr index_t bases_of_token(const S& source) noexcept {
    return sums_axes<S> ? axes_of(source) : 1;
}
template <class S>
CORDAGE_HOST_DEVICE constexpr index_t basis_of(const S& source, index_t row, index_t token) noexcept {
    if constexpr (requires { source.basis_index(row, token); }) return source.basis_index(row, token);
    return 0;
}

/// Whether a source says that all its tokens have one basis.
template <class S>
constexpr bool has_one_basis(const S& source) noexcept {
    if constexpr (requires { source.bases(); }) return source.bases() == 1;
    return false;
}

/// The phase of one pair, whichever way the source says it.
template <class S>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE std::uint64_t phase_at(const S& source, index_t row, index_t token,
                                                                 index_t pair) noexcept {
    if constexpr (has_phase<S>) {
        return source.phase(row, token, pair);
    } else {
        return phase_of_angle(source.angle(row, token, pair));
    }
}

/// Whether a token's rotation changes nothing: its phases are 0 and its factor is 1.
template <class S>
CORDAGE_ALWAYS_INLINE bool is_identity(const S& source, index_t row, index_t token) noexcept {
    if constexpr (has_cos_sin<S>) {
        return false;
    } else {
        std::uint64_t any = 0;
        for (index_t pair = 0; pair < source.pairs(); ++pair) any |= phase_at(source, row, token, pair);
        return any == 0 && source.attention_factor(row, token) == 1.0;
    }
}

}  // namespace angle_detail

/// m*cos and m*sin of the angle of one pair, each rounded once to T.
template <class T, angle_source S>
CORDAGE_ALWAYS_INLINE cos_sin<T> cos_sin_at(const S& source, index_t row, index_t token, index_t pair) noexcept {
    if constexpr (has_cos_sin<S>) {
        return source.template at<T>(row, token, pair);
    } else {
        const double m = source.attention_factor(row, token);
        cos_sin<double> exact;
        if constexpr (has_phase<S>) {
            exact = cos_sin_of_phase(source.phase(row, token, pair));
        } else {
            exact = cos_sin_of(source.angle(row, token, pair));
        }
        return {static_cast<T>(exact.cos * m), static_cast<T>(exact.sin * m)};
    }
}

}  // namespace cordage
