// SPDX-License-Identifier: MIT
// The backward pass on a device: what rotate_backward does where its first argument is a stream; stage rotation.
#pragma once

#include "cordage/backend/cuda/backward.hpp"
#include "cordage/rotate/backward.hpp"
#include "cordage/rotate/cuda/forward.hpp"

namespace cordage {

/// How many doubles of memory a backward pass on a device needs for its sums over tokens, at most 1024 (or as many as
/// there are bases) * (rotary_dim/2 + 1). The same size serves every layer and step, one call at a time.
template <differentiable_angle_source Source>
index_t backward_workspace_size(const Source& angles, const heads_shape& shape) {
    const index_t bases = angles.has_basis_of_token() ? 1 : angles.bases();
    return backend::device_chunks(shape.batch * shape.tokens, bases).count * (angles.pairs() + 1);
}

namespace rotate_detail {

/// grad_x alone: the transpose of rotate_forward.
template <pairing Pairing, backend::kernel_launcher Launcher, class Source, class... Operands>
requires(operand_type<Operands>&&...) void launch_backward(on_device, const char* function, const Launcher& where,
                                                           const Source& angles, const Operands&... operands) {
    launch_rotation<Pairing, backend::adjoint>(on_device{}, function, where, angles, operands...);
}

/// grad_x and the gradients behind the angles: one pass over grad_y and y, and a small kernel that adds up the blocks'
/// sums.
///
///   rotate_backward<half_split>(on(stream), angles, rotation_gradients{.inv_freq = grad, .workspace = memory},
///                               grad_through(grad_q, q, grad_q), ...);
///
/// angles    device_angles or device_axis_angles
/// grads     spans of the device's memory; added to, never set. `workspace`: backward_workspace_size doubles, which may
///           be empty where neither inv_freq nor attention_factor is wanted, and not be used by two streams at once
/// operands  one to four of one type, as the host's
/// Sums over a thread's heads in floats, over all else in double, in an order that depends on sizes and alignment
/// alone: the same bits every time and on every device of one architecture. Allocates nothing, waits for nothing. Where
/// each token names its basis, a launch for each basis. Errors and what is not checked as launch_rotation.
template <pairing Pairing, backend::kernel_launcher Launcher, class Source, class... Operands>
void launch_backward(on_device, const char* function, const Launcher& where, const Source& angles,
                     const rotation_gradients& grads, const Operands&... given) {
    static_assert(sizeof...(Operands) > 0 && sizeof...(Operands) <= backend::most_operands &&
                      (backward_operand_type<Operands> && ...),
                  "cordage::rotate_backward: after the gradients come one to four grad_through(grad_y, y, grad_x)");
    static_assert(
        requires { angles.basis_numbers().attention_factors; } && is_device_source<Source>,
        "cordage::rotate_backward: on a device gradients behind the angles flow to device_angles and "
        "device_axis_angles");
    const call_size size = check_all<memory::device>(function, angles, given...);
    const auto run = [&]<class O>(const std::span<const O* const>& operands) {
        check_device_operands(function, operands);
        const heads_shape& shape = operands[0]->shape();
        check_gradients(grads, angles, size.tokens);
        const index_t wanted = backward_workspace_size(angles, shape);
        if ((!grads.inv_freq.empty() || !grads.attention_factor.empty()) && std::ssize(grads.workspace) < wanted) {
            fail<shape_error>({function, ": grads.workspace has ", grads.workspace.size(),
                               " entries, must have backward_workspace_size = ", wanted});
        }
        const auto data = [](std::span<double> numbers) { return numbers.empty() ? nullptr : numbers.data(); };
        backend::launch_backward<Pairing>(
            function, where, angles, operands,
            {data(grads.inv_freq), data(grads.position_ids), data(grads.attention_factor), data(grads.workspace)},
            angles.basis_numbers().attention_factors, angles.has_basis_of_token());
    };
    with_operands(run, given...);
}

}  // namespace rotate_detail

}  // namespace cordage
