// SPDX-License-Identifier: MIT
// The threads that share a head, a power of two of neighbours in a warp, and the tokens of a thread; serves the CUDA
// kernels.
#pragma once

#include <cstdint>

namespace cordage::backend {

/// The sum over a warp, the same bits in all its threads.
template <class Real>
__device__ Real sum_of_warp(Real x) {
    for (int distance = 1; distance < 32; distance *= 2) x += __shfl_xor_sync(0xffff'ffffu, x, distance);
    return x;
}

/// The team of the calling thread, along x. All its threads call each function together.
struct team {
    std::int32_t size = static_cast<std::int32_t>(blockDim.x);
    std::int32_t member = static_cast<std::int32_t>(threadIdx.x);
    std::uint32_t mask = mask_of(blockDim.x);

    __device__ bool any(bool is) const { return __any_sync(mask, is) != 0; }
    /// combine(a, b) over groups of `width` members, a power of two; the same bits for all of them.
    template <class T, class Combine>
    __device__ T reduced(T x, std::int32_t width, const Combine& combine) const {
#pragma unroll 1
        for (std::int32_t distance = 1; distance < width; distance *= 2) {
            x = combine(x, __shfl_xor_sync(mask, x, distance));
        }
        return x;
    }
    __device__ float sum(float x) const {
        return reduced(x, size, [](float a, float b) { return a + b; });
    }
    /// What the first of each `width` members has.
    __device__ float of_first(float x, std::int32_t width) const { return __shfl_sync(mask, x, 0, width); }
    /// The largest of `width` members, by larger(a, b).
    template <class F>
    __device__ float largest(float x, std::int32_t width, const F& larger) const {
        return reduced(x, width, larger);
    }

 private:
    __device__ static std::uint32_t mask_of(std::uint32_t size) {
        const std::uint32_t all = 0xffff'ffffu >> (32 - size);
        const std::uint32_t number = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        return all << (number & (32 - size));
    }
};

/// Calls rotate(row, token) for the token of the calling thread in its rows: z -> a token; blocks.x -> threads.z tokens
/// each; blocks.z -> every blocks.z-th row. Returns at once in teams without a token.
template <class Kernel, class Rotate>
__device__ void for_each_row(const Kernel& k, const Rotate& rotate) {
    const std::uint32_t token = blockIdx.x * blockDim.z + threadIdx.z;
    if (token >= static_cast<std::uint32_t>(k.tokens)) return;
#pragma unroll 1
    for (std::uint32_t row = blockIdx.z; row < static_cast<std::uint32_t>(k.rows); row += gridDim.z) {
        rotate(static_cast<std::int32_t>(row), static_cast<std::int32_t>(token));
    }
}

}  // namespace cordage::backend
