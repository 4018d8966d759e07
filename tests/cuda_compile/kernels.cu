// SPDX-License-Identifier: MIT
// Every kernel there is: all element types, pairings and sources of angles.
#include "cordage/cuda.cuh"

using namespace cordage;

template <class Pairing, class Source, class T>
void rotate(cudaStream_t stream, const Source& angles, const heads_view<T>& q, const heads_view<T>& k) {
    rotate_forward<Pairing>(on(stream), angles, in_place(q), in_place(k));
    rotate_inverse<Pairing>(on(stream), angles, in_place(q));
    rotate_backward<Pairing>(on(stream), angles, in_place(q));
    if constexpr (requires { angles.basis_view(); }) {
        rebase<Pairing>(on(stream), angles.basis_view(), angles.position_ids(), in_place(k));
    }
}

template <class Pairing, class T>
void backward(cudaStream_t stream, const device_angles<std::int32_t>& angles, const heads_view<T>& q,
              std::span<double> numbers) {
    rotate_backward<Pairing>(on(stream), angles, {.inv_freq = numbers}, numbers, grad_through(q, q, q));
}

template <class T>
void all(cudaStream_t stream, const device_angles<std::int32_t>& angles, const cos_sin_view<float>& table,
         const heads_view<T>& q, const heads_view<T>& k) {
    rotate<half_split>(stream, angles, q, k);
    rotate<interleaved>(stream, angles, q, k);
    rotate<half_split>(stream, table, q, k);
    rotate<interleaved>(stream, table, q, k);
    backward<half_split>(stream, angles, q, {});
    backward<interleaved>(stream, angles, q, {});
}

void all_types(cudaStream_t stream, const device_angles<std::int32_t>& angles, const cos_sin_view<float>& table,
               const heads_view<float>& wide, const heads_view<float16>& half, const heads_view<bfloat16>& brain) {
    all(stream, angles, table, wide, wide);
    all(stream, angles, table, half, half);
    all(stream, angles, table, brain, brain);
}
