// SPDX-License-Identifier: MIT
// Kernels as nvcc compiles them, for compiled_test.cpp.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "ptx/compiled_kernels.hpp"

using namespace cordage_test::ptx;

// Sums of blocks of 256, by shuffles and shared memory.
extern "C" __global__ void sums(const float* x, float* y, int count) {
    extern __shared__ float of_warps[];
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    float sum = i < count ? x[i] : 0.0f;
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(~0u, sum, distance);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 8) return;
    sum = of_warps[threadIdx.x];
    for (int distance = 4; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xff, sum, distance, 8);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

// exp, log and sqrt, of a double and of its float.
extern "C" __global__ void functions(const double* x, double* y) {
    const double a = x[threadIdx.x];
    const auto f = static_cast<float>(a);
    double* const to = y + 6 * threadIdx.x;
    to[0] = exp(a);
    to[1] = log(fabs(a));
    to[2] = sqrt(fabs(a)) / a;
    to[3] = expf(f);
    to[4] = logf(fabsf(f));
    to[5] = rsqrtf(fabsf(f));
}

// Lanes in loops of different lengths, with an array in local memory.
extern "C" __global__ void loops(const int* x, int* y) {
    int last[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    int number = x[threadIdx.x];
    for (int i = 0; number != 1; ++i) {
        last[i % 8] = number;
        number = number % 2 == 0 ? number / 2 : 3 * number + 1;
    }
    y[threadIdx.x] = last[x[threadIdx.x] % 8] + __shfl_xor_sync(~0u, last[3], 1);
}

extern "C" __global__ void halves(const float2* x, unsigned* y) {
    const float2 pair = x[threadIdx.x];
    const __half2 half = __float22half2_rn(pair);
    const __nv_bfloat162 brain = __float22bfloat162_rn(pair);
    const float2 back = __bfloat1622float2(brain);
    memcpy(y + 4 * threadIdx.x, &half, 4);
    memcpy(y + 4 * threadIdx.x + 1, &brain, 4);
    memcpy(y + 4 * threadIdx.x + 2, &back, 8);
}

extern "C" __global__ void takes_attribute(const __grid_constant__ with_attribute value, double* y) {
    *y = value.number;
}
extern "C" __global__ void takes_none(const __grid_constant__ without_attribute value, double* y) { *y = value.number; }

extern "C" __global__ void misses_barrier(const float* x, float* y) {
    __shared__ float all[64];
    all[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = all[63 - threadIdx.x];
}
