// SPDX-License-Identifier: MIT
// Gradients are of single elements in heads that are contiguous.
// expected: cordage::grad_through: gradients are views of single elements
#include "cordage/tensors/lane_groups.hpp"
#include "cordage/tensors/operand.hpp"

void through(float* grad, const cordage::heads_shape& shape) {
#ifdef CORDAGE_COMPILE_FAIL
    const auto g = cordage::group_major(grad, shape, 4);
#else
    const auto g = cordage::token_major(grad, shape);
#endif
    static_cast<void>(cordage::grad_through(g, g, g));
}
