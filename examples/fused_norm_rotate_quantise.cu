// SPDX-License-Identifier: MIT
// The kernel of fused_norm_rotate_quantise.cpp for CUDA: a warp has a head of 128 lanes, each thread two of its pairs in
// registers. What a thread does between two sums over its warp runs on the host too, where there is no device.
#include <cmath>
#include <cordage/kernels.hpp>
#include <cordage/scaling/unscaled.hpp>
#include <cstdio>
#include <numeric>

using namespace cordage;
constexpr int tokens = 100, heads = 4, head_dim = 128, pairs = head_dim / 2;

// [fused_on_cuda]
struct pairs_of_thread {  // pairs thread and thread + 32, half_split
    lane_pair<float> x[2];

    CORDAGE_HOST_DEVICE float read(const float* head, int thread) {  // returns the sum of squares
        float sum = 0.0f;
        for (int k = 0, i = thread; k < 2; ++k, i += 32) {
            x[k] = {head[i], head[i + pairs]};
            sum = plus_grad_factor(sum, x[k], x[k]);
        }
        return sum;
    }
    CORDAGE_HOST_DEVICE float turn(const basis_view& b, int position, const float* weight, float norm, int thread) {
        const split_position at = position_traits<int>::split(position);
        float largest = 0.0f;
        for (int k = 0, i = thread; k < 2; ++k, i += 32) {
            const std::uint64_t phase = phase_of(at, b.fractions[i], b.whole_turns + i);
            const auto cos_and_sin = cos_sin_of_phase32<float>(static_cast<std::uint32_t>(phase >> 32));
            x[k] = rotated(cos_and_sin, {x[k].first * weight[i] * norm, x[k].second * weight[i + pairs] * norm});
            largest = fmaxf(largest, fmaxf(fabsf(x[k].first), fabsf(x[k].second)));
        }
        return largest;
    }
    CORDAGE_HOST_DEVICE void store(std::int8_t* head, float scale, int thread) const {
        for (int k = 0, i = thread; k < 2; ++k, i += 32) {
            head[i] = static_cast<std::int8_t>(rintf(x[k].first / scale));
            head[i + pairs] = static_cast<std::int8_t>(rintf(x[k].second / scale));
        }
    }
};

__global__ void fused(basis_view b, const int* ids, const float* x, const float* weight, std::int8_t* y, float* scales) {
    const int head = blockIdx.x, thread = threadIdx.x;  // x and y [tokens, heads, head_dim], scales [tokens, heads]
    pairs_of_thread mine;
    float squares = mine.read(x + head * head_dim, thread);
    for (int step = 16; step > 0; step /= 2) squares += __shfl_xor_sync(~0u, squares, step);
    float largest = mine.turn(b, ids[head / heads], weight, rsqrtf(squares / head_dim + 1e-6f), thread);
    for (int step = 16; step > 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, step));
    mine.store(y + head * head_dim, largest / 127, thread);
    if (thread == 0) scales[head] = largest / 127;
}
// [/fused_on_cuda]
