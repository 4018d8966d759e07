// SPDX-License-Identifier: MIT
// The rotation: forward, its inverse, and the change of what cached keys are rotated by; stage rotation.
#pragma once

#include "cordage/angles/angle_difference.hpp"
#include "cordage/backend/backend.hpp"
#include "cordage/core/executor.hpp"
#include "cordage/rotate/checks.hpp"

namespace cordage {

namespace rotate_detail {

/// Makes this namespace one where a device's calls are found (rotate/cuda/).
struct on_device {};

template <class Source>
constexpr void require_source() {
    static_assert(angles_of_tokens<Source>,
                  "cordage: a source of angles needs 'index_t batch() const', 'index_t tokens() const' and 'index_t "
                  "pairs() const'; docs/extending.md");
    static_assert(
        requires(const Source& s, index_t i) {
            { s.attention_factor(i, i) } -> std::same_as<double>;
        },
        "cordage: a source of angles needs 'double attention_factor(index_t row, index_t token) const'; "
        "docs/extending.md");
    static_assert(has_phase<Source> || has_angle<Source> || has_cos_sin<Source>,
                  "cordage: a source of angles needs 'std::uint64_t phase(index_t row, index_t token, index_t pair) "
                  "const' in units of 2^-64 turn, or 'double angle(...) const' in radians; docs/extending.md");
}

template <class Direction, class... Operands>
constexpr void require_operands() {
    static_assert(sizeof...(Operands) > 0 && (operand_type<Operands> && ...),
                  "cordage: after the angles come operands: in_place(view) or from_to(view, view)");
    if constexpr ((operand_type<Operands> && ...)) {
        static_assert(
            std::same_as<Direction, backend::forward> || (!Operands::is_normalized && ...),
            "cordage: operands are normalized by rotate_forward alone; its backward pass takes "
            "grad_through(grad_y, x, grad_x).normalized(...), and rotate_inverse operands without 'normalized'");
    }
}

// Runs rotate_tokens(begin, end) over all tokens of a call, in slices on the executor; in one where they must go one
// after the other.
template <executor Executor, class RotateTokens>
void for_each_slice(const Executor& where, const call_size& size, const RotateTokens& rotate_tokens) {
    const bool is_one = size.is_in_order;  // as if all tokens were one
    for_each_range(where, is_one ? 1 : size.tokens, size.bytes_of_token,
                   [&](index_t begin, index_t end) noexcept { rotate_tokens(begin, is_one ? size.tokens : end); });
}

// The host's path: checks, then slices of tokens on the executor.
template <pairing Pairing, class Backend, class Direction, executor Executor, class Source, class... Operands>
CORDAGE_ALWAYS_INLINE void rotate_at(const char* function, const Executor& where, const Source& angles,
                                     const Operands&... given) {
    require_source<Source>();
    require_operands<Direction, Operands...>();
    backend::require_rotate_range<Backend>();
    static_assert(
        !requires { Source::is_on_device; },
        "cordage: these angles are for a device: the first argument must be on(stream)");
    const call_size size = check_all<memory::host>(function, angles, given...);
    if (size.is_empty) return;
    const auto run = [&](const auto& operands) {
        using backend::rotate_range;  // or the one that stands beside a Backend of the caller's
        for_each_slice(where, size, [&](index_t begin, index_t end) noexcept {
            rotate_range<Pairing, Direction>(Backend{}, angles, operands, begin, end);
        });
    };
    with_operands(run, given...);
}

// Where a call runs is its first argument, or here: serial.
template <pairing Pairing, class Backend, class Direction, class First, class... Rest>
CORDAGE_ALWAYS_INLINE void rotate(const char* function, const First& first, const Rest&... rest) {
    if constexpr (angles_of_tokens<First>) {
        rotate_at<Pairing, Backend, Direction>(function, serial{}, first, rest...);
    } else if constexpr (executor<First>) {
        rotate_at<Pairing, Backend, Direction>(function, first, rest...);
    } else {
        static_assert(
            requires { first.processors(function); },  // nvcc 13 finds the call below, but not in a requirement
            "cordage: the first argument must be a source of angles, an executor (serial, threads, "
            "loop_executor) or on(stream) with what cordage/cuda.cuh takes there");
        launch_rotation<Pairing, Direction>(on_device{}, function, first, rest...);
    }
}

}  // namespace rotate_detail

/// Rotates rotary_dim lanes of every head of every operand:
///
///   rotate_forward<half_split>(angles, in_place(q), in_place(k));
///   rotate_forward<half_split>(pool, angles, from_to(q, rotated_q), from_to(k, in_slots(cache, slots, 1, n)));
///   rotate_forward<half_split>(on(stream), angles, in_place(q), in_place(k));                   // cordage/cuda.cuh
///
///   y[2i]   = m (x[2i] cos a_i - x[2i+1] sin a_i)        a_i = position * inv_freq[i]
///   y[2i+1] = m (x[2i] sin a_i + x[2i+1] cos a_i)        (interleaved; Su et al. 2021, eq. 34)
///
///   head_dim 8, rotary_dim 4:  interleaved [c s c s . . . .]   half_split [c c s s . . . .]
///
/// @tparam Pairing  half_split or interleaved, as the model was trained
/// @tparam Backend  of the host; the fastest that the translation unit was compiled for
/// Arguments, in this order:
///   where     (optional) an executor (docs/backends.md), such as a pool of `threads`, or a device's stream; without it
///             the calling thread
///   angles    a source (angles/angle_source.hpp): exact_angles, axis_angles, a table, one of the caller's
///   operands  one or more: in_place(view), from_to(x, y); views [batch, tokens, heads, head_dim] with last stride 1,
///   in
///             any order of strides, or in the slots of a cache. They share batch and tokens, and may differ in heads,
///             head_dim, strides, type, format and first lane. The lanes outside of the rotated ones are copied. y may
///             be x, or other slots of its cache; other overlaps of what is written are refused
/// @throws shape_error, value_error  naming the field, its value and what was expected, before anything is written
/// Precision: angles exact to 3.7e-10 rad at 2^31, arithmetic in float (double for double), one rounding on store.
/// Allocates nothing, but where slots that are written do not ascend up to 64 bytes for each, and so where tokens move
/// within a cache. Gradient: rotate/backward.hpp.
template <pairing Pairing, class Backend = backend::fastest, class... Arguments>
void rotate_forward(const Arguments&... arguments) {
    rotate_detail::rotate<Pairing, Backend, backend::forward>("rotate_forward", arguments...);
}

/// Undoes rotate_forward: x = R(-a) y / m. Arguments, errors and precision as rotate_forward's, with x and y of an
/// operand meaning source and destination.
template <pairing Pairing, class Backend = backend::fastest, class... Arguments>
void rotate_inverse(const Arguments&... arguments) {
    rotate_detail::rotate<Pairing, Backend, backend::inverse>("rotate_inverse", arguments...);
}

namespace rotate_detail {

template <class Argument>
inline constexpr bool is_difference = false;
template <class To, class From>
inline constexpr bool is_difference<angle_difference<To, From>> = true;

}  // namespace rotate_detail

/// Turns cached keys that were rotated by one source of angles into what another would have made of them, without the
/// keys they were made of:
///
///   y = (m_to / m_from) R(a_to - a_from) x
///
///   rebase<half_split>(exact_angles(new_basis, ids) - exact_angles(old_basis, ids), in_place(keys));
///   rebase<half_split>(exact_angles(b, new_ids) - exact_angles(b, old_ids),
///                      from_to(in_slots(cache, old_slots, 1, n), in_slots(cache, new_slots, 1, n)));
///
/// Arguments, errors and precision as rotate_forward's, but that the angles are a difference `to - from`: to another
/// basis, to other positions, or to both. The angle is exact, however many changes came before; what each change adds
/// is rotate_forward's rounding, in cos, sin and on store (docs/precision.md). Slots that hold no key yet may have any
/// position, but not NaN. A block that several sequences share is listed once: they hold it at the same positions.
///
/// Keys may move to other slots of their cache. Tokens go in the order in which they are listed, and where one is
/// written to the slot of another on one thread; a slot that would be written before it is read is refused by name, and
/// so is every such move on a device.
template <pairing Pairing, class Backend = backend::fastest, class... Arguments>
void rebase(const Arguments&... arguments) {
    static_assert((rotate_detail::is_difference<Arguments> || ...),
                  "cordage::rebase: the angles must be a difference, 'to - from': exact_angles(new_basis, ids) - "
                  "exact_angles(old_basis, ids)");
    rotate_detail::rotate<Pairing, Backend, backend::forward>("rebase", arguments...);
}

}  // namespace cordage
