// SPDX-License-Identifier: MIT
// The rotation: forward, inverse, and rebase, which changes the basis or positions of cached keys; stage rotation.
#pragma once

#include "cordage/angles/angle_difference.hpp"
#include "cordage/backend/backend.hpp"
#include "cordage/rotate/call.hpp"

namespace cordage {

namespace rotate_detail {

/// Tag argument whose namespace lets argument-dependent lookup find the functions of rotate/cuda/.
struct on_device {};

// Functions that require something return whether it holds, so that `if constexpr` ends with the first error.
template <class Pairing, class First>
constexpr bool require_call() {
    constexpr bool begins =
        angles_of_tokens<First> || executor<First> || requires(const First& f) { f.processors(""); };  // on(stream)
    static_assert(pairing<Pairing>,
                  "cordage: write the pairing of the model, rotate_forward<half_split>(angles, "
                  "in_place(q)) or rotate_forward<interleaved>(...); docs/migrating.md");
    static_assert(begins,
                  "cordage: the first argument must be the angles, exact_angles(basis, position_ids) or a table's "
                  "view(), or before them an executor (serial, threads, loop_executor) or on(stream)");
    return pairing<Pairing> && begins;
}

template <class Source>
constexpr bool require_source() {
    static_assert(angles_of_tokens<Source>,
                  "cordage: before the operands write angles; a source of them needs 'index_t batch() const', 'index_t "
                  "tokens() const' and 'index_t pairs() const'; docs/extending.md");
    static_assert(
        requires(const Source& s, index_t i) {
            { s.attention_factor(i, i) } -> std::same_as<double>;
        },
        "cordage: a source of angles needs 'double attention_factor(index_t row, index_t token) const'; "
        "docs/extending.md");
    static_assert(has_phase<Source> || has_angle<Source> || has_cos_sin<Source>,
                  "cordage: a source of angles needs 'std::uint64_t phase(index_t row, index_t token, index_t pair) "
                  "const' in units of 2^-64 turn, or 'double angle(...) const' in radians; docs/extending.md");
    // Members that belong together: one without the other is misspelt, and would be ignored.
    constexpr bool has_axes = requires(const Source& s) { s.axes(); };
    constexpr bool has_axis = requires(const Source& s, index_t i) { s.axis(i); };
    constexpr bool has_bases = requires(const Source& s) { s.bases(); };
    constexpr bool has_basis_index = requires(const Source& s, index_t i) { s.basis_index(i, i); };
    constexpr bool has_position = requires(const Source& s, index_t i) { s.position(i, i, i); };
    constexpr bool has_inv_freq = requires(const Source& s, index_t i) { s.inv_freq(i); };
    static_assert(has_position == has_inv_freq,
                  "cordage: a source of angles has both 'double position(index_t row, index_t token, index_t axis) "
                  "const' and 'const double* inv_freq(index_t basis) const', or neither; docs/extending.md");
    static_assert(has_bases == has_basis_index,
                  "cordage: a source of angles has both 'index_t bases() const' and 'index_t basis_index(index_t row, "
                  "index_t token) const', or neither; docs/extending.md");
    static_assert(has_axes == (has_axis || angle_detail::sums_axes<Source>),
                  "cordage: a source of angles has both 'index_t axes() const' and 'index_t axis(index_t pair) const', "
                  "or neither; docs/extending.md");
    static_assert(has_position || has_free_angles<Source> || !(has_bases || has_axes),
                  "cordage: a source of angles with 'bases' or 'axes' needs 'position' and 'inv_freq', for gradients; "
                  "docs/extending.md");
    return angles_of_tokens<Source>;
}
template <class Source>
constexpr bool require_source_on_host() {
    static_assert(!angle_detail::lie_on_device<Source>,
                  "cordage: these angles lie on a device: the first argument must be on(stream)");
    return require_source<Source>();
}

template <class Direction, class... Operands>
constexpr bool require_operands() {
    constexpr bool are_operands = sizeof...(Operands) > 0 && (operand_type<Operands> && ...);
    static_assert(are_operands,
                  "cordage: after the angles write operands, in_place(view) or from_to(view, view), and nothing else; "
                  "an executor comes before the angles");
    if constexpr (are_operands) {
        static_assert((std::same_as<typename Operands::compute, float> && ...) ||
                          (std::same_as<typename Operands::compute, double> && ...),
                      "cordage: the operands of one call must all compute in float or all in double");
        static_assert(
            std::same_as<Direction, backend::forward> || (!Operands::is_normalized && ...),
            "cordage: only rotate_forward normalizes; the backward pass takes "
            "grad_through(grad_y, x, grad_x).normalized(...), and rotate_inverse operands without 'normalized'");
    }
    return are_operands;
}

// The angles that kernels read: those of the source, or rows that several kernels share.
template <class Backend, class Source, class First, class... More>
constexpr auto angles_of_kernels() {
    using real = typename First::compute;
    constexpr bool has_maker = requires { maker_of_rows<real>(Backend{}); };
    if constexpr (!has_maker || (std::same_as<First, More> && ...) || has_cos_sin<Source>) {
        return std::type_identity<Source>{};
    } else {
        return std::type_identity<backend::shared_rows<real>>{};
    }
}

// The path on the host.
template <pairing Pairing, class Backend, class Direction, executor Executor, class Source, class... Operands>
CORDAGE_ALWAYS_INLINE void rotate_at(Direction, const char* function, const Executor& where, const Source& angles,
                                     const Operands&... operands) {
    if constexpr (require_source_on_host<Source>() && require_operands<Direction, Operands...>()) {
        static_assert(
            backend::has_rotate_range<Backend>,
            "cordage: a backend needs 'template <pairing P, class Direction, class Source, class O> void "
            "rotate_range(my_backend, const Source& angles, const operand_list<O>& operands, index_t begin, index_t "
            "end) noexcept' beside it; docs/extending.md");
        using rows = typename decltype(angles_of_kernels<Backend, Source, Operands...>())::type;
        const std::array<range_kernel, sizeof...(Operands)> kernels{
            rotate_tokens<Pairing, Backend, Direction, rows, Operands>...};
        call_on_stack<Operands...> made(function, angles, kernels, operands...);
        const rotation_call call = made.call();
        const call_size size = check_with_angles(call, memory::host, angles);
        run(where, call, size, [&](index_t begin, index_t end) noexcept {
            if constexpr (std::same_as<rows, Source>) {
                run_tokens(call, nullptr, nullptr, begin, end);
            } else {
                rows shared(maker_of_rows<typename rows::real>(Backend{}), angles);
                shared.for_each_block(
                    begin, end, [&](index_t first, index_t last) { run_tokens(call, &shared, nullptr, first, last); });
            }
        });
    }
}

// Runs a call on the executor or device given by its first argument, or on the calling thread if there is none.
template <class Pairing, class Backend, class Direction, class First, class... Rest>
CORDAGE_ALWAYS_INLINE void rotate(const char* function, const First& first, const Rest&... rest) {
    if constexpr (!require_call<Pairing, First>()) {
        return;
    } else if constexpr (angles_of_tokens<First>) {
        rotate_at<Pairing, Backend>(Direction{}, function, serial{}, first, rest...);
    } else if constexpr (executor<First>) {
        rotate_at<Pairing, Backend>(Direction{}, function, first, rest...);
    } else {
        rotate_on_device<Pairing>(on_device{}, Direction{}, function, first, rest...);
    }
}

}  // namespace rotate_detail

/// Rotates rotary_dim lanes of every head of every operand:
///
///   rotate_forward<half_split>(angles, in_place(q), in_place(k));
///   rotate_forward<half_split>(pool, angles, from_to(q, rotated_q), from_to(k, in_slots(cache, slots, 1, n)));
///   rotate_forward<half_split>(on(stream), angles, in_place(q), in_place(k));                   // cordage/cuda.cuh
///
///   y[2i]   = m (x[2i] cos a_i - x[2i+1] sin a_i)        a_i = position * inv_freq[i], m the attention factor
///   y[2i+1] = m (x[2i] sin a_i + x[2i+1] cos a_i)        (interleaved; Su et al. 2021, eq. 34)
///
///   head_dim 8, rotary_dim 4:  interleaved [c s c s . . . .]   half_split [c c s s . . . .]
///
/// @tparam Pairing  half_split or interleaved, as the model was trained; must be written
/// @tparam Backend  of the host; default: the fastest one of the instruction set that the unit is compiled for
/// Arguments, in this order:
///   where     (optional) an executor (docs/backends.md), such as a pool of `threads`, or a device's stream; default:
///             the calling thread
///   angles    a source (angles/angle_source.hpp): exact_angles, axis_angles, a table, or your own
///   operands  one or more of in_place(view) and from_to(x, y). Views are [batch, tokens, heads, head_dim] with last
///             stride 1 and the others in any order, or lie in the slots of a cache. Operands have equal batch and
///             tokens, and may differ in heads, head_dim, strides, type, format and first lane. Lanes that are not
///             rotated are copied. y may be x, or other slots of the cache of x; any other overlap with y throws
/// @throws shape_error, value_error  naming the field, its value and what was expected, before anything is written
/// Precision: angles exact to 3.7e-10 rad at 2^31, arithmetic in float (double for double), one rounding on store.
/// Allocates nothing, except at most 64 bytes per token if written slots are not in ascending order or if tokens move
/// within a cache. Gradient: rotate/backward.hpp.
template <class Pairing = void, class Backend = backend::fastest, class... Arguments>
void rotate_forward(const Arguments&... arguments) {
    rotate_detail::rotate<Pairing, Backend, backend::forward>("rotate_forward", arguments...);
}

/// Undoes rotate_forward: x = R(-a) y / m. Arguments, errors and precision as for rotate_forward; the x and y of an
/// operand are source and destination.
template <class Pairing = void, class Backend = backend::fastest, class... Arguments>
void rotate_inverse(const Arguments&... arguments) {
    rotate_detail::rotate<Pairing, Backend, backend::inverse>("rotate_inverse", arguments...);
}

namespace rotate_detail {

template <class Argument>
inline constexpr bool is_difference = false;
template <class To, class From>
inline constexpr bool is_difference<angle_difference<To, From>> = true;
template <class Argument>
concept has_norm = operand_type<Argument> && Argument::is_normalized;

}  // namespace rotate_detail

/// Changes cached keys rotated by one angle source into keys rotated by another one; the unrotated keys are not needed:
///
///   y = (m_to / m_from) R(a_to - a_from) x
///
///   rebase<half_split>(exact_angles(new_basis, ids) - exact_angles(old_basis, ids), in_place(keys));
///   rebase<half_split>(exact_angles(b, new_ids) - exact_angles(b, old_ids),
///                      from_to(in_slots(cache, old_slots, 1, n), in_slots(cache, new_slots, 1, n)));
///
/// Arguments, errors and precision as for rotate_forward, except that the angles are a difference `to - from`: to
/// another basis, to other positions, or both. The angle stays exact over any number of changes; each change adds the
/// rounding errors of one rotation, in cos, sin and on store (docs/precision.md). Slots without a key may have any
/// finite position. A block shared by several sequences must be listed only once, since its keys are at the same
/// positions in all of them.
///
/// Keys may move to other slots of their cache. Tokens are processed in the order in which they are listed, on one
/// thread if one token is written to a slot that another one reads. If a slot would be written before it is read, the
/// call throws value_error naming the slot. On a device a move within a cache throws unless the caller states that the
/// written slots are free: from_to(x, y).to_free_slots().
template <class Pairing = void, class Backend = backend::fastest, class... Arguments>
void rebase(const Arguments&... arguments) {
    static_assert((rotate_detail::is_difference<Arguments> || ...),
                  "cordage::rebase: the angles must be a difference, 'to - from': exact_angles(new_basis, ids) - "
                  "exact_angles(old_basis, ids)");
    static_assert(!(rotate_detail::has_norm<Arguments> || ...),
                  "cordage::rebase: cached keys are normalized already; write their operand without .normalized()");
    rotate_detail::rotate<Pairing, Backend, backend::forward>("rebase", arguments...);
}

}  // namespace cordage
