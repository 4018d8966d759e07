// SPDX-License-Identifier: MIT
// Kernels of every kind for the instruction set of this unit. They are not called: the test reads which symbols they
// define.
#include "cordage/angles/angle_difference.hpp"
#include "cordage/angles/axis_angles.hpp"
#include "cordage/angles/exact_angles.hpp"
#include "cordage/backend/simd/backward.hpp"
#include "cordage/backend/simd/forward.hpp"
#include "cordage/backend/simd/table.hpp"

namespace {

using namespace cordage;
using best = backend::simd<xsimd::default_arch>;

template <class Source, class T, class Pairing>
struct kernels {
    [[gnu::used]] static void rotate(const Source& a, std::span<const operand<T>* const> o) noexcept {
        backend::rotate_range<Pairing, backend::forward>(best{}, a, o, 0, a.tokens());
    }
    // Operands of several types: keys that become bfloat16 on their way to a cache.
    [[gnu::used]] static void rotate_all([[maybe_unused]] const Source& a, [[maybe_unused]] const operand<T>& q,
                                         [[maybe_unused]] const operand<T, bfloat16>& k) noexcept {
        if constexpr (!std::same_as<T, bfloat16> && std::same_as<compute_of<T>, float>) {
            const std::tuple<const operand<T>&, const operand<T, bfloat16>&> both(q, k);
            backend::rotate_range<Pairing, backend::forward>(best{}, a, both, 0, a.tokens());
        }
    }
    [[gnu::used]] static void fill(const Source& a, compute_of<T>* cos, compute_of<T>* sin) noexcept {
        backend::fill_range(best{}, a, cos, sin, 0, a.tokens());
    }
    [[gnu::used]] static void rotate_back([[maybe_unused]] const Source& a,
                                          [[maybe_unused]] std::span<const backward_operand<T>* const> o,
                                          [[maybe_unused]] const backend::angle_gradients& grads) noexcept {
        if constexpr (differentiable_angle_source<Source>) {
            backend::backward_range<Pairing>(best{}, a, o, grads, 0, a.tokens());
        }
    }
};

// Each source, element and pairing once or twice: the name of a function does not depend on the other arguments.
template struct kernels<exact_angles<std::int32_t>, float, half_split>;
template struct kernels<exact_angles<std::int64_t>, double, interleaved>;
template struct kernels<exact_angles<double>, float16, interleaved>;
template struct kernels<float32_angles<std::int32_t>, bfloat16, interleaved>;
template struct kernels<axis_angles<std::int32_t>, bfloat16, half_split>;
template struct kernels<angle_difference<exact_angles<std::int32_t>, exact_angles<double>>, float, interleaved>;
template struct kernels<cos_sin_view<float>, float16, half_split>;
template struct kernels<cos_sin_view<double>, double, half_split>;

}  // namespace
