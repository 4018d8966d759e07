// SPDX-License-Identifier: MIT
// The door of the backward pass on a device, to x and to frequencies, positions and the attention factor; stage
// rotation.
#pragma once

#include "cordage/backend/cuda/backward.hpp"
#include "cordage/rotate/backward.hpp"
#include "cordage/rotate/cuda/forward.hpp"

namespace cordage {

/// How many doubles of memory a backward pass on a device needs for its sums over tokens, at most 1024 (or as many as
/// there are bases) * (rotary_dim/2 + 1). The same size serves every layer and step, one call at a time.
template <backend::differentiable_device_angles Source>
index_t backward_workspace_size(const Source& angles, const heads_shape& shape) {
    return backend::device_chunks(shape.batch * shape.tokens, angles.bases()).count * (angles.pairs() + 1);
}

/// rotate_backward with gradients behind the angles (rotate/backward.hpp) on a device: one pass over grad_y and y, and
/// a small kernel that adds up the blocks' sums.
///
///   rotate_backward<half_split>(on(stream), angles, {.inv_freq = grad}, workspace, grad_through(grad_q, q, grad_q),
///   ...);
///
/// @param angles     device_angles or device_axis_angles
/// @param grads      spans and pointers to the device; added to, never set
/// @param workspace  backward_workspace_size doubles on the device, of any content; may be empty where neither inv_freq
///                   nor attention_factor is wanted. Not to be used by two streams at once
/// @param first,more  one to four, as rotate_backward's; grad_x may be grad_y or y itself
/// @throws shape_error  before anything is launched; cuda_error
/// Sums over a thread's heads in floats, over all else in double, in an order that depends on sizes and alignment
/// alone: the same bits every time and on every device of one architecture. Allocates nothing, waits for nothing.
template <pairing Pairing, backend::kernel_launcher Launcher, backend::differentiable_device_angles Source,
          backend::device_element T, class... More>
requires(std::same_as<More, backward_operand<T>>&&...) void rotate_backward(const Launcher& where, const Source& angles,
                                                                            const rotation_gradients& grads,
                                                                            std::span<double> workspace,
                                                                            const backward_operand<T>& first,
                                                                            const More&... more) {
    using namespace rotate_detail;
    constexpr const char* who = "rotate_backward";
    static_assert(sizeof...(More) < std::size_t{backend::most_operands},
                  "cordage: one launch turns at most 4 operands; call again for the others");
    const std::array<backward_operand<T>, 1 + sizeof...(More)> operands{first, more...};
    const std::span<const backward_operand<T>> all(operands);
    check_all(who, angles, all);
    for (const backward_operand<T>& o : all) check_device_shape(who, o.shape());
    check_gradients(grads, angles, first);
    const index_t wanted = backward_workspace_size(angles, first.shape());
    if ((!grads.inv_freq.empty() || grads.attention_factor != nullptr) && std::ssize(workspace) < wanted) {
        throw shape_error(message(who, ": workspace has ", workspace.size(),
                                  " entries, must have backward_workspace_size = ", wanted));
    }
    const auto data = [](std::span<double> numbers) { return numbers.empty() ? nullptr : numbers.data(); };
    backend::launch_backward<Pairing, T>(
        who, where, backend::kernel_angles<backend::adjoint>(angles), all,
        {data(grads.inv_freq), data(grads.position_ids), grads.attention_factor, data(workspace)});
}

}  // namespace cordage
