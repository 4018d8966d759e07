// SPDX-License-Identifier: MIT
// A kernel of your own on the register layer: RMSNorm of every head, the rotation and an int8 store with a scale for
// each token and head, in one pass. One source for single floats and for vectors; the CUDA version is
// fused_norm_rotate_quantise.cu.
#include <cmath>
#include <cordage/kernels.hpp>
#include <cordage/scaling/power_laws.hpp>
#include <cstdio>
#include <cstring>
#include <numeric>

using namespace cordage;
constexpr index_t tokens = 100, heads = 4, head_dim = 128, pairs = head_dim / 2;
float inverse_rms(const float* x) {
    return 1.0f / std::sqrt(std::inner_product(x, x + head_dim, x, 1e-6f * head_dim) / head_dim);
}
// [fused_kernel]
template <class Lane, class T>
Lane load(const T* from) {
    Lane lane;
    std::memcpy(static_cast<void*>(&lane), from, sizeof lane);
    return lane;
}
/// One token: x and y [heads, head_dim], weight [head_dim], scales [heads]. Lane: float, or a vector of floats.
template <class Lane, class Word = typename lane_traits<Lane>::word>
void fused(const basis& b, int position, const float* x, const float* weight, std::int8_t* y, float* scales) {
    constexpr index_t width = sizeof(Lane) / sizeof(std::uint32_t);
    std::uint32_t phases[pairs];  // in 2^-32 turn; these and their cos and sin are computed once for all heads
    for (index_t i = 0; i < pairs; ++i) phases[i] = static_cast<std::uint32_t>(b.phase(i, position) >> 32);
    cos_sin<Lane> at[pairs / width];
    for (index_t i = 0; i < pairs; i += width) at[i / width] = cos_sin_of_phase32<Lane>(load<Word>(phases + i));
    for (index_t h = 0; h < heads; ++h, x += head_dim, y += head_dim) {
        const Lane norm(inverse_rms(x));
        float out[head_dim];
        for (index_t i = 0; i < pairs; i += width) {  // half_split: lanes i and i + pairs
            const auto normed = [&](index_t lane) { return load<Lane>(x + lane) * load<Lane>(weight + lane) * norm; };
            const auto lanes = rotated(at[i / width], lane_pair<Lane>{normed(i), normed(i + pairs)});
            std::memcpy(out + i, &lanes.first, sizeof lanes.first);
            std::memcpy(out + i + pairs, &lanes.second, sizeof lanes.second);
        }
        scales[h] = 1e-30f;
        for (const float lane : out) scales[h] = std::fmax(scales[h], std::fabs(lane) / 127.0f);
        for (index_t i = 0; i < head_dim; ++i) y[i] = static_cast<std::int8_t>(std::lrint(out[i] / scales[h]));
    }
}
// [/fused_kernel]
int main() {
    const basis b = make_basis({.head_dim = head_dim, .rotary_dim = head_dim, .original_length = 1}, unscaled{}, 1.0);
    std::vector<int> ids(tokens);
    std::vector<float> x(tokens * heads * head_dim), plain = x, weight(head_dim), scales(heads);
    std::iota(ids.begin(), ids.end(), 1'000'000), std::iota(weight.begin(), weight.end(), 50.0f);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * i % 1009));
    for (std::size_t i = 0; i < x.size(); ++i)
        plain[i] = inverse_rms(&x[i - i % head_dim]) * x[i] * weight[i % head_dim];
    rotate_forward<half_split>(exact_angles(b, ids), in_place(token_major(plain.data(), {1, tokens, heads, head_dim})));
    std::vector<std::int8_t> y(heads * head_dim);
    float worst = 0.0f;  // in steps of int8: rounding to the nearest step changes at most half a step
    const auto compare = [&](auto kernel) {
        for (std::size_t i = 0, j = 0; i < x.size(); ++i, j = i % y.size()) {
            if (j == 0) kernel(b, ids[i / y.size()], &x[i], weight.data(), y.data(), scales.data());
            worst = std::fmax(worst, std::fabs(static_cast<float>(y[j]) - plain[i] / scales[j / head_dim]));
        }
    };
    compare(fused<float>);
#if defined(CORDAGE_HAS_SIMD)
    compare(fused<xsimd::batch<float>>);
#endif
    std::printf("the fused kernels are within %.5f steps of norm, rotation and store one by one\n", double{worst});
    return worst <= 0.5001f ? 0 : 1;
}
