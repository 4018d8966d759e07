// SPDX-License-Identifier: MIT
// Every kernel there is: all element types, pairings and sources of angles.
#include "cordage/cuda.cuh"

using namespace cordage;

template <class Pairing, class Source, class T>
void rotate(cudaStream_t stream, const Source& angles, const heads_view<T>& q, const heads_view<T>& k) {
    rotate_forward<Pairing>(on(stream), angles, in_place(q), in_place(k));
    rotate_inverse<Pairing>(on(stream), angles, in_place(q));
    rotate_backward<Pairing>(on(stream), angles, in_place(q));
}

template <class T>
void all(cudaStream_t stream, const device_angles<std::int32_t>& angles, const cos_sin_view<float>& table,
         const heads_view<T>& q, const heads_view<T>& k) {
    rotate<half_split>(stream, angles, q, k);
    rotate<interleaved>(stream, angles, q, k);
    rotate<half_split>(stream, table, q, k);
    rotate<interleaved>(stream, table, q, k);
}

void all_types(cudaStream_t stream, const device_angles<std::int32_t>& angles, const cos_sin_view<float>& table,
               const heads_view<float>& wide, const heads_view<float16>& half, const heads_view<bfloat16>& brain) {
    all(stream, angles, table, wide, wide);
    all(stream, angles, table, half, half);
    all(stream, angles, table, brain, brain);
}
