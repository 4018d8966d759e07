// SPDX-License-Identifier: MIT
// The threads that share a head, a power of two of neighbours in a warp, and the tokens of a thread; serves the CUDA
// kernels.
#pragma once

#include <cstdint>

namespace cordage::backend {

inline constexpr std::uint32_t whole_warp = 0xffff'ffffu;

/// The sum over a warp, the same bits in all its threads.
template <class Real>
__device__ Real sum_of_warp(Real x) {
    for (int distance = 1; distance < 32; distance *= 2) x += __shfl_xor_sync(whole_warp, x, distance);
    return x;
}

/// The team of the calling thread, along x. All threads of its warp call each function together, also those that have
/// nothing to do: votes and shuffles of part of a warp would run one part after the other, also what follows them.
struct team {
    std::int32_t size = static_cast<std::int32_t>(blockDim.x);
    std::int32_t member = static_cast<std::int32_t>(threadIdx.x);

    __device__ bool any(bool is) const {
        const std::uint32_t first =
            (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & (32 - blockDim.x);
        return (__ballot_sync(whole_warp, is) >> first << (32 - blockDim.x)) != 0;
    }
    /// combine(a, b) over groups of `width` members, a power of two; the same bits for all of them.
    template <class T, class Combine>
    __device__ T reduced(T x, std::int32_t width, const Combine& combine) const {
#pragma unroll
        for (std::int32_t distance = 1; distance < 32; distance *= 2) {
            if (distance >= width) break;
            x = combine(x, __shfl_xor_sync(whole_warp, x, distance));
        }
        return x;
    }
    __device__ float sum(float x) const {
        return reduced(x, size, [](float a, float b) { return a + b; });
    }
    /// What the first of each `width` members has.
    __device__ float of_first(float x, std::int32_t width) const { return __shfl_sync(whole_warp, x, 0, width); }
};

/// Calls rotate(row, token, has_token) for the token of the calling thread in its rows: z -> a token; blocks.x ->
/// threads.z tokens each; blocks.z -> every blocks.z-th row. Without a token of its own a thread is given the last one.
template <class Kernel, class Rotate>
__device__ void for_each_row(const Kernel& k, const Rotate& rotate) {
    const std::uint32_t token = blockIdx.x * blockDim.z + threadIdx.z, tokens = static_cast<std::uint32_t>(k.tokens);
#pragma unroll 1
    for (std::uint32_t row = blockIdx.z; row < static_cast<std::uint32_t>(k.rows); row += gridDim.z) {
        rotate(static_cast<std::int32_t>(row), static_cast<std::int32_t>(min(token, tokens - 1)), token < tokens);
    }
}

}  // namespace cordage::backend
