// SPDX-License-Identifier: MIT
// The launch of the CUDA backward pass: the kernel of teams where heads move in pieces, else the general one; serves
// stage rotation.
#pragma once

#include "cordage/backend/cuda/general_backward.hpp"
#include "cordage/backend/cuda/team_backward.hpp"

namespace cordage::backend {

/// Launches the backward pass of up to most_operands checked operands of one type, and the kernels that add up their
/// sums.
template <pairing Pairing, class Source, class O, kernel_launcher Launcher>
void launch_backward(const char* function, const Launcher& where, const Source& angles,
                     std::span<const O* const> operands, const device_gradients& given) {
    const O* some[most_operands];
    std::size_t count = 0;
    bool is_rotated = false;
    for (const O* o : operands) {
        if (o->shape().heads == 0 || o->shape().batch * o->shape().tokens == 0) continue;
        some[count++] = o;
        is_rotated = is_rotated || o->is_rotated();
    }
    if (count == 0) return;
    const device_gradients grads = is_rotated ? given : device_gradients{.workspace = given.workspace};
    const auto launch = [&](std::span<const O* const> one_or_more) {
        return launch_teams<Pairing>(function, where, angles, one_or_more, grads);
    };
    const std::span<const O* const> all(some, count);
    if (launch(all)) return;
    for (std::size_t i = 0; i < count; ++i) {
        if (count > 1 && launch(all.subspan(i, 1))) continue;
        launch_general_backward<Pairing>(function, where, angles, *some[i], grads);
    }
}

}  // namespace cordage::backend
