// SPDX-License-Identifier: MIT
// The kernel of fused_norm_rotate_quantise.cpp for CUDA: a warp processes a head, each thread one pair, in registers.
// Without a device the host runs the threads' work in order.
#include <cordage/cuda.cuh>
#include <cordage/scaling/power_laws.hpp>
#include <cstdio>
#include <numeric>

using namespace cordage;
constexpr int tokens = 100, heads = 4, pairs = 32, head_dim = 2 * pairs, size = tokens * heads * head_dim;
// [fused_on_cuda]
/// Pair i of a head, normed and rotated; half_split: lanes i and i + pairs.
CORDAGE_HOST_DEVICE lane_pair<float> normed_and_rotated(const basis_view& b, int position, const float* x,
                                                        const float* w, float norm, int i) {
    const auto phase = phase_of(position_traits<int>::split(position), b.fractions[i], b.whole_turns + i);
    const auto at = cos_sin_of_phase32<float>(static_cast<std::uint32_t>(phase >> 32));
    return rotated(at, {x[i] * w[i] * norm, x[i + pairs] * w[i + pairs] * norm});
}
CORDAGE_HOST_DEVICE float magnitude(const lane_pair<float>& y) { return fmaxf(fabsf(y.first), fabsf(y.second)); }
CORDAGE_HOST_DEVICE void store(const lane_pair<float>& pair, float scale, std::int8_t* y, int i) {
    y[i] = static_cast<std::int8_t>(rintf(pair.first / scale));
    y[i + pairs] = static_cast<std::int8_t>(rintf(pair.second / scale));
}
/// A block of 32 threads for each head of x and y [tokens, heads, head_dim]; w [head_dim], scales [tokens, heads].
__global__ void fused(basis_view b, const int* ids, const float* x, const float* w, std::int8_t* y, float* scales) {
    const int head = static_cast<int>(blockIdx.x), i = static_cast<int>(threadIdx.x);
    x += head * head_dim;
    float squares = x[i] * x[i] + x[i + pairs] * x[i + pairs];
    for (int step = 16; step > 0; step /= 2) squares += __shfl_xor_sync(~0u, squares, step);
    const auto pair = normed_and_rotated(b, ids[head / heads], x, w, 1.0f / sqrtf(squares / head_dim), i);
    float largest = magnitude(pair);
    for (int step = 16; step > 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, step));
    store(pair, scales[head] = largest / 127.0f, y + head * head_dim, i);
}
// [/fused_on_cuda]
float inverse_rms(const float* x) { return 1.0f / sqrtf(std::inner_product(x, x + head_dim, x, 0.0f) / head_dim); }
template <class T>
struct shared : std::span<T> {  // memory of host and device, or of the host without a device
    explicit shared(std::size_t n, void* p = nullptr)
        : std::span<T>(static_cast<T*>(cudaMallocManaged(&p, n * sizeof(T)) ? std::calloc(n, sizeof(T)) : p), n) {}
};
int main() {
    const basis b = make_basis({.head_dim = head_dim, .rotary_dim = head_dim, .original_length = 1}, unscaled{}, 1.0);
    const shared<std::uint64_t> words(device_words_size(pairs));
    std::ranges::copy(device_words(b), words.begin());
    const shared<int> ids(tokens);
    const shared<float> x(size), w(head_dim), scales(tokens * heads);
    const shared<std::int8_t> y(size);
    std::iota(ids.begin(), ids.end(), 1'000'000), std::iota(w.begin(), w.end(), 50.0f);
    std::vector<float> plain(size);  // the three steps one by one
    for (int i = 0; i < size; ++i) x[i] = sinf(static_cast<float>(i % 1009 + 1));
    for (int i = 0; i < size; ++i) plain[i] = x[i] * w[i % head_dim] * inverse_rms(&x[i - i % head_dim]);
    rotate_forward<half_split, backend::scalar>(exact_angles(b, position_view<int>(ids)),
                                                in_place(token_major(plain.data(), {1, tokens, heads, head_dim})));
    const bool has_device = cudaFree(nullptr) == cudaSuccess;
    const basis_view there = device_basis(words.data(), pairs).view();
    if (has_device) fused<<<tokens * heads, pairs>>>(there, ids.data(), x.data(), w.data(), y.data(), scales.data());
    for (int head = 0; head < tokens * heads && !has_device; ++head) {
        lane_pair<float> warp[pairs];
        for (int i = 0; i < pairs; ++i) {
            warp[i] = normed_and_rotated(b, ids[head / heads], &x[head * head_dim], w.data(),
                                         inverse_rms(&x[head * head_dim]), i);
            scales[head] = fmaxf(scales[head], magnitude(warp[i]) / 127.0f);
        }
        for (int i = 0; i < pairs; ++i) store(warp[i], scales[head], &y[head * head_dim], i);
    }
    float worst = cudaDeviceSynchronize() == cudaSuccess || !has_device ? 0.0f : 1.0f;
    for (int i = 0; i < size; ++i) worst = fmaxf(worst, fabsf(y[i] - plain[i] / scales[i / head_dim]));
    std::printf("%s: within %.5f steps of norm, rotation and store\n", has_device ? "device" : "host", worst);
    return worst <= 0.5001f ? 0 : 1;  // rounding to the nearest step changes at most half a step
}
