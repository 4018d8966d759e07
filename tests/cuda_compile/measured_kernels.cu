// SPDX-License-Identifier: MIT
// The kernels whose registers and code size docs/performance_gpu.md lists, and tests bound.
#include "cordage/cuda.cuh"

using namespace cordage;

using angles_type = device_angles<std::int32_t>;

template <class Pairing, class T>
void rotation(cudaStream_t stream, const angles_type& angles, const heads_view<T>& q) {
    rotate_forward<Pairing>(on(stream), angles, in_place(q));
    rotate_backward<Pairing>(on(stream), angles, rotation_gradients{}, grad_through(q, q, q));
}
void rotations(cudaStream_t stream, const angles_type& angles, const heads_view<bfloat16>& brain,
               const heads_view<float>& wide) {
    rotation<half_split>(stream, angles, brain);
    rotation<interleaved>(stream, angles, brain);
    rotation<half_split>(stream, angles, wide);
    rotation<interleaved>(stream, angles, wide);
    rebase<half_split>(on(stream), angles - angles, in_place(brain));
}

template <class Y, class Format>
void to_cache(cudaStream_t stream, const angles_type& angles, const heads_view<bfloat16>& x,
              const heads_view<Y, Format>& cache) {
    rotate_forward<half_split>(on(stream), angles, from_to(x, cache));
}
void caches(cudaStream_t stream, const angles_type& angles, const heads_view<bfloat16>& x,
            const heads_view<fp8_e4m3, scaled_bytes<fp8_e4m3>>& e4m3,
            const heads_view<std::int8_t, scaled_bytes<std::int8_t>>& int8, const heads_view<q8_0_block, q8_0>& q8,
            const heads_view<fp8_e4m3, mxfp8_e4m3>& mxfp8, const heads_view<fp4_e2m1_x2, nvfp4>& fp4,
            std::span<double> numbers) {
    const rms_norm<> norm{};
    to_cache(stream, angles, x, e4m3);
    to_cache(stream, angles, x, int8);
    to_cache(stream, angles, x, q8);
    to_cache(stream, angles, x, mxfp8);
    to_cache(stream, angles, x, fp4);
    rotate_forward<half_split>(on(stream), angles, in_place(x).normalized(norm));
    rotate_forward<half_split>(on(stream), angles, in_place(x).normalized(norm), from_to(x, e4m3).normalized(norm),
                               from_to(x, e4m3).unrotated());
    rotate_backward<half_split>(on(stream), angles, rotation_gradients{},
                                grad_through(x, x, x).normalized(norm, numbers));
}
