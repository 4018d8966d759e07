// SPDX-License-Identifier: MIT
// The concept of an angle source: a phase, an angle, or cos and sin of every (row, token, pair); stage angles.
#pragma once

#include <concepts>
#include <cstdint>

#include "cordage/core/index.hpp"
#include "cordage/core/macros.hpp"
#include "cordage/pair/cos_sin.hpp"

namespace cordage {

/// Has batch, tokens and pairs, the sizes of the tensors to rotate.
template <class S>
concept angles_of_tokens = requires(const S& s) {
    { s.batch() } -> std::same_as<index_t>;  // rows; 1 serves any batch
    { s.tokens() } -> std::same_as<index_t>;
    { s.pairs() } -> std::same_as<index_t>;
};

/// Returns the angle of (row, token, pair) as a phase in units of 2^-64 turn, modulo one turn. The exact form.
template <class S>
concept has_phase = requires(const S& s, index_t i) {
    { s.phase(i, i, i) } -> std::same_as<std::uint64_t>;
};
/// Returns the angle in radians, as a float or a double of magnitude at most 2^62.
template <class S>
concept has_angle = requires(const S& s, index_t i) {
    { s.angle(i, i, i) } -> std::floating_point;
};
/// Returns cos and sin in float or double, times the attention factor: a table.
template <class S>
concept has_cos_sin = requires(const S& s, index_t i) {
    { s.template at<float>(i, i, i) } -> std::same_as<cos_sin<float>>;
    { s.template at<double>(i, i, i) } -> std::same_as<cos_sin<double>>;
};

/// A source of angles: the sizes, the angle, and the attention factor m(row, token) that multiplies cos and sin. A
/// source of your own is a struct of five short functions (docs/extending.md), compiled into the same loops as those
/// here:
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
/// Optional: `of_token(row, token)`, returning an object whose `phase(pair)` equals phase(row, token, pair). Loops over
/// the pairs of a token then call it once a token, which saves repeated work such as splitting a fractional position. A
/// source of one basis returns the basis's own:
///
///       auto of_token(index_t, index_t token) const { return b.phases(ids[static_cast<std::size_t>(token)] + shift); }
///
/// Optional: `void check(const char* function) const`, which throws for invalid values before anything is written.
template <class S>
concept angle_source = angles_of_tokens<S> && requires(const S& s, index_t i) {
    { s.attention_factor(i, i) } -> std::same_as<double>;
} && (has_phase<S> || has_angle<S> || has_cos_sin<S>);

/// A source that gives access to the positions and frequencies of its angles, so that gradients to them can be
/// computed:
///
///   angle(row, token, pair) = position(row, token, axis(pair)) * inv_freq(basis_index(row, token))[pair]
///
/// If positions have one axis, axes() and axis(pair) may be omitted; if all tokens have one basis, bases() and
/// basis_index(row, token). A source of several bases may have a member has_basis_of_token() that returns false, which
/// says: rows have a basis each, or equal runs of rows share one, in the order of the bases, basis_index(row, token) =
/// row * bases() / batch(). Gradients to frequencies then take less memory.
template <class S>
concept differentiable_angle_source = angles_of_tokens<S> && requires(const S& s, index_t i) {
    { s.position(i, i, i) } -> std::same_as<double>;          // of (row, token, axis)
    { s.inv_freq(i) } -> std::convertible_to<const double*>;  // of a basis, [pairs]
};

/// A source that reads its angles from memory, such as a network's output; the gradient is dL/dangle.
template <class S>
concept has_free_angles = angle_source<S> && requires { requires S::are_free; };

namespace angle_detail {

/// Whether bases, or the angles of a source, lie on a device (device_basis), where values are not checked: an invalid
/// position or basis index makes the lanes that it rotates NaN.
template <class T>
inline constexpr bool lie_on_device = requires { requires T::is_on_device; };

/// Whether every pair is rotated by the sum over all axes, each with its own basis, of index basis_index + axis.
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
/// Number of bases that rotate a token; their indices are consecutive, starting at basis_of.
template <class S>
CORDAGE_HOST_DEVICE constexpr index_t bases_of_token(const S& source) noexcept {
    return sums_axes<S> ? axes_of(source) : 1;
}
template <class S>
CORDAGE_HOST_DEVICE constexpr index_t basis_of(const S& source, index_t row, index_t token) noexcept {
    if constexpr (requires { source.basis_index(row, token); }) return source.basis_index(row, token);
    return 0;
}

/// Whether the tokens of a row may have different bases. A source that does not say so may have such tokens.
template <class S>
constexpr bool has_basis_of_token(const S& source) noexcept {
    if constexpr (requires { source.has_basis_of_token(); }) return source.has_basis_of_token();
    return bases_of(source) > bases_of_token(source);
}

/// The phase of one pair, from any form of source.
template <class S>
CORDAGE_HOST_DEVICE CORDAGE_ALWAYS_INLINE std::uint64_t phase_at(const S& source, index_t row, index_t token,
                                                                 index_t pair) noexcept {
    if constexpr (has_phase<S>) {
        return source.phase(row, token, pair);
    } else {
        return phase_of_angle(source.angle(row, token, pair));
    }
}

/// The attention factor whose gradient is computed; for a sum, that of the first source.
template <class S>
CORDAGE_ALWAYS_INLINE double factor_of_basis(const S& source, index_t row, index_t token) noexcept {
    if constexpr (requires { source.factor_of_basis(row, token); }) return source.factor_of_basis(row, token);
    return source.attention_factor(row, token);
}
/// Whether the input of a source on a device is valid for a pair; true if the source has no such test.
template <class S>
CORDAGE_HOST_DEVICE bool is_valid_pair(const S& source, index_t row, index_t token, index_t pair) noexcept {
    if constexpr (requires { source.is_valid(row, token, pair); }) return source.is_valid(row, token, pair);
    return true;
}

/// Whether the rotation of a token is the identity: its phases are 0 and its factor is 1.
template <class S>
CORDAGE_ALWAYS_INLINE bool is_identity(const S& source, index_t row, index_t token) noexcept {
    if constexpr (requires { source.is_identity(row, token); }) {
        return source.is_identity(row, token);
    } else if constexpr (has_cos_sin<S>) {
        for (index_t pair = 0; pair < source.pairs(); ++pair) {
            const cos_sin<double> at = source.template at<double>(row, token, pair);
            if (at.cos != 1.0 || at.sin != 0.0) return false;
        }
        return true;
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
