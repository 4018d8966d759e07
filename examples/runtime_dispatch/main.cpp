// SPDX-License-Identifier: MIT
// One program for every x86-64 processor, which selects the best kernels it supports. All agree with the scalar ones.
#include <cmath>
#include <concepts>
#include <cstdio>
#include <numeric>
#include <vector>

#include "cordage/kernels.hpp"
#include "kernels.hpp"

namespace {

std::vector<const kernels*> usable_here() {
    std::vector<const kernels*> all{&baseline_kernels};
    const auto has = [](auto... answers) { return (... && (answers != 0)); };
    if (has(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"))) all.push_back(&avx2_kernels);
    if (has(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512cd"), __builtin_cpu_supports("avx512dq"),
            __builtin_cpu_supports("avx512bw"), __builtin_cpu_supports("avx512vl"))) {
        all.push_back(&avx512_kernels);
    }
    return all;
}

const kernels* chosen = &baseline_kernels;

// [a_backend]
// A backend of this program: rotate_forward finds the rotate_range beside it. Its table has forward, half_split.
struct chosen_kernels {};
template <std::same_as<cordage::half_split>, std::same_as<cordage::backend::forward>>
void rotate_range(chosen_kernels, const angles& a, tensors t, cordage::index_t begin, cordage::index_t end) noexcept {
    chosen->forward(a, t, begin, end);
}
// [/a_backend]

}  // namespace

int main() {
    using namespace cordage;
    const rope_config model{.head_dim = 128, .rotary_dim = 120, .theta_base = 500000, .original_length = 8192};
    std::vector<double> inv_freq;
    for (index_t pair = 0; pair < model.pairs(); ++pair) inv_freq.push_back(model.inv_freq(pair));
    const basis b(inv_freq);
    std::vector<std::int32_t> position_ids(300);
    std::iota(position_ids.begin(), position_ids.end(), 100'000);
    std::vector<float> x(300 * 8 * 128), y(x.size()), oracle(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 257) / 128.0f - 1.0f;
    const auto view = [](auto& v) { return token_major(v.data(), {.tokens = 300, .heads = 8, .head_dim = 128}); };
    rotate_forward<half_split, backend::scalar>(exact_angles(b, position_ids), from_to(view(x), view(oracle)));

    float worst = 0.0f;
    for (const kernels* each : usable_here()) {
        chosen = each;
        rotate_forward<half_split, chosen_kernels>(exact_angles(b, position_ids), from_to(view(x), view(y)));
        for (std::size_t i = 0; i < y.size(); ++i) worst = std::fmax(worst, std::fabs(y[i] - oracle[i]));
        std::printf("%s runs here\n", chosen->name);
    }
    std::printf("%s is chosen; all are within %.1e of the scalar kernels\n", chosen->name, worst);
    return worst < 1e-6f ? 0 : 1;
}
