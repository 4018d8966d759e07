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

/// Asserts that a backend has the function that the caller needs.
template <class B>
constexpr void require_rotate_range() {
    static_assert(
        has_rotate_range<B>,
        "cordage: a backend needs 'template <pairing P, class Direction, class Source, class O> void "
        "rotate_range(my_backend, const Source& angles, const operand_list<O>& operands, index_t begin, index_t end) "
        "noexcept' beside it; docs/extending.md");
}
template <class B>
constexpr void require_backward_range() {
    static_assert(
        has_backward_range<B>,
        "cordage: a backend needs 'template <pairing P, class Source, class O> void backward_range(my_backend, const "
        "Source& angles, const operand_list<O>& operands, const backend::angle_gradients& grads, index_t begin, "
        "index_t end) noexcept' beside it; docs/extending.md");
}
template <class B>
constexpr void require_fill_range() {
    static_assert(has_fill_range<B>,
                  "cordage: a backend needs 'template <class Source, class Real> void fill_range(my_backend, const "
                  "Source& angles, Real* cos, Real* sin, index_t begin, index_t end) noexcept' beside it; "
                  "docs/extending.md");
}
static_assert(has_rotate_range<scalar> && has_backward_range<scalar> && has_fill_range<scalar>);
static_assert(has_rotate_range<fastest> && has_backward_range<fastest> && has_fill_range<fastest>);

}  // namespace cordage::backend
