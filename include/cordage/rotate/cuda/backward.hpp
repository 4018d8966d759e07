// SPDX-License-Identifier: MIT
// The backward pass on a device: rotate_backward where its first argument is a stream; stage rotation.
#pragma once

#include "cordage/backend/cuda/backward.hpp"
#include "cordage/backend/cuda/normalized_backward.hpp"
#include "cordage/rotate/backward.hpp"
#include "cordage/rotate/cuda/forward.hpp"

namespace cordage {

/// How many doubles of memory a backward pass on a device needs for its sums over tokens, at most 1024 (or as many as
/// there are bases) * (rotary_dim/2 + 1 + weights), of summed axes with rotary_dim/2 for each axis. The same size
/// serves every layer and step, one call at a time.
///
/// @param weights  entries of the longest grad_weight of the call
template <angles_of_tokens Source>
index_t backward_workspace_size(const Source& angles, const heads_shape& shape, index_t weights = 0) {
    const index_t bases = rotate_detail::has_basis_of_token(angles)
                              ? 1
                              : angle_detail::bases_of(angles) / angle_detail::bases_of_token(angles);
    return backend::device_chunks(shape.batch * shape.tokens, bases).count * (backend::sums_of_chunk(angles) + weights);
}

namespace rotate_detail {

// Sums behind the angles that go through memory that threads share, beside heads of at most most_lanes_of_head lanes.
template <class Source>
void check_sums_on_device(const char* function, const Source& angles) {
    const index_t together = angle_detail::bases_of_token(angles);
    if (together == 1 || together * angles.pairs() <= most_lanes_of_head / 2) return;
    fail<shape_error>({function, ": axes * rotary_dim/2 = ", together, " * ", angles.pairs(), " must be at most ",
                       most_lanes_of_head / 2, " on a device in a call with norms"});
}

/// grad_x alone: the transpose of rotate_forward.
template <pairing Pairing, backend::kernel_launcher Launcher, class Source, class... Operands>
requires(operand_type<Operands>&&...) void launch_backward(on_device, const char* function, const Launcher& where,
                                                           const Source& angles, const Operands&... operands) {
    launch_rotation<Pairing, backend::adjoint>(on_device{}, function, where, angles, operands...);
}

// Whether a source's bases lie there, or those of the source that a sum begins with.
template <class Source>
inline constexpr bool has_bases_on_device = requires(const Source& angles) {
    angles.basis_numbers().attention_factors;
};

template <pairing Pairing, backend::kernel_launcher Launcher, class Source, class... Operands>
void backward_on_device(const char* function, const Launcher& where, const Source& angles,
                        const rotation_gradients& grads, const Operands&... given) {
    static_assert(is_device_source<Source>, "cordage::rotate_backward: these angles do not lie on a device");
    const call_size size = check_all<memory::device>(function, angles, given...);
    check_gradients(grads, angles, size.tokens);
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
        fail<value_error>({function, ": grads.angles must be empty with a table"});
    }
    const index_t weights = std::max({index_t{0}, std::ssize(grad_weight_of(given))...});
    const auto run = [&](const auto& operands) {
        check_device_operands(function, operands);
        for_each_operand(operands, [&]<class O>(const O& o) {
            if (O::is_normalized) check_lanes_on_device(function, o), check_sums_on_device(function, angles);
            const index_t wanted = backward_workspace_size(angles, o.shape(), weights);
            if ((to.has_sums() || weights > 0) && std::ssize(grads.workspace) < wanted) {
                fail<shape_error>({function, ": grads.workspace has ", grads.workspace.size(),
                                   " entries, must have backward_workspace_size = ", wanted});
            }
        });
        for_each_launch(operands, [&](const auto& some) {
            backend::launch_backward<Pairing>(function, where, angles, some, to, has_basis_of_token(angles));
        });
    };
    with_operands(run, given...);
}

/// grad_x, the gradients to norms' weights and those behind the angles: one pass over grad_y and y (or x), and a small
/// kernel that adds up the partial sums of the blocks.
///
///   rotate_backward<half_split>(on(stream), angles, rotation_gradients{.inv_freq = grad, .workspace = memory},
///                               grad_through(grad_q, q, grad_q).normalized(norm, grad_weight), ...);
///
/// angles    device_angles, device_axis_angles, device_summed_axes, free_angles, or a sum that begins with one of them;
///           where nothing behind them is wanted any source
/// grads     spans of the device's memory; added to, never set. `workspace`: backward_workspace_size doubles, which may
///           be empty where neither inv_freq, attention_factor nor a grad_weight is wanted, and not be used by two
///           streams at once
/// operands  as the host's; with norms heads of at most 2048 lanes
/// Operands of one type without norms are a launch for each four, one with a norm is a launch of its own. Sums over a
/// thread's heads in floats, those of weights over the tokens that a block has at hand, over all else in double, in an
/// order that depends on sizes and alignment alone: the same bits every time and on every device of one architecture.
/// Allocates nothing, waits for nothing. Where each token names its basis, a launch for each basis. Errors and what is
/// not checked as launch_rotation.
template <pairing Pairing, backend::kernel_launcher Launcher, class Source, class... Operands>
void launch_backward(on_device, const char* function, const Launcher& where, const Source& angles,
                     const rotation_gradients& grads, const Operands&... operands) {
    static_assert(sizeof...(Operands) > 0 && (backward_operand_type<Operands> && ...),
                  "cordage::rotate_backward: after the gradients write operands grad_through(grad_y, y, grad_x)");
    static_assert(
        has_bases_on_device<Source> || has_free_angles<Source> || (Operands::is_normalized || ...),
        "cordage::rotate_backward: on a device gradients behind the angles flow to device_angles, device_axis_angles, "
        "device_summed_axes and free_angles");
    backward_on_device<Pairing>(function, where, angles, grads, operands...);
}

/// grad_x without gradients behind the angles and without a workspace.
template <pairing Pairing, backend::kernel_launcher Launcher, class Source, class... Operands>
requires(sizeof...(Operands) > 0 && (backward_operand_type<Operands> &&
                                     ...)) void launch_backward(on_device, const char* function, const Launcher& where,
                                                                const Source& angles, const Operands&... operands) {
    backward_on_device<Pairing>(function, where, angles, {}, operands...);
}

}  // namespace rotate_detail

}  // namespace cordage
