// SPDX-License-Identifier: MIT
// The door of the rotation: forward, its adjoint and its inverse; stage rotation.
#pragma once

#include <array>

#include "cordage/backend/default.hpp"
#include "cordage/core/executor.hpp"
#include "cordage/rotate/checks.hpp"

namespace cordage {

namespace rotate_detail {

// A slice of fewer tokens than this is not worth another thread.
inline constexpr index_t smallest_slice = 64;

template <class Pairing, class Backend, class Direction, class Executor, class Source, class T>
void rotate(const char* who, const Executor& how, const Source& angles, std::span<const operand<T>> operands) {
    check_all(who, angles, operands);
    if (has_no_elements(operands)) return;
    const index_t tokens = operands[0].x.shape.batch * operands[0].x.shape.tokens;
    using backend::rotate_range;  // or the one that stands beside a Backend of the caller's
    for_each_range(how, tokens, smallest_slice, [&](index_t begin, index_t end) noexcept {
        rotate_range<Pairing, Direction>(Backend{}, angles, operands, begin, end);
    });
}

}  // namespace rotate_detail

/// Turns the first rotary_dim lanes of every head; later lanes are copied unchanged.
///
///   (y0, y1) = m (x0 cos a - x1 sin a, x0 sin a + x1 cos a)     a = position * inv_freq[pair]
///
/// (Su et al. 2021, eq. 34)
///
///   rotate_forward<half_split>(angles, in_place(q), in_place(k));
///   rotate_forward<interleaved>(threads{4}, angles, from_to(q, rotated_q));
///
/// @tparam Pairing  half_split or interleaved: which lanes form a pair. No default; the wrong one fails silently
/// @param how       (optional; before angles) who runs it: serial, threads{n} (core/threads.hpp) or parallel_for{loop,
/// n}
/// @param angles    exact_angles, float32_angles, axis_angles, row_angles or a cos_sin_view, of [1 or batch, tokens]
/// @param first,more  one or more tensors [batch, tokens, heads, head_dim] of one type: q and k, with their own heads;
///                  y may be x itself, must not partly overlap it, and no operand may touch another's y
/// @throws shape_error  naming the shapes, before anything is written
/// @throws value_error  for a float or double position that is NaN, infinite or 2^63 and beyond, and for a factor of a
///                      table that is 0 or not finite; before anything is written too
/// Precision: fp32 arithmetic for fp32 and 16-bit types, double for double, one rounding on store. Cos and sin are made
/// once a token for all heads of all operands. Allocates nothing (threads{n} starts threads). Gradient: backward.hpp.
template <pairing Pairing, class Backend = backend::fastest, executor Executor, angle_source Source, element T,
          class... More>
requires(std::same_as<More, operand<T>>&&...) void rotate_forward(const Executor& how, const Source& angles,
                                                                  const operand<T>& first, const More&... more) {
    const std::array<operand<T>, 1 + sizeof...(More)> all{first, more...};
    rotate_detail::rotate<Pairing, Backend, backend::forward, Executor, Source, T>("rotate_forward", how, angles, all);
}
/// The same, run serially.
template <pairing Pairing, class Backend = backend::fastest, angle_source Source, element T, class... More>
requires(std::same_as<More, operand<T>>&&...) void rotate_forward(const Source& angles, const operand<T>& first,
                                                                  const More&... more) {
    rotate_forward<Pairing, Backend>(serial{}, angles, first, more...);
}

/// Undoes rotate_forward: x = R(-a) y / m. Arguments, errors and precision as rotate_forward's, with x and y of an
/// operand meaning source and destination.
template <pairing Pairing, class Backend = backend::fastest, executor Executor, angle_source Source, element T,
          class... More>
requires(std::same_as<More, operand<T>>&&...) void rotate_inverse(const Executor& how, const Source& angles,
                                                                  const operand<T>& first, const More&... more) {
    const std::array<operand<T>, 1 + sizeof...(More)> all{first, more...};
    rotate_detail::rotate<Pairing, Backend, backend::inverse, Executor, Source, T>("rotate_inverse", how, angles, all);
}
/// The same, run serially.
template <pairing Pairing, class Backend = backend::fastest, angle_source Source, element T, class... More>
requires(std::same_as<More, operand<T>>&&...) void rotate_inverse(const Source& angles, const operand<T>& first,
                                                                  const More&... more) {
    rotate_inverse<Pairing, Backend>(serial{}, angles, first, more...);
}

}  // namespace cordage
