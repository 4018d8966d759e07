// SPDX-License-Identifier: MIT
// The functions that a backend provides, and the default backend of a call; serves stage rotation.
#pragma once

#include <cstdint>
#include <span>

#include "cordage/angles/exact_angles.hpp"
#include "cordage/backend/compiled.hpp"
#if defined(CORDAGE_DISPATCH)
#include "cordage/backend/dispatched.hpp"
#endif

namespace cordage::backend {

/// The fastest backend: that of the instruction set of this translation unit, or with CORDAGE_DISPATCH (the CMake
/// target cordage::dispatched) the kernels that suit the processor.
#if defined(CORDAGE_DISPATCH)
using fastest = dispatched;
#else
using fastest = compiled;
#endif

// A backend is an empty struct and three functions in its namespace, found by argument-dependent lookup. They are
// noexcept, require checked arguments, and process the tokens [begin, end). docs/extending.md has an example.

template <class B>
concept has_rotate_range =
    requires(const exact_angles<std::int32_t>& angles, const operand_list<operand<float>>& operands, index_t i) {
        rotate_range<half_split, forward>(B{}, angles, operands, i, i);
    };
template <class B>
concept has_backward_range = requires(
    const exact_angles<std::int32_t>& angles, const operand_list<backward_operand<float>>& operands,
    const angle_gradients& grads, index_t i) { backward_range<half_split>(B{}, angles, operands, grads, i, i); };
template <class B>
concept has_fill_range = requires(const exact_angles<std::int32_t>& angles, float* numbers, index_t i) {
    fill_range(B{}, angles, numbers, numbers, i, i);
};

static_assert(has_rotate_range<scalar> && has_backward_range<scalar> && has_fill_range<scalar>);
static_assert(has_rotate_range<fastest> && has_backward_range<fastest> && has_fill_range<fastest>);

}  // namespace cordage::backend
