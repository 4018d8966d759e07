// SPDX-License-Identifier: MIT
// Every kernel: all element types, pairings and angle sources.
#include "cordage/cuda.cuh"

using namespace cordage;

template <class Pairing, class Source, class T>
void rotate(cudaStream_t stream, const Source& angles, const heads_view<T>& q, const heads_view<T>& k) {
    rotate_forward<Pairing>(on(stream), angles, in_place(q), in_place(k));
    rotate_inverse<Pairing>(on(stream), angles, in_place(q));
    rotate_backward<Pairing>(on(stream), angles, in_place(q));
    if constexpr (std::same_as<Source, device_angles<std::int32_t>>) {
        rebase<Pairing>(on(stream), angles - angles, in_place(k));
    }
}

template <class Pairing, class Source, class T>
void backward(cudaStream_t stream, const Source& angles, const heads_view<T>& q, std::span<double> numbers) {
    rotate_backward<Pairing>(on(stream), angles, rotation_gradients{.inv_freq = numbers, .workspace = numbers},
                             grad_through(q, q, q));
}

// The norm's backward pass, with and without gradients to frequencies, positions and factor.
template <class Pairing, class Source, class T>
void normalized_backward(cudaStream_t stream, const Source& angles, const heads_view<T>& q, std::span<double> numbers) {
    const auto o = grad_through(q, q, q).normalized(rms_norm<bfloat16>{}, numbers);
    rotate_backward<Pairing>(on(stream), angles, rotation_gradients{.workspace = numbers}, o, o.unrotated());
    rotate_backward<Pairing>(on(stream), angles, o);
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
    normalized_backward<half_split>(stream, angles, q, {});
    normalized_backward<interleaved>(stream, angles, q, {});
}

// Two of the four position types: the others differ only in how they are read.
template <class P, class T>
void all_axes(cudaStream_t stream, const device_axis_angles<P>& angles, const heads_view<T>& q) {
    rotate<half_split>(stream, angles, q, q);
    rotate<interleaved>(stream, angles, q, q);
    backward<half_split>(stream, angles, q, {});
    backward<interleaved>(stream, angles, q, {});
}

// Axes that rotate every pair together, and angles of their own.
void all_sums(cudaStream_t stream, const device_summed_axes<float>& axes, const free_angles<float>& own,
              const heads_view<float>& wide, const heads_view<bfloat16>& brain) {
    rotate<half_split>(stream, axes + own, brain, brain);
    rotate_forward<interleaved>(on(stream), axes, in_place(wide));
    rotate_forward<interleaved>(on(stream), own, in_place(brain));
    backward<half_split>(stream, axes + own, brain, {});
    backward<interleaved>(stream, axes, wide, {});
    backward<interleaved>(stream, own, brain, {});
    normalized_backward<half_split>(stream, axes + own, brain, {});
}

void all_types(cudaStream_t stream, const device_angles<std::int32_t>& angles, const cos_sin_view<float>& table,
               const device_axis_angles<std::int32_t>& axes, const device_axis_angles<double>& real_axes,
               const heads_view<float>& wide, const heads_view<float16>& half, const heads_view<bfloat16>& brain) {
    all(stream, angles, table, wide, wide);
    all(stream, angles, table, half, half);
    all(stream, angles, table, brain, brain);
    all_axes(stream, axes, brain);
    all_axes(stream, real_axes, wide);
    normalized_backward<half_split>(stream, axes, brain, {});
    normalized_backward<half_split>(stream, table, brain, {});
    rotate_forward<half_split>(on(stream), angles, from_to(wide, brain));  // two types, and several operands of each
    rotate_forward<interleaved>(on(stream), angles, from_to(wide, half), in_place(brain));
}

// A user's format and source.
struct scaled_int8 {
    using compute = float;
    float scale;
    CORDAGE_HOST_DEVICE float load(std::int8_t x) const noexcept { return scale * static_cast<float>(x); }
    CORDAGE_HOST_DEVICE std::int8_t store(float x) const noexcept { return static_cast<std::int8_t>(x / scale); }
};
struct given_phases {
    static constexpr bool is_on_device = true;
    const std::uint64_t* phases;
    index_t count, pair_count;
    index_t batch() const { return 1; }
    index_t tokens() const { return count; }
    CORDAGE_HOST_DEVICE index_t pairs() const { return pair_count; }
    CORDAGE_HOST_DEVICE double attention_factor(index_t, index_t) const { return 1.0; }
    CORDAGE_HOST_DEVICE std::uint64_t phase(index_t, index_t token, index_t pair) const {
        return phases[token * pair_count + pair];
    }
};
void own_types(cudaStream_t stream, const given_phases& angles, const heads_view<bfloat16>& x,
               const heads_view<std::int8_t, scaled_int8>& y) {
    rotate_forward<half_split>(on(stream), angles, from_to(x, y));
}

// Norms and formats of whole heads, and v along: one launch each.
template <class Pairing, class Y, class Format>
void to_cache(cudaStream_t stream, const device_angles<std::int32_t>& angles, const heads_view<bfloat16>& q,
              const heads_view<Y, Format>& cache) {
    const rms_norm<bfloat16> norm{};
    rotate_forward<Pairing>(on(stream), angles, in_place(q).normalized(norm), from_to(q, cache).normalized(norm),
                            from_to(q, cache).unrotated());
    rebase<Pairing>(on(stream), angles - angles, in_place(cache));
}
void all_formats(cudaStream_t stream, const device_angles<std::int32_t>& angles, const cos_sin_view<float>& table,
                 const heads_view<bfloat16>& q, const heads_view<float>& wide,
                 const heads_view<std::int8_t, scaled_bytes<std::int8_t>>& int8,
                 const heads_view<fp8_e4m3, scaled_bytes<fp8_e4m3>>& e4m3,
                 const heads_view<fp8_e5m2, scaled_bytes<fp8_e5m2>>& e5m2, const heads_view<q8_0_block, q8_0>& q8,
                 const heads_view<q4_0_block, q4_0>& q4) {
    to_cache<half_split>(stream, angles, q, int8);
    to_cache<half_split>(stream, angles, q, e4m3);
    to_cache<interleaved>(stream, angles, q, e5m2);
    to_cache<interleaved>(stream, angles, q, q8);
    to_cache<half_split>(stream, angles, q, q4);
    rotate_inverse<half_split>(on(stream), angles, from_to(q8, wide));
    rotate_forward<half_split>(on(stream), table, in_place(wide).normalized(rms_norm<>{}), in_place(wide));
}
