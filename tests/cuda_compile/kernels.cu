// SPDX-License-Identifier: MIT
// Every kernel there is: all element types, pairings and sources of angles.
#include "cordage/cuda.cuh"

using namespace cordage;

template <class Pairing, class Source, class T>
void rotate(cudaStream_t stream, const Source& angles, const heads_view<T>& q, const heads_view<T>& k) {
    rotate_forward<Pairing>(on(stream), angles, in_place(q), in_place(k));
    rotate_inverse<Pairing>(on(stream), angles, in_place(q));
    rotate_backward<Pairing>(on(stream), angles, in_place(q));
    if constexpr (std::same_as<Source, device_angles<std::int32_t>>) {
        rebase<Pairing>(on(stream), angles.basis_view(), angles.position_ids(), in_place(k));
    }
}

template <class Pairing, class Source, class T>
void backward(cudaStream_t stream, const Source& angles, const heads_view<T>& q, std::span<double> numbers) {
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

// Two types of positions for all four: the others differ by how they are read.
template <class P, class T>
void all_axes(cudaStream_t stream, const device_axis_angles<P>& angles, const heads_view<T>& q) {
    rotate<half_split>(stream, angles, q, q);
    rotate<interleaved>(stream, angles, q, q);
    backward<half_split>(stream, angles, q, {});
    backward<interleaved>(stream, angles, q, {});
}

void all_types(cudaStream_t stream, const device_angles<std::int32_t>& angles, const cos_sin_view<float>& table,
               const device_axis_angles<std::int32_t>& axes, const device_axis_angles<double>& real_axes,
               const heads_view<float>& wide, const heads_view<float16>& half, const heads_view<bfloat16>& brain) {
    all(stream, angles, table, wide, wide);
    all(stream, angles, table, half, half);
    all(stream, angles, table, brain, brain);
    all_axes(stream, axes, brain);
    all_axes(stream, real_axes, wide);
}

device_basis solved(cudaStream_t stream, const device_trajectory& path, std::uint64_t* words) {
    return basis_at(on(stream), path, 2.0, words);
}
