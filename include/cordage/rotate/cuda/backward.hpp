// SPDX-License-Identifier: MIT
// The backward pass on a device: rotate_backward where its first argument is a stream; stage rotation.
#pragma once

#include "cordage/backend/cuda/general_backward.hpp"
#include "cordage/backend/cuda/team_backward.hpp"
#include "cordage/rotate/backward.hpp"
#include "cordage/rotate/cuda/forward.hpp"

namespace cordage {

/// Number of doubles of workspace that a backward pass on a device needs for its sums over tokens: at most max(264,
/// bases) * (rotary_dim/2 + 1 + weights), for summed axes with axes * rotary_dim/2. One workspace may be reused by
/// every layer and step, one call at a time.
///
/// @param shape    of an operand; only batch and tokens are used
/// @param weights  entries of the longest grad_weight of the call
template <angles_of_tokens Source>
index_t backward_workspace_size(const Source& angles, const heads_shape& shape, index_t weights = 0) {
    const index_t bases = angle_detail::has_basis_of_token(angles)
                              ? 1
                              : angle_detail::bases_of(angles) / angle_detail::bases_of_token(angles);
    return backend::most_rows_of_sums(shape.batch * shape.tokens, bases) * (backend::sums_of_chunk(angles) + weights);
}

namespace rotate_detail {

// Calls f with operands of one type, at most most_operands at a time.
template <class O, class F>
void for_each_launch(std::span<const O* const> operands, const F& f) {
    for_each_group(operands, f);
}
template <class... O, class F>
void for_each_launch(const std::tuple<O...>& operands, const F& f) {
    for_each_operand(operands, [&]<class Operand>(const Operand& o) {
        const Operand* const only = &o;
        f(std::span<const Operand* const>(&only, 1));
    });
}

// Launches the backward pass of up to backend::most_operands checked operands of one type, and the kernels that add up
// their sums.
template <pairing Pairing, class Source, class O, class Launcher>
void launch_backward(const char* function, const Launcher& where, const Source& angles,
                     std::span<const O* const> operands, const backend::device_gradients& given) {
    const O* some[backend::most_operands];
    std::size_t count = 0;
    bool is_rotated = false;
    for (const O* o : operands) {
        if (o->shape().heads == 0 || o->shape().batch * o->shape().tokens == 0) continue;
        some[count++] = o;
        is_rotated = is_rotated || o->is_rotated();
    }
    if (count == 0) return;
    const backend::device_gradients grads =
        is_rotated ? given : backend::device_gradients{.workspace = given.workspace};
    const auto launch = [&](std::span<const O* const> one_or_more) {
        return backend::launch_teams<Pairing>(function, where, angles, one_or_more, grads);
    };
    const std::span<const O* const> all(some, count);
    if (launch(all)) return;
    for (std::size_t i = 0; i < count; ++i) {
        if (count > 1 && launch(all.subspan(i, 1))) continue;
        backend::launch_general_backward<Pairing>(function, where, angles, *some[i], grads);
    }
}

// Whether the bases of a source, or of the first term of a sum, are in device memory.
template <class Source>
inline constexpr bool has_bases_on_device =
    requires(const Source& angles) { angles.basis_numbers().attention_factors; };

template <pairing Pairing, backend::kernel_launcher Launcher, class Source, class... Operands>
void backward_on_device(const char* function, const Launcher& where, const Source& angles,
                        const rotation_gradients& grads, const Operands&... given) {
    static_assert(is_device_source<Source>, "cordage::rotate_backward: these angles do not lie on a device");
    static_assert((std::same_as<typename Operands::compute, float> && ...), "cordage: a device rotates in float");
    const call_size size =
        check_all<memory::device>(function, angles, std::span<const named_sums>(sums_of(grads)), given...);
    check_gradients(grads, gradient_sizes::of(angles), size.tokens);
    const auto data = [](std::span<double> numbers) { return numbers.empty() ? nullptr : numbers.data(); };
    backend::device_gradients to{.angle = data(grads.angles), .workspace = data(grads.workspace)};
    if constexpr (has_bases_on_device<Source>) {
        to.inv_freq = data(grads.inv_freq), to.position = data(grads.position_ids);
        to.attention_factor = data(grads.attention_factor);
        to.attention_factors = angles.basis_numbers().attention_factors;
    } else if (!grads.inv_freq.empty() || !grads.position_ids.empty() || !grads.attention_factor.empty()) {
        fail<value_error>({function,
                           ": grads.inv_freq, position_ids and attention_factor must be empty with these angles; on a "
                           "device they are for device_angles, device_axis_angles and device_summed_axes"});
    }
    if (!has_bases_on_device<Source> && !has_free_angles<Source> && !grads.angles.empty()) {
        fail<value_error>({function,
                           ": grads.angles must be empty with these angles; on a device it is for "
                           "device_angles, device_axis_angles, device_summed_axes and free_angles"});
    }
    const index_t weights = std::max({index_t{0}, std::ssize(grad_weight_of(given))...});
    const auto run = [&](const auto& operands) {
        for_each_operand(operands, [&](const auto& o) {
            check_on_device(function, o);
            const index_t wanted = backward_workspace_size(angles, o.shape(), weights);
            if ((to.has_sums() || weights > 0) && std::ssize(grads.workspace) < wanted) {
                fail<shape_error>({function, ": grads.workspace has ", grads.workspace.size(),
                                   " entries, must have backward_workspace_size = ", wanted});
            }
        });
        for_each_launch(operands,
                        [&](const auto& some) { launch_backward<Pairing>(function, where, angles, some, to); });
    };
    with_operands(run, given...);
}

/// grad_x and the gradients to norms' weights, frequencies, positions, angles and attention factors: one pass over
/// grad_y and y (or x), and a small kernel that adds up the partial sums of the blocks.
///
///   rotate_backward<half_split>(on(stream), angles, rotation_gradients{.inv_freq = grad, .workspace = memory},
///                               grad_through(grad_q, q, grad_q).normalized(norm, grad_weight), ...);
///
/// angles    device_angles, device_axis_angles, device_summed_axes, free_angles, or a sum whose first term is one of
///           them; any source if only grad_x and weight gradients are computed
/// grads     spans of device memory; results are added to them. `workspace`: backward_workspace_size doubles; may be
///           empty if neither inv_freq, attention_factor nor a grad_weight is computed; must not be used by two streams
///           at once
/// operands  as for the host; with a norm, heads of at most 2048 lanes
/// Enqueues one kernel for every four operands of one type, or one for each operand if position_ids or angles are
/// computed or if it does not move in pieces of 16 bytes; and one that adds up sums, if there are any. With a basis
/// index for each token and gradients to bases, one of each for each basis. Sums over the heads of one token of a
/// thread are in float, all other sums in double. The order of summation depends only on sizes and alignment: the same
/// bits in every run and on every device of one architecture. Allocates nothing and does not synchronise. Errors and
/// unchecked input as for rotate_on_device.
template <pairing Pairing, backend::kernel_launcher Launcher, class Source, class... Operands>
void rotate_on_device(on_device, with_gradients, const char* function, const Launcher& where, const Source& angles,
                      const rotation_gradients& grads, const Operands&... operands) {
    static_assert(sizeof...(Operands) > 0 && (backward_operand_type<Operands> && ...),
                  "cordage::rotate_backward: after the gradients write operands grad_through(grad_y, y, grad_x)");
    static_assert(
        has_bases_on_device<Source> || has_free_angles<Source> || (Operands::is_normalized || ...),
        "cordage::rotate_backward: on a device gradients other than grad_x need device_angles, device_axis_angles, "
        "device_summed_axes or free_angles");
    backward_on_device<Pairing>(function, where, angles, grads, operands...);
}

/// grad_x only; needs no workspace.
template <pairing Pairing, backend::kernel_launcher Launcher, class Source, class... Operands>
    requires(sizeof...(Operands) > 0 && (backward_operand_type<Operands> && ...))
void rotate_on_device(on_device, with_gradients, const char* function, const Launcher& where, const Source& angles,
                      const Operands&... operands) {
    backward_on_device<Pairing>(function, where, angles, {}, operands...);
}

}  // namespace rotate_detail

}  // namespace cordage
